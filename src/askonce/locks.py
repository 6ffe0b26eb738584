"""Locks on files, which the system frees when their process ends, however it ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askonce.errors import AskonceError


@contextmanager
def only_one(path: Path, refusal: str) -> Iterator[None]:
    """Hold the lock of this file; while another process has it, an error with these words."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("w")
    except OSError as error:
        raise AskonceError(f"cannot write to {str(path.parent)!r}: {error.strerror}") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AskonceError(refusal) from None
        yield
