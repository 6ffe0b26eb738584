"""A socket to listen at, or one line that says why not."""

import socket

from askonce.errors import AskonceError

BACKLOG = 2048  # connections that may wait to be taken


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on; port 0 is a free one."""
    try:
        # with its protocol named: asyncio sends without delay only then, else each response waits
        # 40 ms for the client's acknowledgement of its head
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise AskonceError(
            f"cannot listen at {host} port {port}: {reason}; choose another with --port"
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
