"""The words a model knows, each with its row, count and document frequency."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from askonce.errors import DataError
from askonce.files import numbered_lines

PAD: Final = 0
UNK: Final = 1
SPECIAL: Final = ("<pad>", "<unk>")  # no words: such tokens in a text are unknown words

_FORMAT = 1
_HEADER_LINE = "# askonce vocabulary, format {}, documents {}, words {}"


class _Rows(dict[str, int]):
    """Word to row; an unknown word gets a negative hash, the same in every process."""

    def __missing__(self, word: str) -> int:
        return ~zlib.crc32(word.encode("utf-8", "surrogatepass"))  # -1 - hash


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The known words in the order of their rows; the first two rows are padding and unknown."""

    words: list[str]  # (V,), with SPECIAL in front
    counts: np.ndarray  # (V,)
    document_frequency: np.ndarray  # (V,)
    documents: int

    @classmethod
    def build(cls, token_lists: Iterable[list[str]], min_count: int = 1) -> "Vocabulary":
        """Count the words of these texts; the most frequent come first."""
        counts: Counter[str] = Counter()
        frequency: Counter[str] = Counter()
        documents = 0
        for tokens in token_lists:
            counts.update(tokens)
            frequency.update(set(tokens))
            documents += 1
        known = (word for word in counts if counts[word] >= min_count and word not in SPECIAL)
        ordered = sorted(known, key=lambda word: (-counts[word], word))
        table = ((word, counts[word], frequency[word]) for word in ordered)
        return cls._of(table, documents)

    @classmethod
    def _of(cls, table: Iterable[tuple[str, int, int]], documents: int) -> "Vocabulary":
        words, counts, frequency = zip(*((word, 0, 0) for word in SPECIAL), *table, strict=True)
        numbers = np.array([counts, frequency], dtype=np.int64)
        return cls(list(words), numbers[0], numbers[1], documents)

    @cached_property
    def _rows(self) -> _Rows:
        return _Rows((word, row) for row, word in enumerate(self.words) if row > UNK)

    def encode(self, tokens: list[str]) -> np.ndarray:
        """One code per token: the row of a known word, a negative hash of an unknown one."""
        return np.fromiter(map(self._rows.__getitem__, tokens), np.int64, len(tokens))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def idf(self) -> np.ndarray:
        """ln(N / df) per row, with a df of at least 1; 0 for padding."""
        values = np.log(max(self.documents, 1) / np.maximum(self.document_frequency, 1))
        values[PAD] = 0
        return values

    def save(self, path: Path) -> None:
        """Write one line per word: the word, its count and its document frequency."""
        size = len(self) - len(SPECIAL)
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(_HEADER_LINE.format(_FORMAT, self.documents, size) + "\n")
            for row in range(len(SPECIAL), len(self)):
                word = _escape(self.words[row])
                stream.write(f"{word}\t{self.counts[row]}\t{self.document_frequency[row]}\n")

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        if not path.is_file():
            raise DataError(path, "a vocabulary", "nothing at this path")
        lines = numbered_lines(path)
        documents, size = _read_header(path, next(lines)[1])
        vocabulary = cls._of(_read_table(path, lines), documents)
        if (read := len(vocabulary) - len(SPECIAL)) != size:
            raise DataError(path, f"{size} words", f"{read}", read + 2)
        return vocabulary


def _read_header(path: Path, line: str) -> tuple[int, int]:
    match = re.fullmatch(_HEADER_LINE.replace("{}", "([0-9]{1,18})"), line)
    if match is None:
        raise DataError(path, "the header of a vocabulary", line, 1)
    if int(match[1]) != _FORMAT:
        raise DataError(path, f"vocabulary format {_FORMAT}", match[1], 1)
    return int(match[2]), int(match[3])


def _read_table(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, int, int]]:
    seen: set[str] = set(SPECIAL)
    for number, line in lines:
        match = re.fullmatch(r"([^\t]*)\t([0-9]{1,18})\t([0-9]{1,18})", line)
        if match is None:
            raise DataError(path, "a word, its count and its document frequency", line, number)
        word = _unescape(match[1])
        if word in seen:
            raise DataError(path, "each word once", word, number)
        seen.add(word)
        yield word, int(match[2]), int(match[3])


_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n"}
_ESCAPED = re.compile(r"\\(?:u([0-9a-f]{4})|.)")


def _escape(word: str) -> str:
    plain = re.sub(r"[\\\t\n]", lambda match: _ESCAPES[match[0]], word)
    return plain.encode("utf-8", "backslashreplace").decode()  # lone surrogates as \udxxx


def _unescape(text: str) -> str:
    chars = {escape: char for char, escape in _ESCAPES.items()}
    return _ESCAPED.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else chars.get(match[0], match[0]), text
    )
