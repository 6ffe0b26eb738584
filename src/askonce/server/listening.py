"""Open the listening socket, or say in one line why not."""

import socket

from askonce.errors import AskonceError

BACKLOG = 2048  # connections waiting to be accepted


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections; port 0 picks a free port."""
    try:
        # asyncio sets TCP_NODELAY only if the protocol is given; otherwise each response waits
        # 40 ms for the client to acknowledge its headers
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
        return listener
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise AskonceError(
            f"cannot listen on {host} port {port}: {reason}; choose another with --port"
        ) from None


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
