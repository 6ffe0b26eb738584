"""Read word vectors: GloVe and word2vec text, word2vec binary, npz with words; plain or gzipped."""

import codecs
import gzip
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from askonce.errors import DataError
from askonce.files import need, numbered_lines
from askonce.text.vectors import WordVectors

_CHUNK = 1 << 20


class _Header(NamedTuple):
    words: int
    dim: int


class _Entry(NamedTuple):
    number: int  # the line of a text file, or the number of the word in a binary one
    word: str
    vector: bytes


def read_vectors(path: Path, only: Collection[str] | None = None) -> WordVectors:
    """Read word vectors from a file, or from a folder with an ``.npz`` and a ``words.txt``.

    The format is detected from the content. ``only`` limits the words, to save memory.
    """
    path, keep = Path(path), None if only is None else frozenset(only)
    if path.is_dir():
        return _read_npz(_npz_in(path), keep)
    if not path.is_file():
        raise DataError(path, "word vectors", "nothing at this path")
    if path.suffix == ".npz":
        return _read_npz(path, keep)
    try:
        return _read_file(path, keep)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(path, "a whole gzip file", str(error)) from None


def _read_file(path: Path, keep: frozenset[str] | None) -> WordVectors:
    with _open(path) as stream:
        first = stream.readline(_CHUNK)
        header = _header(path, first)
        binary = header is not None and _is_binary(stream.read(4 * header.dim + 1000), header.dim)
    if header and binary:
        return _collect(path, _binary_entries(path, header, keep), header.dim)
    dim = header.dim if header else _count_numbers(path, first)
    return _collect(path, _text_entries(path, header, dim, keep), dim)


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _header(path: Path, line: bytes) -> _Header | None:
    if not line.strip():
        raise DataError(path, "word vectors", "an empty line" if line else "an empty file", 1)
    match = re.fullmatch(rb"([0-9]{1,9}) ([0-9]{1,9})\s*", line)
    if match is None:
        return None
    header = _Header(int(match[1]), int(match[2]))
    if not header.words or not header.dim:
        raise DataError(path, "at least one word and one number", line, 1)
    return header


def _is_binary(start: bytes, dim: int) -> bool:
    """Whether the bytes after the first word are not text."""
    sample = start.partition(b" ")[2][: 4 * dim]
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return True
    return any(char < " " and char not in "\t\r\n" for char in text)


def _count_numbers(path: Path, line: bytes) -> int:
    """The number of numbers in the first line of a file without a header."""
    fields = line.split()
    count = 0
    while count < len(fields) - 1 and _is_number(fields[-count - 1]):
        count += 1
    if not count:
        raise DataError(path, "a word and its vector", line, 1)
    return count


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _text_entries(
    path: Path, header: _Header | None, dim: int, keep: frozenset[str] | None
) -> Iterator[_Entry]:
    read = 0
    with _open(path) as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1 and header:
                continue
            # From the right, and at blanks only: some words of GloVe contain spaces.
            word, *numbers = line.rstrip(b" \r\n").rsplit(b" ", dim)
            if len(numbers) != dim or (b" " in word and _is_number(word.rpartition(b" ")[2])):
                raise DataError(path, f"a word and {dim} numbers", line, number)
            read += 1
            name = word.decode("utf-8", "replace")
            if keep is None or name in keep:
                yield _Entry(number, name, _parse(path, number, numbers))
    if header and read != header.words:
        raise DataError(path, f"{header.words} words", f"{read}", read + 1)


def _parse(path: Path, number: int, fields: list[bytes]) -> bytes:
    try:
        return np.fromiter(map(float, fields), np.float32, len(fields)).tobytes()
    except ValueError as error:
        raise DataError(path, "numbers", str(error), number) from None


def _binary_entries(path: Path, header: _Header, keep: frozenset[str] | None) -> Iterator[_Entry]:
    size = 4 * header.dim
    with _open(path) as stream:
        stream.readline()
        buffer, start = b"", 0
        for number in range(1, header.words + 1):
            while (blank := buffer.find(b" ", start)) < 0 or len(buffer) <= blank + size:
                chunk = stream.read(_CHUNK)
                if not chunk:
                    raise DataError(path, f"{header.words} words", f"an end in word {number}")
                buffer, start = buffer[start:] + chunk, 0
            word = buffer[start:blank].lstrip(b"\n").decode("utf-8", "replace")
            start = blank + 1 + size
            if keep is None or word in keep:
                yield _Entry(number, word, buffer[blank + 1 : start])


def _collect(path: Path, entries: Iterator[_Entry], dim: int) -> WordVectors:
    numbers, words, buffer = [], [], bytearray()  # one growing buffer saves a copy
    for number, word, vector in entries:
        numbers.append(number)
        words.append(word)
        buffer += vector
    matrix = np.frombuffer(buffer, "<f4").reshape(len(words), dim)
    return _finite(path, WordVectors(words, matrix), numbers)


def _finite(path: Path, vectors: WordVectors, numbers: list[int]) -> WordVectors:
    wrong = np.flatnonzero(~np.isfinite(vectors.matrix).all(axis=1))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(path, "finite numbers", f"a vector of {vectors.words[row]!r}", numbers[row])
    return vectors


def _npz_in(folder: Path) -> Path:
    paths = sorted(folder.glob("*.npz"))
    if len(paths) != 1:
        raise DataError(folder, "one .npz file", f"{len(paths)}")
    return paths[0]


def _read_npz(path: Path, keep: frozenset[str] | None) -> WordVectors:
    """``vectors`` of the npz; row i belongs to line i of ``words.txt`` beside it."""
    listing = need(path.parent, "words.txt")
    words = [word for _, word in numbered_lines(listing)]
    if not zipfile.is_zipfile(path):
        raise DataError(path, "an npz file")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            matrix = arrays["vectors"]
    except (KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(path, "an npz file with 'vectors'", str(error)) from None
    if matrix.ndim != 2 or len(matrix) != len(words) or matrix.dtype.kind != "f":
        shape = f"{matrix.dtype} of shape {matrix.shape}"
        raise DataError(
            path, f"{len(words)} vectors of numbers, as {listing.name} has lines", shape
        )
    rows = [row for row, word in enumerate(words) if keep is None or word in keep]
    chosen = WordVectors([words[row] for row in rows], matrix[rows].astype(np.float32))
    return _finite(listing, chosen, [row + 1 for row in rows])
