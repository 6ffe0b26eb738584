"""Encoders for indexes: texts in, keys out, and a name that identifies the weights."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from askonce.config import as_dict
from askonce.errors import AskonceError
from askonce.index.base import KeyEncoder
from askonce.index.readers import TwoReaders
from askonce.teachers import STARTER, CachedTeacher, Teacher, load_teacher
from askonce.teachers.lexicon import TeacherLexicon
from askonce.teachers.starter import load_starter
from askonce.types import Post

if TYPE_CHECKING:
    from torch import Tensor

    from askonce.models.base import Side
    from askonce.ranker import Ranker


class RankerKeys(KeyEncoder):
    def __init__(self, ranker: "Ranker") -> None:
        self.ranker = ranker
        self._encoder = ranker.encoder
        self.name = f"{ranker.name}-{fingerprint(ranker)}"

    def query_keys(self, texts: Sequence[str]) -> np.ndarray:
        return self._keys(self.ranker.encode_query(list(texts), convert_to_tensor=True), "query")

    def candidate_keys(self, posts: Sequence[Post]) -> np.ndarray:
        vectors = self.ranker.encode_document(list(posts), convert_to_tensor=True)
        return self._keys(vectors, "candidate")

    def _keys(self, vectors: "Tensor", side: "Side") -> np.ndarray:
        import torch

        key = self._encoder.query_key if side == "query" else self._encoder.candidate_key
        with torch.inference_mode():
            return key(vectors).float().cpu().numpy()  # (n, K)


class SentenceKeys(KeyEncoder):
    """The keys of a teacher: a sentence-transformers model by folder or name, or ``"minilm"``.

    ``"starter"`` is the student inside this package; it needs no cache.
    """

    def __init__(self, teacher: str | Path | Teacher) -> None:
        if isinstance(teacher, str | Path):
            teacher = load_starter() if str(teacher) == STARTER else load_teacher(teacher)
        self.teacher = teacher
        self.name = self.teacher.name

    def query_keys(self, texts: Sequence[str]) -> np.ndarray:
        if isinstance(self.teacher, CachedTeacher):
            return self.teacher.encode(texts, keep=False)  # (n, K)
        return self.teacher.encode(texts)

    def candidate_keys(self, posts: Sequence[Post]) -> np.ndarray:
        return self.teacher.encode([post.text for post in posts])  # (n, K)

    def warm(self) -> None:
        if isinstance(self.teacher, CachedTeacher):
            self.teacher.read(["a word"])  # past its cache, which may hold any text


def two_readers(fast: KeyEncoder, slow: KeyEncoder) -> TwoReaders:
    """Two encoders of one space; the slow one must be a teacher or an adapter over one."""
    holder = slow.ranker.lexicon if slow.ranker is not None else slow
    teacher = holder.teacher if isinstance(holder, SentenceKeys | TeacherLexicon) else None
    if not isinstance(teacher, CachedTeacher):
        raise AskonceError(
            f"{slow.name!r} has no teacher, so nothing says what it has read; train again"
        )
    # past its cache, which may hold any text
    return TwoReaders(fast, slow, teacher.known, lambda: teacher.read(["a word"]))


def fingerprint(ranker: "Ranker") -> str:
    lexicon = ranker.lexicon
    inputs = [lexicon.tokeniser, lexicon.max_words, lexicon.vocabulary.words]
    settings = [as_dict(ranker.model.config), *inputs]
    digest = hashlib.blake2b(json.dumps(settings).encode(), digest_size=8)
    for name, tensor in sorted(ranker.model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()
