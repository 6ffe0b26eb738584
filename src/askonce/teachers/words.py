"""Contextual words: a teacher's states of the words of a text, reduced to a few numbers.

A word of ours may be several pieces of the teacher's: its state is their mean. Principal components
of the states of training texts reduce them, so that they can be cached and read like word vectors.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askonce.errors import AskonceError
from askonce.teachers.cache import WordCache, text_key
from askonce.teachers.teacher import CachedTeacher, OnProgress, SentenceTeacher

ROOT_MEAN_SQUARE = 0.5  # of reduced numbers, about that of GloVe vectors

Words = Sequence[str]  # of one text


@dataclass(frozen=True, eq=False)
class Projection:
    """Principal components of word states."""

    mean: np.ndarray  # (D,), float32
    components: np.ndarray  # (D, E), float32

    @classmethod
    def fit(cls, states: np.ndarray, dim: int) -> "Projection":
        """The first ``dim`` components of states (n, D), scaled together, not one by one."""
        if dim > states.shape[1]:
            raise AskonceError(
                f"text.dim = {dim}, but the teacher has {states.shape[1]} numbers per word"
            )
        mean = states.mean(0, dtype=np.float64)  # (D,)
        covariance = np.cov(states, rowvar=False, dtype=np.float64)  # (D, D)
        values, vectors = np.linalg.eigh(covariance)  # ascending
        scale = ROOT_MEAN_SQUARE / np.sqrt(values[-dim:].mean())
        components = vectors[:, ::-1][:, :dim] * scale  # (D, E)
        return cls(mean.astype(np.float32), components.astype(np.float32))

    def __call__(self, states: np.ndarray) -> np.ndarray:
        reduced: np.ndarray = (states - self.mean) @ self.components
        return reduced

    @property
    def dim(self) -> int:
        return self.components.shape[1]

    @cached_property
    def name(self) -> str:
        """Letters that differ for other components."""
        digest = hashlib.blake2b(self.mean.tobytes(), digest_size=6)
        digest.update(self.components.tobytes())
        return digest.hexdigest()


class ContextualWords:
    """Reads words in their context; what it has read stays in the cache."""

    def __init__(self, teacher: CachedTeacher, projection: Projection) -> None:
        self.teacher, self.projection = teacher, projection
        folder = teacher.cache.path.parent
        self._cache = WordCache(f"{teacher.name}-{projection.name}", projection.dim, folder)

    @classmethod
    def fit(cls, teacher: CachedTeacher, texts: Sequence[Words], dim: int) -> "ContextualWords":
        """Fit the projection on the words of these texts."""
        states = [part for part in word_states(teacher, texts) if len(part)]
        if not states:
            raise AskonceError("no training text has a word to fit text.vectors = 'contextual' on")
        return cls(teacher, Projection.fit(np.concatenate(states), dim))

    def read(
        self, texts: Sequence[Words], on_progress: OnProgress | None = None, keep: bool = True
    ) -> list[np.ndarray]:
        """The vectors of each text's words, float16 (T, E).

        Words after the teacher's limit are zero. With ``keep = False``, for users' queries, the
        cache is read but does not grow.
        """
        keys = [text_key(" ".join(words)) for words in texts]
        items = dict(zip(keys, texts, strict=True))
        vectors = self._cache.read(items, len, self._reduced, on_progress, keep)
        return [vectors[key] for key in keys]

    def _reduced(self, texts: Sequence[Words]) -> list[np.ndarray]:
        """The vectors of each text's words (T, E), zero where the teacher has none."""
        states = word_states(self.teacher, texts)
        missing = [len(words) - len(part) for words, part in zip(texts, states, strict=True)]
        reduced = map(self.projection, states)
        return [np.pad(v, ((0, n), (0, 0))) for v, n in zip(reduced, missing, strict=True)]


def word_states(teacher: CachedTeacher, texts: Sequence[Words]) -> list[np.ndarray]:
    """The teacher's states of the words of each text, float32 (T, D)."""
    loaded = teacher.loaded()
    if not isinstance(loaded, SentenceTeacher):
        raise AskonceError(
            f"the teacher {teacher.record.source!r} has no states of words; for contextual words "
            "name a sentence-transformers model such as 'minilm' in text.teacher"
        )
    return loaded.word_states(texts)
