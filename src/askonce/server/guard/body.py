"""Read a request's body as long as it stays within the limit."""

import asyncio

from fastapi import HTTPException, Request
from starlette.types import Message

PATIENCE = 30  # seconds for a body to arrive
CLOSE = {"Connection": "close"}
# A client writes all it has before it reads, and a closed connection would take our answer from
# it; so a body that is not absurdly too long is read to its end and thrown away.
DISCARDED = 16  # times the limit


async def limited(request: Request, limit: int) -> Request:
    """The request with its whole body at hand; 413 if that is longer than the limit."""
    if request.method in ("GET", "HEAD"):
        return request
    try:
        async with asyncio.timeout(PATIENCE):
            body = await _read(request, limit)
    except TimeoutError:
        raise HTTPException(408, f"the body did not arrive in {PATIENCE} s", CLOSE) from None

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


async def _read(request: Request, limit: int) -> bytes:
    message = f"a body of more than {limit:,} bytes; send less at a time"
    too_long = HTTPException(413, message, CLOSE)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit * DISCARDED:
        raise too_long
    parts: list[bytes] = []
    length = 0
    async for part in request.stream():
        length += len(part)
        if length > limit * DISCARDED:
            raise too_long
        if length <= limit:
            parts.append(part)
        else:
            parts.clear()
    if length > limit:
        raise too_long
    return b"".join(parts)
