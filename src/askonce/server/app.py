"""Build the application: routes, error handlers, middleware."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, params
from fastapi.security import APIKeyHeader, HTTPBearer

from askonce import __version__
from askonce.engine import Engine
from askonce.server.errors import RESPONSES, add_error_handlers
from askonce.server.middleware import Observed
from askonce.server.routes.ask import ask_routes
from askonce.server.routes.health import health_routes
from askonce.server.routes.models import model_routes
from askonce.server.routes.page import add_page
from askonce.server.routes.posts import read_routes, write_routes
from askonce.server.service import ServerSettings, Service

DESCRIPTION = "Find similar questions and rank existing answers."


def create_app(engine: Engine, settings: ServerSettings | None = None) -> FastAPI:
    """An ASGI application that serves an engine; the caller closes the engine."""
    service = Service(engine, settings or ServerSettings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="Askonce",
        description=DESCRIPTION,
        version=__version__,
        docs_url=None,  # FastAPI's pages load scripts from another site
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    add_error_handlers(app)
    keys = service.settings.keys
    for routes in (ask_routes, read_routes, model_routes):
        app.include_router(routes(service), responses=RESPONSES, dependencies=_requires(keys.read))
    app.include_router(
        write_routes(service), responses=RESPONSES, dependencies=_requires(keys.write)
    )
    app.include_router(health_routes(service))
    add_page(app)
    app.add_middleware(Observed, metrics=service.metrics)
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
