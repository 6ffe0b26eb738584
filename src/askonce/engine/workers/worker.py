"""A process that answers questions: it reads them from its standard input until that ends.

It never writes to the archive or its indexes. Before each batch it loads what the server has
published since the last one, so that it finds every post that the server has indexed.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any, BinaryIO

from askonce.archive import open_archive
from askonce.engine.engine import Engine
from askonce.engine.lifecycle.manager import SharedState
from askonce.engine.workers.asking import AskOptions, find
from askonce.engine.workers.frames import Frame, read_frame
from askonce.engine.workers.tuning import tune_process
from askonce.errors import AskonceError
from askonce.index.base import IndexDamaged


class Worker:
    """Answers the messages of a server: ``open`` first, then ``load`` and ``ask``."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._edits = 0

    def answer(self, message: Frame) -> Frame:
        """The response; ``failed`` lets the server answer itself, ``broken`` also counts."""
        try:
            return self._answer(message.header)
        except IndexDamaged as error:
            return Frame({"broken": str(error)})
        except AskonceError as error:
            return Frame({"failed": str(error)})
        except Exception as error:
            return Frame({"broken": f"{type(error).__name__}: {error}"})

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

    def _answer(self, header: dict[str, Any]) -> Frame:
        if location := header.get("open"):
            folder = header["folder"]
            archive = open_archive(location, Path(folder) if folder else None)
            self._engine = Engine(archive, follows=True)
            return Frame({})
        engine = self._engine
        if engine is None:
            raise AskonceError("the first message must be 'open'")
        state = header["state"]
        engine.follow(SharedState(state["model"], tuple(state["indexes"])))
        if header.get("edits", 0) != self._edits:
            self._edits = header["edits"]
            engine.wording.refresh()
        if "ask" not in header:
            return Frame({})
        found = find(engine, AskOptions.from_json(header["ask"]), header["questions"])
        flags = [[one.claimed, one.good, one.answered] for one in found]
        parts = [part for one in found for part in (one.similar, one.answers)]
        return Frame.of_parts({"flags": flags}, parts)


def run(requests: BinaryIO, responses: BinaryIO) -> None:
    worker = Worker()
    try:
        while (message := read_frame(requests)) is not None:
            responses.write(worker.answer(message).pack())
            responses.flush()
    except BrokenPipeError:  # the server is gone
        pass
    finally:
        worker.close()


def main() -> None:
    """Serve until the standard input ends; the server decides when that is, not a signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    tune_process()
    responses = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write there
    run(sys.stdin.buffer, responses)


if __name__ == "__main__":
    main()
