"""One process at a time keeps the indexes of an archive; the others only read them."""

import fcntl
import os
from pathlib import Path
from typing import IO

from askonce.errors import AskonceError


class FolderLock:
    """A lock that the system frees when its process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        """Take the lock; False when another process has it, or the folder cannot be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("a+")
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return True

    def holder(self) -> str:
        """The process that has the lock, as a word for a message."""
        try:
            number = self.path.read_text().strip()
        except OSError:
            number = ""
        return f"process {number}" if number.isdecimal() else "another process"

    def refusal(self, archive: str) -> AskonceError:
        """The error for who needs the indexes of an archive, but cannot have the lock."""
        return AskonceError(
            f"the indexes of {archive!r} belong to {self.holder()}, or "
            f"{str(self.path.parent)!r} cannot be written; stop that process or mend the folder"
        )

    def release(self) -> None:
        """Give the lock up."""
        if self._file is not None:
            self._file.close()
            self._file = None
