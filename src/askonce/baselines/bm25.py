"""BM25 by tantivy, the engine that also serves."""

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.index.lexical import LexicalIndex
from askonce.types import Pool


@BASELINES.add("bm25")
class BM25(Baseline):
    """Okapi BM25 (k1 = 1.2, b = 0.75) over stemmed words of all candidates of the dataset."""

    def fit(self, material: Material) -> None:
        """Index every candidate."""
        self.index = LexicalIndex(tokeniser=material.dataset.tokeniser)
        self.index.add(material.posts)

    def score(self, pool: Pool) -> np.ndarray:
        """BM25 of each candidate; 0 where no word is shared."""
        return self.index.scores(pool)
