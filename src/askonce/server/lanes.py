"""A bounded number of requests in work, a short queue before them, and a clear no beyond."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import HTTPException

from askonce.server.settings import LaneSettings

RETRY = {"Retry-After": "1"}


class Lane:
    """Requests of one kind on their way through the server."""

    def __init__(self, name: str, settings: LaneSettings) -> None:
        self.name, self._settings = name, settings
        self._places = asyncio.Semaphore(settings.work)
        self.working = 0
        self.waiting = 0
        self.refused = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place in work, at once or after a short wait; else 503."""
        if self._places.locked():
            await self._wait()
        else:
            await self._places.acquire()  # returns without a switch to another task
        self.working += 1
        try:
            yield
        finally:
            self.working -= 1
            self._places.release()

    async def _wait(self) -> None:
        if self.waiting >= self._settings.queue:
            raise self._refusal()
        self.waiting += 1
        try:
            async with asyncio.timeout(self._settings.patience):
                await self._places.acquire()
        except TimeoutError:
            raise self._refusal() from None
        finally:
            self.waiting -= 1

    def _refusal(self) -> HTTPException:
        self.refused += 1
        return HTTPException(503, "the server has more work than it can do; try again", RETRY)
