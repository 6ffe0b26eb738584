"""The HTTP interface and the page of one engine."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, params
from fastapi.security import APIKeyHeader, HTTPBearer

from askonce import __version__
from askonce.engine import Engine
from askonce.server.errors import add_error_handlers
from askonce.server.observing import Observed
from askonce.server.routes.ask import ask_routes
from askonce.server.routes.health import health_routes
from askonce.server.routes.models import model_routes
from askonce.server.routes.page import add_page
from askonce.server.routes.posts import read_routes, write_routes
from askonce.server.schemas import Error
from askonce.server.service import Service
from askonce.server.settings import ServerSettings

DESCRIPTION = "Find the questions already asked and rank the answers already given."
_REASONS = {
    400: "The body is not JSON",
    401: "An API key is needed",
    403: "The API key does not allow this",
    404: "Nothing there",
    405: "The path does not take this method",
    408: "The body did not arrive in time",
    409: "Not possible in the archive's present state",
    413: "The body is too long",
    415: "The body is not sent as JSON",
    422: "Something in the request is wrong; the message says what",
    429: "Too many requests; Retry-After says when to come again",
    500: "An unexpected error",
    503: "Not ready or too busy; Retry-After says when to come again",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": reason} for status, reason in _REASONS.items()
}


def create_app(engine: Engine, settings: ServerSettings | None = None) -> FastAPI:
    """The application that answers from an engine; who opened the engine closes it."""
    service = Service(engine, settings or ServerSettings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="Askonce",
        description=DESCRIPTION,
        version=__version__,
        docs_url=None,  # FastAPI's own pages load scripts from another site
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    add_error_handlers(app)
    keys = service.settings.keys
    for routes in (ask_routes, read_routes, model_routes):
        app.include_router(routes(service), responses=ERRORS, dependencies=_needs(keys.read))
    app.include_router(write_routes(service), responses=ERRORS, dependencies=_needs(keys.write))
    app.include_router(health_routes(service))
    add_page(app)
    app.add_middleware(Observed, metrics=service.metrics)
    return app


def _needs(keys: Sequence[bytes]) -> list[params.Depends]:
    """Say in the OpenAPI document that a key is needed; it is checked before the body is read."""
    if not keys:
        return []
    about = "An API key."
    return [
        Depends(HTTPBearer(auto_error=False, description=about)),
        Depends(APIKeyHeader(name="X-API-Key", auto_error=False, description=about)),
    ]
