"""Dependence models: words, pairs of neighbouring words, and pairs that stand close together.

The sequential dependence model of Metzler & Croft (2005) has fixed weights. The weighted one of
Bendersky, Metzler & Croft (2010), "Metzler-Bendersky" in the tables of Tan et al., learns from the
frequency of a word or pair how much it counts. Counts are exact, over stemmed words of all
candidates.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.baselines.linear import LinearBaseline
from askonce.index.stems import Stems
from askonce.text.stopwords import STOPWORDS
from askonce.types import Pool, Post

WEIGHTS = np.array([0.85, 0.10, 0.05])  # of words, ordered pairs and unordered pairs
WINDOW = 8  # words within which an unordered pair stands: Indri's #uw8
MU = 2500.0  # Dirichlet prior, Indri's default
NONE = np.empty(0, np.int64)


class Positions:
    """Where each term stands in a collection, whose texts follow each other on one line.

    Between two texts is a gap of one window, so that no pair reaches from one into the next.
    """

    def __init__(self, texts: list[list[str]]) -> None:
        rows: dict[str, int] = {}
        terms = (rows.setdefault(term, len(rows)) for text in texts for term in text)
        codes = np.fromiter(terms, np.int64)  # (N,)
        self.lengths = np.array([len(text) for text in texts])  # (D,)
        document = np.repeat(np.arange(len(texts)), self.lengths)  # (N,)
        offsets = np.arange(len(codes)) + document * WINDOW  # (N,)
        self._documents = np.full(len(codes) + len(texts) * WINDOW, -1)  # by offset
        self._documents[offsets] = document
        order = np.argsort(codes, kind="stable")  # (N,)
        counts = np.bincount(codes, minlength=len(rows))
        parts = np.split(offsets[order], counts.cumsum())  # the last one is empty
        self._offsets = dict(zip(rows, parts, strict=False))

    def term(self, term: str) -> np.ndarray:
        """How often each text has the term (D,)."""
        return self._counts(self._at(term))

    def ordered(self, one: str, other: str) -> np.ndarray:
        """How often each text has ``one`` right before ``other`` (D,)."""
        first = self._at(one)
        return self._counts(np.intersect1d(first + 1, self._at(other), assume_unique=True) - 1)

    def unordered(self, one: str, other: str) -> np.ndarray:
        """In how many ways each text has both within a window, in any order (D,)."""
        first, second = self._at(one), self._at(other)
        before = np.searchsorted(second, first - WINDOW + 1, "left")
        if one == other:  # each pair once
            before = np.searchsorted(second, first, "right")
        ways = np.searchsorted(second, first + WINDOW - 1, "right") - before
        return self._counts(np.repeat(first, ways))

    def _at(self, term: str) -> np.ndarray:
        return self._offsets.get(term, NONE)

    def _counts(self, offsets: np.ndarray) -> np.ndarray:
        return np.bincount(self._documents[offsets], minlength=len(self.lengths))


class DependenceFeatures:
    """Sums of smoothed log-likelihoods of a query's words and pairs in each candidate."""

    def __init__(self, material: Material) -> None:
        self._words, self._analyser = material.words, Stems(material.dataset.tokeniser).analyser
        texts = [self._terms(self._words(post.text)) for post in material.posts]
        self._positions = Positions(texts)
        self._row = {post.id: row for row, post in enumerate(material.posts)}

    def __call__(self, pool: Pool) -> np.ndarray:
        """For words, ordered and unordered pairs the sum, and the same with idf (n, 3, 2)."""
        rows = np.array([self._row[post.id] for post in pool.candidates])
        lengths = self._positions.lengths
        features = np.zeros((len(rows), 3, 2))
        for kind, counts in self._concepts(pool.query):
            if not (total := counts.sum()):  # the same for every candidate
                continue
            prior = MU * total / lengths.sum()
            likelihood = np.log((counts[rows] + prior) / (lengths[rows] + MU))  # (n,)
            idf = np.log(len(lengths) / np.count_nonzero(counts))
            features[:, kind] += likelihood[:, None] * [1.0, idf]
        return features

    def _concepts(self, query: Post) -> Iterator[tuple[int, np.ndarray]]:
        """The kind of each word or pair of the query, and its counts (D,)."""
        words = self._words(query.text)
        terms = self._terms([word for word in words if word not in STOPWORDS] or words)
        for term in terms:
            yield 0, self._positions.term(term)
        for pair in pairwise(terms):
            yield 1, self._positions.ordered(*pair)
            yield 2, self._positions.unordered(*pair)

    def _terms(self, words: list[str]) -> list[str]:
        return list(self._analyser.analyze(" ".join(words)))


@BASELINES.add("dependence", "sdm")
class Dependence(Baseline):
    """Sequential dependence model: words, neighbours and near pairs of a query, fixed weights."""

    def fit(self, material: Material) -> None:
        self._features = DependenceFeatures(material)

    def score(self, pool: Pool) -> np.ndarray:
        return self._features(pool)[..., 0] @ WEIGHTS  # (n,)


@BASELINES.add("weighted-dependence", "metzler-bendersky")
class WeightedDependence(LinearBaseline):
    """Weighted dependence model: the weight of a word or pair is learned from its frequency.

    By logistic regression; the authors climb one coordinate of the metric at a time. Their features
    from web text and query logs are left out.
    """

    def features(self, material: Material) -> Callable[[Pool], np.ndarray]:
        of_pool = DependenceFeatures(material)
        return lambda pool: of_pool(pool).reshape(-1, 6)  # (n, 6)

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        return features[:, ::2] @ WEIGHTS
