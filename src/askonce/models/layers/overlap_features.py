"""The words that a question shares with each candidate of a pool, for baselines."""

import numpy as np
import torch

from askonce.models.base import EmbeddingInit
from askonce.models.layers.words import Overlap
from askonce.text.batch import Batch, TokenIds
from askonce.text.lexicon import Lexicon
from askonce.types import Pool, Post


class OverlapFeatures:
    """The overlap features of a pool's candidates, by the layer that pair models use."""

    def __init__(self, lexicon: Lexicon, layer: type[Overlap] = Overlap) -> None:
        self._lexicon = lexicon
        size = len(lexicon.vocabulary)
        self._layer = layer(EmbeddingInit.of(lexicon.vocabulary, np.zeros((size, 1), np.float32)))
        self._token_ids: dict[str, TokenIds] = {}

    def __call__(self, pool: Pool) -> np.ndarray:
        candidates = Batch([self._ids(post) for post in pool.candidates]).text
        query = Batch([self._lexicon.numbers(pool.query)]).text
        rows = torch.zeros(len(candidates), dtype=torch.long)
        return self._layer(query.select(rows), candidates).numpy()  # (n, F)

    def _ids(self, post: Post) -> TokenIds:
        if post.id not in self._token_ids:
            self._token_ids[post.id] = self._lexicon.numbers(post)
        return self._token_ids[post.id]
