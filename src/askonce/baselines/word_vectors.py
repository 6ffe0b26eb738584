"""The bag-of-words baseline of Tan et al.: idf-weighted sum of word vectors, compared by cosine."""

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.types import Pool


@BASELINES.add("word-vectors", "idf-vectors", "bag-of-words")
class IdfWordVectors(Baseline):
    """Cosine between the idf-weighted sums of the word vectors of both texts."""

    def fit(self, material: Material) -> None:
        """Multiply word vectors by idf; words without a vector are ignored."""
        self._words = material.words
        vocabulary, vectors = material.lexicon.vocabulary, material.vectors
        unseen = float(np.log(max(vocabulary.documents, 2)))
        idf = dict(zip(vocabulary.words, vocabulary.idf().tolist(), strict=True))
        weight = np.array([idf.get(word, unseen) for word in vectors.words], dtype=np.float32)
        self._row = {word: row for row, word in enumerate(vectors.words)}
        self._weighted = vectors.matrix * weight[:, None]  # (V, E)
        self._vectors: dict[str, np.ndarray] = {}

    def score(self, pool: Pool) -> np.ndarray:
        query = self._vector(pool.query.text)  # (E,)
        return np.stack([self._candidate(p.id, p.text) for p in pool.candidates]) @ query  # (n,)

    def _candidate(self, post_id: str, text: str) -> np.ndarray:
        if post_id not in self._vectors:
            self._vectors[post_id] = self._vector(text)
        return self._vectors[post_id]

    def _vector(self, text: str) -> np.ndarray:
        rows = [row for word in self._words(text) if (row := self._row.get(word)) is not None]
        total = self._weighted[rows].sum(0)  # (E,)
        return total / (np.linalg.norm(total) + 1e-8)
