"""A teacher without weights: the sum of random vectors of a text's words."""

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from askonce.teachers.teacher import CachedTeacher, TeacherRecord
from askonce.text.tokenise import tokenise


class SmallTeacher:
    """Reads words in any order; equal words give equal vectors in every process."""

    def __init__(self, dim: int = 8, salt: int = 0) -> None:
        self.name, self.dim, self.parameters = f"small-{dim}-{salt}", dim, 0
        self.read: list[str] = []  # every text that it was asked for
        self._salt = salt

    def encode(self, texts: Sequence[str], on_progress=None) -> np.ndarray:
        self.read += texts
        total = np.stack([self._sum(text) for text in texts])
        return total / np.linalg.norm(total, axis=1, keepdims=True)

    def _sum(self, text: str) -> np.ndarray:
        total = np.full(self.dim, 1e-3, np.float32)
        for word in tokenise(text):
            rng = np.random.default_rng([self._salt, zlib.crc32(word.encode())])
            total += rng.standard_normal(self.dim).astype(np.float32)
        return total


def small_teacher(
    folder: Path | None = None, dim: int = 8, salt: int = 0
) -> tuple[CachedTeacher, SmallTeacher]:
    """The teacher behind a cache, by default that of the test run, and the teacher itself."""
    teacher = SmallTeacher(dim, salt)
    record = TeacherRecord("small", teacher.name, dim)
    return CachedTeacher(lambda: teacher, record, folder), teacher
