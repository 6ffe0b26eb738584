"""How much one request may hold. The OpenAPI document states the same numbers."""

import asyncio
import zlib

from fastapi import HTTPException, Request
from starlette.types import Message

MAX_QUESTION = 8_000  # characters; a question is part of the URL
MAX_TEXT = 100_000  # characters of a draft, or of a text to embed or re-rank
MAX_RESULTS = 100
MAX_OFFSET = 400  # results to skip; candidates end at 500
MAX_DOCUMENTS = 500  # per rerank request
MAX_EMBEDDINGS = 256  # texts per embeddings request
MAX_POSTS = 1_000  # per write
MAX_VOTES = 2**31 - 1  # what the database column can hold
VISIBLE = r"[^\s\x00-\x1f\x7f-\x9f]"  # a visible character

BODY_TIMEOUT = 30  # seconds
CLOSE = {"Connection": "close"}
# Clients send the whole body before they read the response, and closing the connection early would
# lose our error message. So a body up to this many times the limit is read and discarded.
DISCARD_FACTOR = 16


async def read_body(request: Request, limit: int) -> Request:
    """Read the whole body, unpacked if it is gzipped.

    413 if it is longer than the limit, packed or unpacked; 408 if it is too slow; 415 for other
    encodings.
    """
    if request.method in ("GET", "HEAD"):
        return request
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        message = f"content encoding {encoding[:50]!r} is not supported; send it plain or gzipped"
        raise HTTPException(415, message, {"Accept-Encoding": "gzip", **CLOSE})
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            body = await _read(request, limit)
    except TimeoutError:
        message = f"the request body did not arrive within {BODY_TIMEOUT} s"
        raise HTTPException(408, message, CLOSE) from None
    if encoding == "gzip":
        body = _unpacked(body, limit)

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


def _too_large(limit: int) -> HTTPException:
    message = f"the request body is longer than {limit:,} bytes; split it into several requests"
    return HTTPException(413, message, CLOSE)


def _unpacked(body: bytes, limit: int) -> bytes:
    """The content of a gzipped body; never more than the limit is held in memory."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = unpacker.decompress(body, limit + 1)
    except zlib.error:
        raise HTTPException(400, "the request body is not valid gzip") from None
    if len(content) > limit:
        raise _too_large(limit)
    if not unpacker.eof or unpacker.unused_data:
        raise HTTPException(400, "the request body is not one complete gzip file")
    return content


async def _read(request: Request, limit: int) -> bytes:
    too_large = _too_large(limit)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit * DISCARD_FACTOR:
        raise too_large
    chunks: list[bytes] = []
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > limit * DISCARD_FACTOR:
            raise too_large
        if length <= limit:
            chunks.append(chunk)
        else:
            chunks.clear()
    if length > limit:
        raise too_large
    return b"".join(chunks)
