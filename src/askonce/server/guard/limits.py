"""How much one request may hold. The OpenAPI document states the same numbers."""

import asyncio

from fastapi import HTTPException, Request
from starlette.types import Message

MAX_QUESTION = 8_000  # characters; a question is part of the URL
MAX_TEXT = 100_000  # characters of a draft, or of a text to embed or re-rank
MAX_RESULTS = 100
MAX_DOCUMENTS = 500  # per rerank request
MAX_EMBEDDINGS = 256  # texts per embeddings request
MAX_POSTS = 1_000  # per write
MAX_TAGS = 50
MAX_TAG = 100  # characters
MAX_VOTES = 2**31 - 1  # what the database column can hold
VISIBLE = r"[^\s\x00-\x1f\x7f-\x9f]"  # a visible character

BODY_TIMEOUT = 30  # seconds
CLOSE = {"Connection": "close"}
# Clients send the whole body before they read the response, and closing the connection early would
# lose our error message. So a body up to this many times the limit is read and discarded.
DISCARD_FACTOR = 16


async def read_body(request: Request, limit: int) -> Request:
    """Read the whole body; 413 if it is longer than the limit, 408 if it is too slow."""
    if request.method in ("GET", "HEAD"):
        return request
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            body = await _read(request, limit)
    except TimeoutError:
        message = f"the request body did not arrive within {BODY_TIMEOUT} s"
        raise HTTPException(408, message, CLOSE) from None

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


async def _read(request: Request, limit: int) -> bytes:
    message = f"the request body is longer than {limit:,} bytes; split it into several requests"
    too_large = HTTPException(413, message, CLOSE)
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
