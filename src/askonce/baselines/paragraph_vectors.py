"""Paragraph vectors (Le & Mikolov, 2014), alone and with Yu's counts: PV and PV+Cnt of WikiQA."""

from collections.abc import Callable

import numpy as np

from askonce.baselines import BASELINES
from askonce.baselines.base import Baseline, Material
from askonce.baselines.linear import LinearBaseline
from askonce.types import Pool

DIM, EPOCHS = 100, 20


@BASELINES.add("paragraph-vectors", "pv")
class ParagraphVectors(Baseline):
    """Cosine of paragraph vectors, trained on all texts of the dataset without their labels."""

    seeded = True

    def fit(self, material: Material) -> None:
        """Train a vector for each candidate and each question.

        The distributed bag of words with skip-gram words, since the averaging model is weaker on
        short texts. Questions are read too: gensim infers the vector of a new text from Python's
        hash of it, which differs from process to process.
        """
        from gensim.models.doc2vec import Doc2Vec, TaggedDocument  # slow to import

        self._words, self._seed = material.words, material.seed
        queries = (pool.query for split in material.dataset.splits.values() for pool in split)
        texts = list(dict.fromkeys(post.text for post in (*material.posts, *queries)))
        self._row = {text: row for row, text in enumerate(texts)}
        documents = [TaggedDocument(self._words(text), [row]) for row, text in enumerate(texts)]
        self._model: Doc2Vec = Doc2Vec(
            documents,
            vector_size=DIM,
            epochs=EPOCHS,
            dm=0,
            dbow_words=1,
            min_count=1,
            seed=material.seed,
            workers=1,
        )

    def score(self, pool: Pool) -> np.ndarray:
        query = self._vector(pool.query.text)  # (E,)
        return np.stack([self._vector(post.text) for post in pool.candidates]) @ query  # (n,)

    def _vector(self, text: str) -> np.ndarray:
        row = self._row.get(text)
        if row is None:
            self._model.random.seed(self._seed)
        vector = self._model.infer_vector(self._words(text)) if row is None else self._model.dv[row]
        return np.asarray(vector / (np.linalg.norm(vector) + 1e-8))


@BASELINES.add("paragraph-vectors-counts", "pv-cnt")
class ParagraphVectorsCounts(LinearBaseline):
    """Logistic regression over the paragraph-vector cosine and counts of shared content words."""

    def features(self, material: Material) -> Callable[[Pool], np.ndarray]:
        from askonce.models.layers.overlap_features import OverlapFeatures
        from askonce.models.layers.words import SharedCounts

        vectors = ParagraphVectors()
        vectors.fit(material)
        counts = OverlapFeatures(material.lexicon, SharedCounts)
        return lambda pool: np.column_stack([vectors.score(pool), counts(pool)])  # (n, 3)

    @staticmethod
    def untrained(features: np.ndarray) -> np.ndarray:
        """Without labels: the shared content words, weighted by idf."""
        return features[:, 2]
