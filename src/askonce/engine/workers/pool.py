"""The workers of one server: start them, give them batches, replace those that end."""

import asyncio
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import askonce
from askonce.engine.engine import Engine
from askonce.engine.lifecycle.manager import SharedState
from askonce.engine.workers.asking import AskOptions, FoundHits
from askonce.engine.workers.frames import LENGTHS, Frame
from askonce.errors import AskonceError

ASK_SECONDS = 60.0  # after which a worker that does not answer is replaced
LOAD_SECONDS = 600.0  # the same for loading models
STOP_SECONDS = 10.0  # after which a worker that does not end is killed
POLL_SECONDS = 0.2  # between looks at what serves
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds before a worker is replaced
STABLE_SECONDS = 60.0  # a worker that ran for so long is replaced soon again
MOST_FAILURES = 3  # in a row, after which a worker is replaced
SECRETS = re.compile(r"ASKONCE_\w*(KEY|SECRET)")  # variables that a worker does not get
BUFFER = 4 * 2**20  # bytes of a response that are read at once
log = logging.getLogger("askonce.server")


class WorkerFailed(AskonceError):
    """A worker could not answer, or has ended."""


class WorkerProcess:
    """One worker; it answers one message at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.model: str | None = None
        self.loaded = self.busy = False
        self.failures = 0  # in a row

    def can_serve(self, state: SharedState) -> bool:
        """Whether it is free, and has the models of this state."""
        free = self.loaded and not self.busy and self._process.returncode is None
        return free and self.model == state.model

    async def call(self, message: Frame, seconds: float) -> Frame:
        """Send a message and wait for the response; a worker that gives none is killed."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise WorkerFailed("a worker has no pipes")
        try:
            async with asyncio.timeout(seconds):
                stdin.write(message.pack())
                await stdin.drain()
                header, body = LENGTHS.unpack(await stdout.readexactly(LENGTHS.size))
                content = await stdout.readexactly(header + body)
        except BaseException as error:  # also if the caller is cancelled: a response is on its way
            self.kill()
            if isinstance(error, TimeoutError | OSError | asyncio.IncompleteReadError):
                raise WorkerFailed(f"a worker does not answer ({type(error).__name__})") from None
            raise
        return Frame.unpack(content, header)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def wait(self, seconds: float) -> bool:
        """Whether it ends in this time."""
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    async def stop(self) -> None:
        """End the worker by closing its input."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not await self.wait(STOP_SECONDS):
            self.kill()
            await self._process.wait()


class WorkerPool:
    """Workers for the archive of an engine, which owns the indexes and shares them.

    A worker gets batches while it has the models in service; until then, and where it fails, the
    caller answers itself.
    """

    def __init__(self, engine: Engine, location: str, folder: Path | None, count: int) -> None:
        self._engine, self._location, self._folder = engine, location, folder
        self.count, self.restarts, self.batches = count, 0, 0
        self._workers: list[WorkerProcess] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._on_idle: Callable[[], None] = lambda: None

    @property
    def ready(self) -> int:
        """How many workers can answer."""
        return sum(worker.loaded for worker in self._workers)

    def start(self, on_idle: Callable[[], None]) -> None:
        """Start the workers once the engine is ready; ``on_idle`` is called when one is free."""
        self._on_idle = on_idle
        self._tasks = [asyncio.create_task(self._keep()) for _ in range(self.count)]

    async def stop(self) -> None:
        """End all workers; the caller has no more questions."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def take(self) -> WorkerProcess | None:
        """A free worker that serves the same as the engine, which is busy from now on."""
        state = self._engine.shared_state
        if state is None:
            return None
        for worker in self._workers:
            if worker.can_serve(state):
                worker.busy = True
                return worker
        return None

    async def ask(
        self, worker: WorkerProcess, options: AskOptions, questions: Sequence[str]
    ) -> list[FoundHits] | None:
        """The hits for each question; None if the worker cannot answer."""
        state = self._engine.shared_state
        try:
            if state is None or state.model != worker.model:
                return None
            asked = {"ask": options.as_json(), "questions": list(questions)}
            response = await worker.call(Frame(self._state(state) | asked), ASK_SECONDS)
            return self._found(worker, response)
        except WorkerFailed as error:
            log.warning("%s; the server answers itself", error)
            return None
        finally:
            worker.busy = False

    def _found(self, worker: WorkerProcess, response: Frame) -> list[FoundHits] | None:
        if "failed" in response.header:
            return None
        if "broken" in response.header:
            worker.failures += 1
            log.warning("a worker cannot answer: %s", response.header["broken"])
            if worker.failures >= MOST_FAILURES:
                worker.kill()
            return None
        worker.failures = 0
        self.batches += 1
        parts = response.parts()
        return [
            FoundHits(parts[2 * row], parts[2 * row + 1], *flags)
            for row, flags in enumerate(response.header["flags"])
        ]

    def _state(self, state: SharedState) -> dict[str, object]:
        return {"state": asdict(state), "edits": self._engine.wording.edits}

    async def _keep(self) -> None:
        """Keep one worker running."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            started = loop.time()
            try:
                await self._run()
            except (OSError, WorkerFailed) as error:
                log.warning("a worker has ended: %s", error)
            if loop.time() - started > STABLE_SECONDS:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            self.restarts += 1

    async def _run(self) -> None:
        """Run one worker until it ends; it is stopped if this task is cancelled."""
        while self._engine.shared_state is None:
            await asyncio.sleep(POLL_SECONDS)
        worker = WorkerProcess(await _started())
        try:
            folder = str(self._folder) if self._folder else None
            await _done(worker, Frame({"open": self._location, "folder": folder}))
            self._workers.append(worker)
            while not await worker.wait(POLL_SECONDS):
                await self._load(worker)
            raise WorkerFailed("its process is gone")
        finally:
            if worker in self._workers:
                self._workers.remove(worker)
            worker.loaded = False
            await worker.stop()

    async def _load(self, worker: WorkerProcess) -> None:
        """Let a worker load the models in service, if it has others."""
        state = self._engine.shared_state
        if state is None or worker.busy or (worker.loaded and worker.model == state.model):
            return
        worker.busy = True
        try:
            await _done(worker, Frame(self._state(state)))
            worker.model, worker.loaded = state.model, True
        finally:
            worker.busy = False
        self._on_idle()


async def _done(worker: WorkerProcess, message: Frame) -> None:
    response = await worker.call(message, LOAD_SECONDS)
    error = response.header.get("failed") or response.header.get("broken")
    if error:
        raise WorkerFailed(error)


async def _started() -> asyncio.subprocess.Process:
    """A new worker of the same version, without modules of the current folder."""
    paths = [os.environ.get("PYTHONPATH"), str(Path(askonce.__file__).parents[1])]
    environment = {name: text for name, text in os.environ.items() if not SECRETS.fullmatch(name)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "askonce.engine.workers.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
        limit=BUFFER,
    )
