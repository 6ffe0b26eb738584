"""Questions that come at the same time go through the models together."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, TypeVar

from askonce.errors import AskonceError

Kind = TypeVar("Kind", bound=Hashable)
Found = TypeVar("Found")
Asked = tuple[str, asyncio.Future[Found]]


class Batcher(Generic[Kind, Found]):
    """Runs one question at once while a thread is free, and all that waited when it is again.

    So a lone question never waits for others, and the busier the server the larger its batches.
    """

    def __init__(
        self,
        run: Callable[[Kind, Sequence[str]], Sequence[Found]],
        threads: int,
        largest: int,
        tell_size: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._run, self._threads, self._largest, self._tell = run, threads, largest, tell_size
        self._workers = ThreadPoolExecutor(threads, thread_name_prefix="askonce-query")
        self._waiting: OrderedDict[Kind, deque[Asked[Found]]] = OrderedDict()
        self._running = 0

    async def ask(self, kind: Kind, question: str) -> Found:
        """What the run gives for this question; kinds are never mixed in one run."""
        answer: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(kind, deque()).append((question, answer))
        self._start()
        return await answer

    def close(self) -> None:
        """Let the threads end."""
        self._workers.shutdown()

    def _start(self) -> None:
        while self._waiting and self._running < self._threads:
            kind, waiting = self._waiting.popitem(last=False)
            batch = [waiting.popleft() for _ in range(min(len(waiting), self._largest))]
            if waiting:
                self._waiting[kind] = waiting  # behind the other kinds
            self._running += 1
            self._tell(len(batch))
            questions = [question for question, _ in batch]
            loop = asyncio.get_running_loop()
            job = loop.run_in_executor(self._workers, self._answer, kind, questions)
            job.add_done_callback(partial(self._deliver, batch))

    def _answer(self, kind: Kind, questions: list[str]) -> list[Found | Exception]:
        """One result for each; an error of one question is that question's alone."""
        try:
            return list(self._run(kind, questions))
        except AskonceError as error:
            if len(questions) == 1:
                return [error]
            return [self._answer(kind, [question])[0] for question in questions]
        except Exception as error:
            return [error] * len(questions)

    def _deliver(
        self, batch: list[Asked[Found]], job: "asyncio.Future[list[Found | Exception]]"
    ) -> None:
        self._running -= 1
        self._start()
        for (_, answer), found in zip(batch, job.result(), strict=True):
            if answer.done():  # its request was cancelled
                continue
            if isinstance(found, Exception):
                answer.set_exception(found)
            else:
                answer.set_result(found)
