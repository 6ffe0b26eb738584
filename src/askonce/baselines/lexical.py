"""BM25 by tantivy, the engine that also serves, and TF-IDF cosine over word n-grams."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.text.stopwords import STOPWORDS
from askonce.types import Pool

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COLUMNS = 1 << 22  # n-grams share columns by hash: of 2 million a fifth meets another


@BASELINES.add("bm25")
class BM25(Baseline):
    """Okapi BM25 (k1 = 1.2, b = 0.75) over stemmed words of all candidates of the dataset."""

    def fit(self, material: Material) -> None:
        self.index = LexicalIndex.of(material.posts, material.dataset.tokeniser)

    def score(self, pool: Pool) -> np.ndarray:
        return self.index.scores(pool)


class TfIdf(Baseline):
    """Cosine of log-tf · idf vectors over 1-grams up to ``ngrams``-grams."""

    ngrams: int = 1
    stop_words: bool = True  # whether stop words are read

    def fit(self, material: Material) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
        from sklearn.pipeline import make_pipeline

        def words(text: str) -> list[str]:
            return [w for w in material.words(text) if self.stop_words or w not in STOPWORDS]

        counts = HashingVectorizer(
            tokenizer=words,
            token_pattern=None,
            lowercase=False,
            ngram_range=(1, self.ngrams),
            n_features=COLUMNS,
            alternate_sign=False,
            norm=None,
            dtype=np.float32,
        )
        self._vectors = make_pipeline(counts, TfidfTransformer(sublinear_tf=True))
        self._matrix: csr_matrix = self._vectors.fit_transform([p.text for p in material.posts])
        self._row = {post.id: row for row, post in enumerate(material.posts)}
        self._query = np.zeros(COLUMNS, dtype=np.float32)  # sparse times dense is the fast product

    def score(self, pool: Pool) -> np.ndarray:
        query = self._vectors.transform([pool.query.text])
        rows = [self._row[post.id] for post in pool.candidates]
        self._query[query.indices] = query.data
        scores = self._matrix[rows] @ self._query
        self._query[query.indices] = 0
        return np.asarray(scores)


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
    """TF-IDF cosine with the n-grams and stop words that are best on dev."""

    def fit(self, material: Material) -> None:
        """Choose the variant on dev; without a dev split, use single words."""
        dev = material.pools("dev")[:500]  # enough to compare six variants
        self.best: TfIdf = VARIANTS[0]()
        self.best.fit(material)
        best_map = _map(self.best, dev, material) if dev else 1.0
        for variant in VARIANTS[1:] if dev else []:
            candidate = variant()
            candidate.fit(material)
            candidate_map = _map(candidate, dev, material)
            if candidate_map > best_map:
                self.best, best_map = candidate, candidate_map

    def score(self, pool: Pool) -> np.ndarray:
        return self.best.score(pool)


def _map(baseline: Baseline, pools: Sequence[Pool], material: Material) -> float:
    run = pools_to_run(pools, [baseline.score(pool) for pool in pools])
    return evaluate(pools_to_qrels(pools), run, material.dataset.protocol).metrics["MAP"]
