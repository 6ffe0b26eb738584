"""A polite HTTP client: a rate, back-off, conditional requests, and bounded responses."""

import json
import random
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from askonce.errors import AskonceError, shorten

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 8
FIRST_WAIT, LONGEST_WAIT = 1.0, 120.0  # seconds between attempts; each is twice the last
TIMEOUT = 30.0
LONGEST_REPLY = 64 << 20  # bytes
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class SyncError(AskonceError):
    """A source does not answer as it should; the next run goes on from the stored position."""


class Gone(SyncError):
    """The source says that there is no such thing (404 or 410)."""


class NotAllowed(SyncError):
    """The source asks for a token, or for another one (401 or 403)."""


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Client:
    """GET requests for JSON, with at most ``rate`` of them per second."""

    rate: float = 2.0
    token: str | None = field(default=None, repr=False)
    token_header: str = "Authorization"
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    requests: int = 0  # that were sent
    _next: float = 0.0
    _first: "httpx.URL | None" = None
    _http: "httpx.Client | None" = field(default=None, repr=False)

    def get(
        self, url: str, params: Mapping[str, Any] | None = None, tag: str | None = None
    ) -> tuple[Any, str | None]:
        """The JSON at an address and its entity tag; None while the tag is still valid."""
        reply = self._reply(url, params or {}, {"If-None-Match": tag} if tag else {})
        if reply.status == 304:
            return None, tag
        try:
            return json.loads(reply.body), reply.headers.get("etag")
        except (ValueError, RecursionError):
            raise SyncError(f"{url}: expected JSON, found {shorten(reply.body)}") from None

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Deliver a body; an error unless the receiver accepts it."""
        self._reply(url, {}, {"Content-Type": "application/json", **headers}, body)

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

    def _reply(
        self,
        url: str,
        params: Mapping[str, Any],
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Reply:
        import httpx

        wait, problem = FIRST_WAIT, ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self.sleep(wait * random.uniform(0.8, 1.2))  # so that clients do not return as one
            try:
                reply = self._send(url, params, headers, body)
            except httpx.HTTPError as error:
                problem, wait = f"{type(error).__name__} {error}", min(wait * 2, LONGEST_WAIT)
                continue
            if reply.status not in RETRIED:
                return _checked(url, reply)
            problem = f"status {reply.status}"
            wait = _retry_after(reply) or min(wait * 2, LONGEST_WAIT)
        raise SyncError(f"{url} does not answer: {problem} ({ATTEMPTS} attempts); try again later")

    def _send(
        self, url: str, params: Mapping[str, Any], headers: Mapping[str, str], body: bytes | None
    ) -> Reply:
        now = self.clock()
        if now < self._next:
            self.sleep(self._next - now)
        self._next = max(now, self._next) + (1 / self.rate if self.rate else 0)
        self.requests += 1
        method = "GET" if body is None else "POST"
        chunks, size = [], 0
        with self._connected().stream(
            method, url, params=params or None, headers=headers, content=body
        ) as response:
            for chunk in response.iter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if size > LONGEST_REPLY:
                    raise SyncError(
                        f"{url} sent over {LONGEST_REPLY:,} bytes; ask for less at once"
                    )
            return Reply(response.status_code, response.headers, b"".join(chunks))

    def _connected(self) -> "httpx.Client":
        if self._http is None:
            import httpx

            from askonce import __version__

            own = {"User-Agent": f"askonce/{__version__}", "Accept": "application/json"}
            self._http = httpx.Client(
                timeout=TIMEOUT,
                headers=own,
                follow_redirects=True,
                event_hooks={"request": [self._sign_in]},
            )
        return self._http

    def _sign_in(self, request: "httpx.Request") -> None:
        """Add the token, for the host of the first request only: not where a redirect leads."""
        own = self._first = self._first or request.url
        is_own = request.url.host == own.host and request.url.scheme in (own.scheme, "https")
        request.headers.pop(self.token_header, None)
        if self.token and is_own:
            request.headers[self.token_header] = _credential(self.token_header, self.token)


def _credential(header: str, token: str) -> str:
    """The value of the header: the token, or NAME:SECRET as HTTP's basic form."""
    if header != "Authorization":
        return token
    return f"Basic {b64encode(token.encode()).decode()}" if ":" in token else f"Bearer {token}"


def _checked(url: str, reply: Reply) -> Reply:
    if reply.status in (404, 410):
        raise Gone(f"{url}: nothing there (status {reply.status})")
    if reply.status in (401, 403):
        raise NotAllowed(
            f"{url}: not allowed (status {reply.status}); set ASKONCE_SYNC_TOKEN to a valid token"
        )
    if reply.status >= 400:
        raise SyncError(f"{url}: status {reply.status}, {shorten(reply.body)}")
    return reply


def _retry_after(reply: Reply) -> float | None:
    """The seconds that the server asks us to wait."""
    value = reply.headers.get("retry-after", "")
    if value.isdigit():
        return min(float(value), LONGEST_WAIT) or None
    try:
        seconds = parsedate_to_datetime(value).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT) or None
