"""Bounded concurrency: a limited number of requests run, a short queue waits, the rest get 503."""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import HTTPException

RETRY = {"Retry-After": "1"}
DECREASE, INCREASE = 0.7, 0.1  # in a full lane, about one response in ten is slow


@dataclass(frozen=True)
class LaneSettings:
    """How many requests of a kind may run and wait, and for how long."""

    concurrency: int  # at most this many run
    queue: int  # at most this many wait
    timeout: float  # seconds in the queue before a 503, while the lane is overloaded
    burst: float = 0.0  # seconds in the queue before a 503, if it was empty this long ago
    target_seconds: float = math.inf  # when a request takes longer, concurrency decreases
    min_concurrency: int = 2  # never shed below this


class Lane:
    """Requests of one kind; concurrency grows by addition and shrinks by multiplication.

    A burst may wait for ``burst`` seconds. A queue that has not been empty for as long is no burst
    but overload: then requests wait for ``timeout`` seconds only, so that those which are admitted
    are answered soon.
    """

    def __init__(
        self, name: str, settings: LaneSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self._settings, self._clock = name, settings, clock
        self._concurrency = float(settings.concurrency)
        self._queue: deque[asyncio.Future[None]] = deque()  # in order of arrival
        self._last_empty = clock()
        self.working = 0
        self.waiting = 0
        self.refused = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Run in this lane, at once or after a short wait; else 503."""
        if self._queue or self.working >= int(self._concurrency):
            await self._wait()
        else:
            self.working += 1
        started = self._clock()
        try:
            yield
        finally:
            self._adapt(self._clock() - started)
            self._release()

    async def _wait(self) -> None:
        """Wait for a slot. ``_release`` counts this request as working when it grants one."""
        if self.waiting >= self._settings.queue:
            raise self._refusal()
        granted = asyncio.get_running_loop().create_future()
        if not self.waiting:
            self._last_empty = self._clock()
        self._queue.append(granted)
        self.waiting += 1
        try:
            async with asyncio.timeout(self._patience()):
                await granted
        except TimeoutError:
            if granted.cancelled():  # otherwise the slot was granted at the last moment
                raise self._refusal() from None
        except asyncio.CancelledError:
            if not granted.cancelled():
                self._release()
            raise
        finally:
            self.waiting -= 1

    def _patience(self) -> float:
        settings = self._settings
        bursting = self._clock() - self._last_empty < settings.burst
        return max(settings.burst, settings.timeout) if bursting else settings.timeout

    def _release(self) -> None:
        self.working -= 1
        while self._queue and self.working < int(self._concurrency):
            granted = self._queue.popleft()
            if not granted.done():
                self.working += 1
                granted.set_result(None)

    def _adapt(self, seconds: float) -> None:
        settings = self._settings
        if seconds > settings.target_seconds:
            lowest = min(settings.min_concurrency, settings.concurrency)
            self._concurrency = max(self._concurrency * DECREASE, lowest)
        else:
            self._concurrency = min(self._concurrency + INCREASE, settings.concurrency)

    def _refusal(self) -> HTTPException:
        self.refused += 1
        return HTTPException(503, "the server is overloaded; try again", RETRY)
