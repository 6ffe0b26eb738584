"""A bounded number of requests in work, a short queue before them, and a clear no beyond."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import HTTPException

from askonce.server.settings import LaneSettings

RETRY = {"Retry-After": "1"}
FEWER, MORE = 0.7, 0.1  # so about one answer in ten is slow when all places are taken


class Lane:
    """Requests of one kind on their way through the server."""

    def __init__(
        self, name: str, settings: LaneSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self._settings, self._clock = name, settings, clock
        self._room = float(settings.work)
        self._turns: deque[asyncio.Future[None]] = deque()  # of those who wait, the first one first
        self.working = 0
        self.waiting = 0
        self.refused = 0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place in work, at once or after a short wait; else 503."""
        if self._turns or self.working >= int(self._room):
            await self._wait()
        else:
            self.working += 1
        begin = self._clock()
        try:
            yield
        finally:
            self._learn(self._clock() - begin)
            self._leave()

    async def _wait(self) -> None:
        """Until the turn comes; who gives it has counted us as working."""
        if self.waiting >= self._settings.queue:
            raise self._refusal()
        turn = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        self.waiting += 1
        try:
            async with asyncio.timeout(self._settings.patience):
                await turn
        except TimeoutError:
            if turn.cancelled():  # or else the turn came at the last moment
                raise self._refusal() from None
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._leave()
            raise
        finally:
            self.waiting -= 1

    def _leave(self) -> None:
        self.working -= 1
        while self._turns and self.working < int(self._room):
            turn = self._turns.popleft()
            if not turn.done():
                self.working += 1
                turn.set_result(None)

    def _learn(self, seconds: float) -> None:
        """Take on fewer at a time while they keep each other from being answered in time."""
        settings = self._settings
        if seconds > settings.steady:
            self._room = max(self._room * FEWER, min(settings.least, settings.work))
        else:
            self._room = min(self._room + MORE, settings.work)

    def _refusal(self) -> HTTPException:
        self.refused += 1
        return HTTPException(503, "the server has more work than it can do; try again", RETRY)
