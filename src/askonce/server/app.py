"""Build the application: routes, error handlers, middleware."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec

from fastapi import Depends, FastAPI, params
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import Lifespan

from askonce import __version__
from askonce.engine import Engine
from askonce.server.agents import McpEndpoint
from askonce.server.errors import RESPONSES, add_error_handlers
from askonce.server.middleware import HostCheck, Observed
from askonce.server.routes.ask import ask_routes, context_routes
from askonce.server.routes.feedback import feedback_routes
from askonce.server.routes.health import health_routes
from askonce.server.routes.hooks import hook_routes
from askonce.server.routes.models import model_routes
from askonce.server.routes.moderation import desk_routes, moderation_routes
from askonce.server.routes.options import insight_routes, option_routes
from askonce.server.routes.page import add_page
from askonce.server.routes.posts import read_routes, write_routes
from askonce.server.service import ServerSettings, Service

DESCRIPTION = "Find similar questions and rank existing answers."


def create_app(engine: Engine, settings: ServerSettings | None = None) -> FastAPI:
    """An ASGI application that serves an engine; the caller closes the engine."""
    return app_of(Service(engine, settings or ServerSettings()))


def app_of(service: Service) -> FastAPI:
    """The application of a service; at its end the service is closed."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()
        service.close()

    app = bare_app(DESCRIPTION, lifespan)
    keys = service.settings.keys
    asking = (ask_routes, context_routes, read_routes)
    for routes in (*asking, model_routes, feedback_routes, option_routes):
        app.include_router(routes(service), responses=RESPONSES, dependencies=_requires(keys.read))
    for routes in (write_routes, desk_routes, moderation_routes, insight_routes):
        app.include_router(routes(service), responses=RESPONSES, dependencies=_requires(keys.write))
    app.include_router(hook_routes(service), responses=RESPONSES)
    app.include_router(health_routes(service))
    if find_spec("mcp") is not None:
        app.router.routes.append(Route("/mcp", McpEndpoint(service)))
    add_page(app)
    origins = service.settings.allowed_origins
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Retry-After"],
        )
    app.add_middleware(HostCheck, hosts=service.settings.hosts)
    images = service.settings.image_hosts
    # the last one is the outermost
    app.add_middleware(Observed, metrics=service.metrics, framed_by=origins, image_hosts=images)
    return app


def bare_app(description: str, lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """An application without routes, whose errors are JSON."""
    app = FastAPI(
        title="Askonce",
        description=description,
        version=__version__,
        openapi_url=None,  # written once, see ``add_files``
        docs_url=None,  # FastAPI's pages load scripts from another site
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    add_error_handlers(app)
    return app


def _requires(keys: Sequence[bytes]) -> list[params.Depends]:
    """Document that a key is required; ``Keys`` checks it before the body is read."""
    if not keys:
        return []
    about = "An API key."
    return [
        Depends(HTTPBearer(auto_error=False, description=about)),
        Depends(APIKeyHeader(name="X-API-Key", auto_error=False, description=about)),
    ]
