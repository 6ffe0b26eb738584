"""The application of several archives: that of each below its name, and their common addresses."""

from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from askonce.server.app import app_of, bare_app
from askonce.server.guard.hosts import AllowedHosts
from askonce.server.metrics import Metrics
from askonce.server.middleware import HostCheck, Observed
from askonce.server.routes.page import add_files
from askonce.server.several.members import Member
from askonce.server.several.routes import health_routes, list_routes, search_routes

DESCRIPTION = "Search several archives at once; each archive has its own API below its name."


def create_several_app(
    members: Iterable[Member], hosts: AllowedHosts, threads: ThreadPoolExecutor | None = None
) -> ASGIApp:
    """An ASGI application that serves archives, each at ``/NAME/``; the caller closes the engines.

    ``threads`` are those that the services share; they are shut down at the end.
    """
    own = {member.name: member for member in members}
    common = _common_app(own, hosts)
    apps = {m.name: app_of(m.service) for m in own.values() if m.service is not None}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        for member in own.values():
            if member.service is not None:
                member.service.close()
        if threads is not None:
            threads.shutdown()

    mounts: list[BaseRoute] = [
        Mount(f"/{name}", _Served(own[name], app, common)) for name, app in apps.items()
    ]
    return Starlette(routes=[*mounts, Mount("", common)], lifespan=lifespan)


class _Served:
    """The application of an archive, as long as it can be served."""

    def __init__(self, member: Member, app: ASGIApp, common: ASGIApp) -> None:
        self._member, self._app, self._common = member, app, common

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._member.error is None:
            await self._app(scope, receive, send)
        else:
            await self._common({**scope, "root_path": ""}, receive, send)


def _common_app(members: dict[str, Member], hosts: AllowedHosts) -> FastAPI:
    app = bare_app(DESCRIPTION)
    metrics = Metrics()
    app.include_router(search_routes(members))
    app.include_router(health_routes(members, metrics))
    add_files(app)
    app.include_router(list_routes(members))  # last, as its addresses match any name
    app.add_middleware(HostCheck, hosts=hosts)
    app.add_middleware(Observed, metrics=metrics)
    return app
