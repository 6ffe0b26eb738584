"""TF-IDF cosine over word n-grams, with and without stop words."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.text.stopwords import STOPWORDS
from askonce.types import Pool

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COLUMNS = 1 << 22  # n-grams share columns by hash: at 2 million of them a fifth meets another
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd: spreads consecutive word rows


class TfIdf(Baseline):
    """Cosine of log-tf · idf vectors over 1-grams up to ``ngrams``-grams."""

    ngrams: int = 1
    stop_words: bool = True  # whether stop words are read

    def fit(self, material: Material) -> None:
        """Count the n-grams of every candidate and keep the candidates' vectors."""
        from sklearn.feature_extraction.text import TfidfTransformer  # slow to import

        self._material = material
        words = material.lexicon.vocabulary.words
        self._stop = np.array([word in STOPWORDS for word in words])
        self._weigh = TfidfTransformer(sublinear_tf=True)
        counts = self._counts([post.text for post in material.posts])
        self._matrix: csr_matrix = self._weigh.fit_transform(counts)
        self._row = {post.id: row for row, post in enumerate(material.posts)}
        self._query = np.zeros(COLUMNS, dtype=np.float32)  # sparse times dense is the quick product

    def score(self, pool: Pool) -> np.ndarray:
        """Cosine of the query with each candidate."""
        query = self._weigh.transform(self._counts([pool.query.text]))
        rows = [self._row[post.id] for post in pool.candidates]
        self._query[query.indices] = query.data
        scores = self._matrix[rows] @ self._query
        self._query[query.indices] = 0
        return np.asarray(scores)

    def _counts(self, texts: Sequence[str]) -> "csr_matrix":
        """How often each text has each n-gram (n, COLUMNS)."""
        from scipy.sparse import csr_matrix

        codes = [self._codes(text) for text in texts]
        text = np.repeat(np.arange(len(texts)), [len(c) for c in codes])
        word = np.concatenate(codes).astype(np.uint64) * MIX
        rows, columns = [text], [word]
        gram = word
        for n in range(2, self.ngrams + 1):
            gram = (gram[:-1] ^ (gram[:-1] >> np.uint64(29))) * MIX + word[n - 1 :]
            whole = text[: len(gram)] == text[n - 1 :]  # an n-gram does not run into the next text
            rows.append(text[: len(gram)][whole])
            columns.append(gram[whole])
        place = (np.concatenate(columns) >> np.uint64(64 - 22)).astype(np.int32)
        ones = np.ones(len(place), dtype=np.float32)
        return csr_matrix((ones, (np.concatenate(rows), place)), shape=(len(texts), COLUMNS))

    def _codes(self, text: str) -> np.ndarray:
        codes = self._material.lexicon.vocabulary.encode(self._material.words(text))
        if self.stop_words:
            return codes
        return codes[(codes < 0) | ~self._stop[np.maximum(codes, 0)]]


VARIANTS: list[type[TfIdf]] = [
    type(
        f"TfIdf{n}{'' if stop else 'Content'}",
        (TfIdf,),
        {
            "ngrams": n,
            "stop_words": stop,
            "__doc__": f"TF-IDF cosine of up to {n}-grams, {'with' if stop else 'no'} stop words.",
        },
    )
    for n, stop in product((1, 2, 3), (True, False))
]
for variant in VARIANTS:
    BASELINES.add(f"tfidf-{variant.ngrams}{'' if variant.stop_words else '-content'}")(variant)


@BASELINES.add("tfidf", "tf-idf")
class BestTfIdf(Baseline):
    """TF-IDF cosine with the n-grams and the use of stop words that rank the dev split best."""

    def fit(self, material: Material) -> None:
        """Try all variants on dev; without a dev split, take single words."""
        dev = material.pools("dev")[:500]  # enough to tell six variants apart, also on large splits
        self.best: TfIdf = VARIANTS[0]()
        self.best.fit(material)
        best_map = _map(self.best, dev, material) if dev else 1.0
        for variant in VARIANTS[1:] if dev else []:
            candidate = variant()
            candidate.fit(material)
            reached = _map(candidate, dev, material)
            if reached > best_map:
                self.best, best_map = candidate, reached

    def score(self, pool: Pool) -> np.ndarray:
        """Cosine under the chosen variant."""
        return self.best.score(pool)


def _map(baseline: Baseline, pools: Sequence[Pool], material: Material) -> float:
    run = pools_to_run(pools, [baseline.score(pool) for pool in pools])
    return evaluate(pools_to_qrels(pools), run, material.dataset.protocol).metrics["MAP"]
