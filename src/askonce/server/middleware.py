"""Allowed host names, metrics and security headers; no response shows a traceback."""

import logging
import time
import traceback
from collections.abc import Sequence
from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askonce.errors import shorten
from askonce.server.errors import error_response, path_in_app
from askonce.server.guard.hosts import AllowedHosts
from askonce.server.metrics import Metrics

log = logging.getLogger("askonce.server")
NO_FRAMES = "frame-ancestors 'none'"


def policy(framed_by: Sequence[str] = (), image_hosts: Sequence[str] = ()) -> str:
    """The content security policy: scripts and styles come from our own files only.

    Images in posts are shown as links, since loading them would tell other sites who reads what;
    the operator may allow the hosts of the forum's own images.
    """
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(("img-src 'self' data:", *(f"https://{host}" for host in image_hosts))),
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            f"frame-ancestors 'self' {' '.join(framed_by)}" if framed_by else NO_FRAMES,
        )
    )


HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
OPEN_PATHS = ("/healthz",)  # says nothing about the archive; probes use any host name
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class HostCheck:
    """Middleware that refuses requests to other host names, before they read or write anything."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # browsers always send the header; HTTP/1.0 programs may leave it out
        host = Headers(scope=scope).get("host") if scope["type"] == "http" else None
        if host is None or path_in_app(scope) in OPEN_PATHS or self._hosts.allow(host):
            await self._app(scope, receive, send)
            return
        message = f"the host name {shorten(host)} is not allowed; start with --allowed-host NAME"
        await error_response(421, message)(scope, receive, send)


class Observed:
    """Middleware that counts and times requests and adds the security headers."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        framed_by: Sequence[str] = (),
        image_hosts: Sequence[str] = (),
    ) -> None:
        self._app, self._metrics = app, metrics
        self._headers = _headers(framed_by, image_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0
        path = path_in_app(scope)  # routing changes the scope
        scope.pop("route", None)  # that of an application around this one

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                # browsers revalidate files each time, and get a 304 while they are unchanged
                headers.setdefault("Cache-Control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, send_guarded)
        except Exception as error:
            if status:  # the response has started; uvicorn closes the connection
                raise
            await _unexpected(error)(scope, receive, send_guarded)
        finally:
            self._metrics.in_flight.dec()
            self._count(scope, path, status, time.perf_counter() - started)

    def _count(self, scope: Scope, path: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None)
        if route is None:  # known names only: clients must not create labels
            route = "/static" if path.startswith("/static/") else "other"
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.requests.labels(route, method, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)


def _headers(framed_by: Sequence[str], image_hosts: Sequence[str]) -> dict[str, str]:
    """The security headers; the pages of these origins may frame ours."""
    headers = HEADERS | {"Content-Security-Policy": policy(framed_by, image_hosts)}
    if framed_by:
        del headers["X-Frame-Options"]  # it knows no list of origins
    return headers


def _unexpected(error: Exception) -> ASGIApp:
    frames = traceback.extract_tb(error.__traceback__)
    where = [type(error).__name__, *(f"{frame.filename}:{frame.lineno}" for frame in frames)]
    # the same number for the same fault, which is logged once a minute
    number = sha256("".join(where).encode()).hexdigest()[:12]
    log.error("error " + number, exc_info=error)
    return error_response(500, f"unexpected error; look in the server log for {number}")
