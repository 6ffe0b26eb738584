"""Files inside a 7z archive, unpacked one by one to a temporary folder."""

import lzma
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from askonce.data.forums.source import Source
from askonce.errors import AskonceError, DataError, needing
from askonce.files import refuse_expansion

if TYPE_CHECKING:
    from py7zr import SevenZipFile


def members(path: Path) -> list[str]:
    with _opened(path) as archive:
        return archive.getnames()


def unpack(source: Source, path: Path, member: str, folder: Path) -> Path:
    """Write one member into the folder, and no more bytes than the archive declares for it."""
    from py7zr.exceptions import ArchiveError

    with _opened(path) as archive:
        size = next(info.uncompressed for info in archive.list() if info.filename == member)
        refuse_expansion(path, path.stat().st_size, size)
        if size > shutil.disk_usage(folder).free:
            raise AskonceError(
                f"{member} of {path.name} needs {size:,} bytes in {str(folder.parent)!r}; "
                "make room there, or set TMPDIR to a larger disk"
            )
        source.size += size
        target = folder / Path(member).name
        try:
            _extract(archive, member, target, size, source)
        except (ArchiveError, lzma.LZMAError, EOFError, ValueError) as error:
            raise DataError(path.name, "a whole 7z archive", str(error)) from None
    return target


def _opened(path: Path) -> "SevenZipFile":
    with needing("7z", "a .7z dump"):
        import py7zr
    try:
        archive = py7zr.SevenZipFile(path)
    except (py7zr.exceptions.ArchiveError, lzma.LZMAError, EOFError, OSError, ValueError) as error:
        raise DataError(path.name, "a whole 7z archive", str(error)) from None
    if archive.needs_password():
        archive.close()
        raise DataError(path.name, "a 7z archive without a password", "one with it")
    return archive


def _extract(archive: "SevenZipFile", member: str, target: Path, size: int, source: Source) -> None:
    from py7zr.io import Py7zIO, WriterFactory

    class Bounded(Py7zIO):
        """A file that accepts no more bytes than the archive declares."""

        count = 0

        def write(self, data: bytes | bytearray) -> int:
            self.count += len(data)
            if self.count > size:
                raise ValueError(f"more than the {size:,} bytes that {member} should have")
            source.advance(len(data))
            return stream.write(data)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return stream.seek(offset, whence)

        def flush(self) -> None:
            stream.flush()

        def size(self) -> int:
            return self.count

    class One(WriterFactory):
        def create(self, filename: str) -> Py7zIO:
            return Bounded()

    with target.open("wb") as stream:
        archive.extract(targets=[member], factory=One())
