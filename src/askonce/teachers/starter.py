"""The starter: a student of general English inside the package, for archives without a teacher.

A text is the weighted sum of its words' vectors, in the space of the teacher that it learnt from.
``starter.md`` beside this file says from what; ``python -m askonce.cli.starter`` rebuilds it.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from askonce.text.tokenise import tokenise
from askonce.text.vectors import WordVectors

if TYPE_CHECKING:
    from askonce.teachers.teacher import OnProgress

FILE = Path(__file__).with_name("starter.safetensors")
BATCH = 256  # texts at a time
MIN_PART = 3  # letters of a word that others are composed of
MIN_PREFIX = 5
PREFIX_WEIGHT = 0.5  # a word of which only the beginning is known may mean something else
CACHED_WORDS = 100_000
_LETTERS = re.compile(r"[^\W_]+")
_ENDINGS = (  # of English words, and what the stem may end with instead
    ("'s", ("",)),
    ("ies", ("y", "ie")),
    ("ied", ("y",)),
    ("s", ("",)),
    ("es", ("", "e")),
    ("ed", ("", "e")),
    ("ing", ("", "e")),
    ("er", ("", "e")),
    ("est", ("", "e")),
    ("ly", ("", "le")),
    ("ness", ("",)),
    ("less", ("",)),
    ("able", ("", "e")),
    ("ise", ("ize",)),
    ("ised", ("ized",)),
    ("ising", ("izing",)),
)
Parts = tuple[tuple[int, ...], float]  # rows of known words, and the weight of each


class WordParts:
    """Known words by their rows, and unknown words composed of known ones."""

    def __init__(self, words: Sequence[str]) -> None:
        self._rows = {word: row for row, word in enumerate(words)}
        self._composed: dict[str, Parts] = {}

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def of(self, word: str) -> Parts:
        """The rows to add for a word; none for a word of which no part is known."""
        row = self._rows.get(word)
        if row is not None:
            return (row,), 1.0
        parts = self._composed.get(word)
        if parts is None:
            if len(self._composed) >= CACHED_WORDS:
                self._composed.clear()
            parts = self._composed[word] = self._compose(word[:64])
        return parts

    def _compose(self, word: str) -> Parts:
        stem = self._stem(word)
        if stem is not None:
            return (self._rows[stem],), 1.0
        pieces = _LETTERS.findall(word)
        if len(pieces) > 1:  # apt-get, node.js, and/or
            known = [self.of(piece)[0] for piece in pieces if len(piece) >= MIN_PART]
            rows = tuple(row for part in known for row in part)
            return rows, 1.0 / max(len(rows), 1)
        return self._compound(word) or self._prefix(word)

    def _stem(self, word: str) -> str | None:
        for ending, others in _ENDINGS:
            stem = word.removesuffix(ending)
            if stem == word or len(stem) < MIN_PART:
                continue
            stems = [stem + other for other in others]
            if stem[-1] == stem[-2]:  # stopping: stop
                stems.append(stem[:-1])
            for known in stems:
                if known in self._rows:
                    return known
        return None

    def _compound(self, word: str) -> Parts | None:
        """Two known words side by side, as equal in length as can be."""
        middle = len(word) / 2
        cuts = range(MIN_PART, len(word) - MIN_PART + 1)
        for cut in sorted(cuts, key=lambda cut: abs(cut - middle)):
            if word[:cut] in self._rows:
                rest = word[cut:] if word[cut:] in self._rows else self._stem(word[cut:])
                if rest is not None:
                    return (self._rows[word[:cut]], self._rows[rest]), 0.5
        return None

    def _prefix(self, word: str) -> Parts:
        for end in range(len(word) - 1, MIN_PREFIX - 1, -1):
            if word[:end] in self._rows:
                return (self._rows[word[:end]],), PREFIX_WEIGHT
        return (), 0.0


@dataclass(frozen=True, eq=False)
class Starter:
    """A Teacher that needs no torch.

    ``basis`` maps the table's numbers to the teacher's; its rows are orthonormal.
    """

    words: Sequence[str]  # (V,)
    table: np.ndarray  # (V, E), int8
    scales: np.ndarray  # (V,), float32: a word's vector is scale · row
    basis: np.ndarray  # (E, D), float32

    @classmethod
    def load(cls, path: Path = FILE) -> "Starter":
        from safetensors.numpy import load_file

        arrays = load_file(path)
        words = arrays["words"].tobytes().decode().split("\n")
        return cls(words, arrays["table"], arrays["scales"], arrays["basis"].astype(np.float32))

    def save(self, path: Path, about: Mapping[str, str]) -> None:
        """Write one file; ``about`` is its metadata."""
        from safetensors.numpy import save_file

        arrays = {
            "words": np.frombuffer("\n".join(self.words).encode(), dtype=np.uint8),
            "table": self.table,
            "scales": self.scales,
            "basis": self.basis.astype(np.float16),
        }
        # safetensors writes the bytes as they lie, in whatever order
        rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(rows, path, metadata=dict(about))

    @cached_property
    def name(self) -> str:
        """Tells the weights: other weights have another name."""
        digest = hashlib.blake2b("\n".join(self.words).encode(), digest_size=6)
        for array in (self.table, self.scales, self.basis):
            digest.update(np.ascontiguousarray(array).data)
        return f"starter-{digest.hexdigest()}"

    @property
    def dim(self) -> int:
        return int(self.basis.shape[1])

    @property
    def parameters(self) -> int:
        return self.table.size + self.scales.size + self.basis.size

    @cached_property
    def parts(self) -> WordParts:
        return WordParts(self.words)

    def encode(self, texts: Sequence[str], on_progress: "OnProgress | None" = None) -> np.ndarray:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            sums = np.stack([self._sum(tokenise(text)) for text in batch])  # (b, E)
            sums[~sums.any(axis=1), 0] = 1.0  # no known word: where the mean of all texts points
            vectors[start : start + len(batch)] = _unit(sums @ self.basis)
            if on_progress is not None:
                on_progress(start + len(batch), len(texts))
        return vectors

    def word_vectors(self, words: Sequence[str], dim: int | None = None) -> WordVectors:
        """Unit vectors, without weights, of those words that are known or can be composed.

        ``dim`` takes the first of the principal components only.
        """
        known, rows = [], []
        for word in words:
            parts, _ = self.parts.of(word)
            if parts:
                known.append(word)
                rows.append(_unit(self.table[list(parts), :dim].astype(np.float32)).sum(axis=0))
        matrix = np.stack(rows) if rows else np.empty((0, dim or self.table.shape[1]), np.float32)
        return WordVectors(known, _unit(matrix))

    def contributions(self, words: Sequence[str]) -> tuple[list[int], np.ndarray]:
        """What each word adds to the sum of a text (k, D), and the rows of these words.

        Words that are neither known nor composed of known ones are left out.
        """
        rows = [row for row, word in enumerate(words) if self.parts.of(word)[0]]
        sums = [self._sum([words[row]]) for row in rows]
        matrix = np.stack(sums) if sums else np.empty((0, len(self.basis)), np.float32)
        return rows, matrix @ self.basis

    def _sum(self, words: Sequence[str]) -> np.ndarray:
        """Σ weight · vector over the words of a text, (E,)."""
        rows: list[int] = []
        weights: list[float] = []
        for word in words:
            parts, weight = self.parts.of(word)
            rows += parts
            weights += [weight] * len(parts)
        scales = self.scales[rows] * np.array(weights, dtype=np.float32)  # (T,)
        return scales @ self.table[rows].astype(np.float32)


@cache
def load_starter() -> Starter:
    return Starter.load()


def quantise(vectors: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors (V, E) as int8 rows with scales, such that scale · row is weight · unit vector."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    table = np.rint(vectors * (127 / largest)).astype(np.int8)  # (V, E)
    norms = np.linalg.norm(table.astype(np.float32), axis=1)
    return table, (weights / np.maximum(norms, 1e-12)).astype(np.float32)


def _unit(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.maximum(np.linalg.norm(matrix, axis=-1, keepdims=True), 1e-12)
