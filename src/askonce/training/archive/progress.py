"""The progress of training on an archive, in a file that a running server shows."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askonce.files import write_atomic
from askonce.training.events import Epoch, Event, OnEvent, Phase, Reading, Step

FILE = "progress.json"
WRITE_EVERY = 1.0  # seconds between two writes during an epoch
HEARTBEAT = 15.0  # seconds between two writes while there are no events


@contextmanager
def progress_file(folder: Path, seconds: float, on_event: OnEvent) -> Iterator[OnEvent]:
    """Pass events on and record them in the file, which is removed when training ends.

    ``seconds`` is the time that training may take. The file is written regularly without events
    too: an old one is of a process that died.
    """
    progress = _Progress(folder / FILE, seconds)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT):
            progress.write()

    thread = threading.Thread(target=beat, name="progress", daemon=True)
    thread.start()

    def both(event: Event) -> None:
        progress.take(event)
        on_event(event)

    try:
        yield both
    finally:
        ended.set()
        thread.join()
        progress.path.unlink(missing_ok=True)


class _Progress:
    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self._seconds = path, seconds
        self._begin, self._written = time.monotonic(), 0.0
        self._now: dict[str, Any] = {"history": []}
        self._lock = threading.Lock()

    def take(self, event: Event) -> None:
        match event:
            case Phase(text, task):
                self._now = {"text": text, "history": []} | ({"task": task} if task else {})
            case Step(epoch, done, total, loss):
                self._now |= {"epoch": epoch, "done": done, "of": total, "loss": loss}
            case Epoch(loss=float(loss)):
                record = {"epoch": event.epoch, "loss": loss, "dev": dict(event.dev)}
                self._now["history"] = [*self._now["history"], record]
        if not isinstance(event, Step | Reading) or time.monotonic() - self._written >= WRITE_EVERY:
            self.write()

    def write(self) -> None:
        with self._lock:
            self._written = time.monotonic()
            share = min(1.0, (self._written - self._begin) / self._seconds)
            write_atomic(self.path, json.dumps(self._now | {"share": round(share, 3)}))
