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
LONGEST_RETRY = 60  # seconds
DECREASE, INCREASE = 0.7, 0.1  # in a full lane, about one response in ten is slow
PACE_OVER = 32  # requests, a few batches: those of one batch end together


@dataclass(frozen=True)
class LaneSettings:
    """How many requests of a kind may run and wait, and for how long."""

    concurrency: int  # at most this many run
    queue: int  # at most this many wait
    timeout: float  # seconds in the queue before a 503, while the lane is overloaded
    burst: float = 0.0  # seconds in the queue before a 503, in a burst
    target_seconds: float = math.inf  # when a request takes longer, concurrency decreases
    min_concurrency: int = 2  # never shed below this


class Pace:
    """The mean time between the ends of two requests while any is running.

    Requests of a batch end together, so all of them count, however many slots are left.
    """

    def __init__(self) -> None:
        self.seconds = 0.0  # 0 until it is measured
        self._measured, self._since = 0, 0.0

    def begin(self, now: float) -> None:
        """A request runs from now on, and none did before."""
        self._since = now

    def end(self, now: float) -> None:
        self._measured = min(self._measured + 1, PACE_OVER)
        self.seconds += (now - self._since - self.seconds) / self._measured
        self._since = now


class Lane:
    """Requests of one kind; concurrency grows by addition and shrinks by multiplication.

    A burst may wait for ``burst`` seconds. If a request was refused since the lane was idle, or the
    queue has not been empty for as long, that is no burst but overload: then requests wait for
    ``timeout`` seconds only, so that those which are admitted are answered soon. In a lane that
    knows bursts, a request that would wait too long at the present pace is refused at once.
    """

    def __init__(
        self, name: str, settings: LaneSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name, self._settings, self._clock = name, settings, clock
        self._concurrency = float(settings.concurrency)
        self._queue: deque[asyncio.Future[None]] = deque()  # in order of arrival
        self._pace, self._last_empty, self._last_refusal = Pace(), clock(), -math.inf
        self.working = 0
        self.waiting = 0
        self.refused = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Run in this lane, at once or after a short wait; else 503."""
        if self._queue or self.working >= int(self._concurrency):
            await self._wait()
        else:
            self._take()
        started = self._clock()
        try:
            yield
        finally:
            self._adapt(self._clock() - started)
            self._release()

    async def _wait(self) -> None:
        """Wait for a slot. ``_release`` counts this request as working when it grants one."""
        if not self.waiting:
            self._last_empty = self._clock()
        patience = self._patience()
        hopeless = bool(self._settings.burst) and self._expected() > patience
        if self.waiting >= self._settings.queue or hopeless:
            raise self._refusal()
        granted = asyncio.get_running_loop().create_future()
        self._queue.append(granted)
        self.waiting += 1
        try:
            async with asyncio.timeout(patience):
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

    def _expected(self) -> float:
        """How many seconds one more request would wait."""
        return (self.waiting + 1) * self._pace.seconds

    def _patience(self) -> float:
        settings, now = self._settings, self._clock()
        overloaded = now - self._last_refusal < settings.burst
        if overloaded or now - self._last_empty >= settings.burst:
            return settings.timeout
        return max(settings.burst, settings.timeout)

    def _take(self) -> None:
        if not self.working:
            self._pace.begin(self._clock())
        self.working += 1

    def _release(self) -> None:
        self._pace.end(self._clock())
        self.working -= 1
        while self._queue and self.working < int(self._concurrency):
            granted = self._queue.popleft()
            if not granted.done():
                self._take()
                granted.set_result(None)
        if not self.working:
            self._last_refusal = -math.inf

    def _adapt(self, seconds: float) -> None:
        settings = self._settings
        if seconds > settings.target_seconds:
            lowest = min(settings.min_concurrency, settings.concurrency)
            self._concurrency = max(self._concurrency * DECREASE, lowest)
        else:
            self._concurrency = min(self._concurrency + INCREASE, settings.concurrency)

    def _refusal(self) -> HTTPException:
        self.refused += 1
        self._last_refusal = self._clock()
        seconds = min(max(1, math.ceil(self._expected())), LONGEST_RETRY)
        retry = {"Retry-After": str(seconds)}
        return HTTPException(503, "the server is overloaded; try again", retry)
