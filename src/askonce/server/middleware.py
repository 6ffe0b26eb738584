"""Metrics and security headers for every response; no response shows a traceback."""

import logging
import time
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askonce.server.errors import error_response
from askonce.server.metrics import Metrics

log = logging.getLogger("askonce.server")

# Scripts and styles come from our own files only. Images in posts are shown as links, since
# loading them would tell other sites who reads what.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Observed:
    """Middleware that counts and times requests and adds the security headers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
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
            self._count(scope, status, time.perf_counter() - started)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None)
        if route is None:  # known names only: clients must not create labels
            route = "/static" if scope["path"].startswith("/static/") else "other"
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._metrics.requests.labels(route, method, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)


def _unexpected(error: Exception) -> ASGIApp:
    number = uuid4().hex[:12]
    log.error("error %s", number, exc_info=error)
    return error_response(500, f"unexpected error; look in the server log for {number}")
