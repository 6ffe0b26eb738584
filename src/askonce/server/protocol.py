"""HTTP connections by uvicorn, with limits and timeouts, and errors as JSON."""

import asyncio
import logging
import socket
from typing import ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from askonce.server.errors import error_response
from askonce.server.guard.connections import ACCEPTED_AT_ONCE, ConnectionSettings, OpenConnections
from askonce.server.guard.logs import limit_logs
from askonce.server.listening import BACKLOG

DRAIN_SECONDS = 30  # for running requests after SIGTERM
HEADER_BYTES = 128 * 1024  # fits the longest question, percent-encoded in the URL
FED_AT_ONCE = (
    4096  # bytes, so that few requests of a client that does not wait for responses are read
)
VERSIONS = ("1.0", "1.1")
MALFORMED = "this is not a valid HTTP request, or its headers are too large"
log = logging.getLogger("askonce.server")


class JoiningTransport(asyncio.Transport):
    """Sends what is written in one turn of the event loop together.

    Every call of the system gives Python's lock away, and a thread that answers questions keeps it
    for a while: one call for head and body of a response, after other responses were written.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(bytes(data))

    def _send(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        self._send()
        self._transport.close()

    def abort(self) -> None:
        self._parts.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self._parts)) + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._transport.get_extra_info(name, default)


class GuardedProtocol(HttpToolsProtocol):
    """One connection. It is closed if it is silent for too long or there are too many."""

    settings: ClassVar[ConnectionSettings]
    open_connections: ClassVar[OpenConnections["GuardedProtocol"]]
    _headers_due: asyncio.TimerHandle | None = None
    _reading_due: asyncio.TimerHandle | None = None
    _head_bytes = 0  # since headers, a part of a body or a request were complete
    _unread = b""  # what was sent behind requests that wait for their turn
    _malformed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoiningTransport(transport, self.loop))
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
        self._feed(self._unread + data)
        if self._set_busy():
            self._cancel_headers_due()
        else:
            self._expect_headers()

    def _feed(self, data: bytes) -> None:
        """Parse what was sent, unless several requests wait already; these are bytes till then."""
        self._unread = b""
        for start in range(0, len(data), FED_AT_ONCE):
            if self._malformed or self.transport.is_closing():
                return
            if self.pipeline:
                self._unread = data[start:]
                self.flow.pause_reading()
                return
            part = data[start : start + FED_AT_ONCE]
            self._head_bytes += len(part)
            super().data_received(part)
            if self._head_bytes > HEADER_BYTES:
                self.send_400_response(MALFORMED)

    def on_headers_complete(self) -> None:
        """Begin to answer; a request without a host is none, and several hosts are a trick."""
        version = self.parser.get_http_version()
        hosts = sum(name == b"host" for name, _ in self.headers)
        if version not in VERSIONS or hosts > 1 or (version == "1.1" and not hosts):
            raise ValueError(MALFORMED)  # the parser reports it as malformed
        self._head_bytes = 0
        # uvicorn's parser of addresses knows at most 65,535 bytes
        self.url, _, query = self.url.partition(b"?")
        super().on_headers_complete()
        self.scope["query_string"] = query

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._malformed and not self.pipeline:
            self.send_400_response(MALFORMED)
        elif self._unread and not self.transport.is_closing():
            self._feed(self._unread)
        self._set_busy()  # a pipelined request may have begun
        self._expect_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP with an error like all others, after responses under way."""
        self._malformed = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body:
                return  # a later request is malformed
            if cycle.response_started:
                self.transport.close()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        response = error_response(400, MALFORMED, {"Connection": "close"})
        head = [STATUS_LINE[400], *(b"%s: %s\r\n" % header for header in response.raw_headers)]
        self.transport.write(b"".join((*head, b"\r\n", bytes(response.body))))
        self.transport.close()
        self._expect_reading()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as HTTP and close: the client may go on in the other protocol."""
        self.cycle.keep_alive = False

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
        )
        super().__init__(config)
        limit_logs()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, a few at once, from a longer queue."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio has set it to what it accepts at once
