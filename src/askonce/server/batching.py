"""Batch questions that arrive at the same time, so that they go through the models together."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import ceil
from typing import Generic, TypeVar

from askonce.errors import AskonceError

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")
Pending = tuple[str, asyncio.Future[Result]]
# After a batch of several questions the next one waits for so many seconds, unless it is full:
# clients that were answered ask again, and waiting ones are admitted. Alone, a suggestion takes
# twice the processor time that it takes in a batch of three.
GATHER_SECONDS = 0.002
# answers the questions of a batch in another process; None if that cannot answer
Elsewhere = Callable[[Key, Sequence[str]], Awaitable[Sequence[Result] | None]]


def query_threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="askonce-query")


class Batcher(Generic[Key, Result]):
    """Runs a question at once if a worker or thread is free; else batches those that are waiting.

    A question never waits for others on an idle server, and the busier the server, the larger its
    batches. All places where batches run share the questions under way: one that takes more keeps
    these waiting while others have little to do.
    ``find_worker`` gives what runs a batch in another process, if one is free for these questions;
    ``count_workers`` tells how many there are.
    """

    def __init__(
        self,
        run: Callable[[Key, Sequence[str]], Sequence[Result]],
        threads: int,
        max_batch: int,
        on_batch: Callable[[int], None] = lambda size: None,
        executor: ThreadPoolExecutor | None = None,
        find_worker: Callable[[Key], Elsewhere[Key, Result] | None] = lambda key: None,
        count_workers: Callable[[], int] = lambda: 0,
    ) -> None:
        self._run, self._threads, self._max_batch = run, threads, max_batch
        self._on_batch, self._find_worker = on_batch, find_worker
        self._count_workers = count_workers
        self._shared = executor is not None  # the owner shuts it down
        self._executor = executor or query_threads(threads)
        self._waiting: OrderedDict[Key, deque[Pending[Result]]] = OrderedDict()
        self._running = 0  # batches in threads of this process
        self._under_way = 0  # questions that wait or run anywhere
        self._elsewhere: set[asyncio.Task[None]] = set()
        self._gathering: asyncio.TimerHandle | None = None

    async def submit(self, key: Key, question: str) -> Result:
        """The result for this question; a batch only holds questions with the same key."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Result] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self.start)  # after the requests that have arrived at the same time
        waiting = self._waiting.setdefault(key, deque())
        waiting.append((question, result))
        self._under_way += 1
        if self._gathering is not None and len(waiting) >= self._max_batch:
            self._start_now()
        try:
            return await result
        finally:
            self._under_way -= 1

    def close(self) -> None:
        if not self._shared:
            self._executor.shutdown()

    def start(self) -> None:
        """Run waiting questions wherever there is room, unless more are about to come."""
        while self._waiting and self._gathering is None:
            key = next(iter(self._waiting))
            worker = self._find_worker(key)
            if worker is None and self._running >= self._threads:
                return
            waiting = self._waiting.pop(key)
            # as many as the share of one place; at least one, whose request may be cancelled
            share = ceil(self._under_way / (self._threads + self._count_workers()))
            size = max(1, min(self._max_batch, share))
            batch = [waiting.popleft() for _ in range(min(len(waiting), size))]
            if waiting:
                self._waiting[key] = waiting  # behind the other keys
            self._on_batch(len(batch))
            if worker is None:
                self._run_here(key, batch)
            else:
                task = asyncio.create_task(self._run_elsewhere(worker, key, batch))
                self._elsewhere.add(task)
                task.add_done_callback(self._elsewhere.discard)

    def _run_here(self, key: Key, batch: list[Pending[Result]]) -> None:
        self._running += 1
        questions = [question for question, _ in batch]
        loop = asyncio.get_running_loop()
        job = loop.run_in_executor(self._executor, self._results, key, questions)
        job.add_done_callback(partial(self._deliver, batch))

    async def _run_elsewhere(
        self, worker: Elsewhere[Key, Result], key: Key, batch: list[Pending[Result]]
    ) -> None:
        results = await worker(key, [question for question, _ in batch])
        if results is None:
            self._run_here(key, batch)
            return
        _set_results(batch, results)
        self._start_after(batch)

    def _results(self, key: Key, questions: list[str]) -> list[Result | Exception]:
        """One result per question; a question that fails doesn't fail the others."""
        try:
            return list(self._run(key, questions))
        except AskonceError as error:
            if len(questions) == 1:
                return [error]
            return [self._results(key, [question])[0] for question in questions]
        except Exception as error:
            return [error] * len(questions)

    def _deliver(
        self, batch: list[Pending[Result]], job: "asyncio.Future[list[Result | Exception]]"
    ) -> None:
        self._running -= 1
        _set_results(batch, job.result())
        self._start_after(batch)

    def _start_after(self, batch: list[Pending[Result]]) -> None:
        """Run the next questions; after several, gather some first."""
        full = any(len(one) >= self._max_batch for one in self._waiting.values())
        if full or len(batch) == 1:
            self._start_now()
        elif self._gathering is None:
            loop = asyncio.get_running_loop()
            self._gathering = loop.call_later(GATHER_SECONDS, self._start_now)

    def _start_now(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self.start()


def _set_results(batch: list[Pending[Result]], results: Sequence[Result | Exception]) -> None:
    for (_, future), result in zip(batch, results, strict=True):
        if future.done():  # the request was cancelled
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
