"""HTTP connections by uvicorn, with limits and timeouts, and errors as JSON."""

import asyncio
import logging
import socket
from typing import ClassVar

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from askonce.server.errors import error_response
from askonce.server.guard.connections import ACCEPTED_AT_ONCE, ConnectionSettings, OpenConnections
from askonce.server.guard.logs import limit_logs
from askonce.server.listening import BACKLOG

DRAIN_SECONDS = 30  # for running requests after SIGTERM
HEADER_BYTES = 128 * 1024  # fits the longest question, percent-encoded in the URL
MALFORMED = "this is not a valid HTTP request, or its headers are too large"
log = logging.getLogger("askonce.server")


class GuardedProtocol(H11Protocol):
    """One connection. It is closed if it is silent for too long or there are too many."""

    settings: ClassVar[ConnectionSettings]
    open_connections: ClassVar[OpenConnections["GuardedProtocol"]]
    _headers_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_headers()
        excess = self.open_connections.add(self, self.client[0] if self.client else "")
        if excess is not None:
            log.warning(
                "more than %d connections, or than %d of one address: closing the longest silent",
                self.settings.total,
                self.settings.per_address,
            )
            excess.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.open_connections.remove(self)
        self._stop_timers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._set_busy():
            self._cancel_headers_due()
        else:
            self._expect_headers()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_busy()  # a pipelined request may have begun
        self._expect_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP with an error like all others, if there is no response yet."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        response = error_response(400, MALFORMED, {"Connection": "close"})
        headers = [(name, value) for name, value in response.raw_headers]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(response.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._expect_reading()

    def abort(self) -> None:
        self.open_connections.remove(self)
        self._stop_timers()
        self.transport.abort()

    def _set_busy(self) -> bool:
        busy = self.cycle is not None and not self.cycle.response_complete
        self.open_connections.set_busy(self, busy)
        return busy

    def _expect_headers(self) -> None:
        """Close unless the headers arrive in time; further bytes do not extend it."""
        if self._headers_due is None and not self.transport.is_closing():
            self._headers_due = self.loop.call_later(self.settings.header_seconds, self.abort)

    def _expect_reading(self) -> None:
        """Close unless the client reads some of what was written; progress extends it."""
        unread = self.transport.get_write_buffer_size()
        if unread and self._reading_due is None:
            seconds = self.settings.stall_seconds
            self._reading_due = self.loop.call_later(seconds, self._check_reading, unread)

    def _check_reading(self, unread: int) -> None:
        self._reading_due = None
        if self.transport.get_write_buffer_size() >= unread:
            self.abort()
        else:
            self._expect_reading()

    def _cancel_headers_due(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _stop_timers(self) -> None:
        self._cancel_headers_due()
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None


class Server(uvicorn.Server):
    """A server of one application; ``run(sockets=[...])`` serves until ``should_exit``."""

    def __init__(self, app: ASGIApp, settings: ConnectionSettings | None = None) -> None:
        limits = settings or ConnectionSettings()

        class Protocol(GuardedProtocol):
            settings = limits
            open_connections = OpenConnections(limits)

        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            log_config=None,  # no access log: URLs contain questions
            access_log=False,
            server_header=False,
            backlog=ACCEPTED_AT_ONCE,
            timeout_keep_alive=int(limits.keep_alive_seconds),
            timeout_graceful_shutdown=DRAIN_SECONDS,
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
        super().__init__(config)
        limit_logs()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, a few at once, from a longer queue."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio has set it to what it accepts at once
