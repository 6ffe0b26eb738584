"""What adapters share: loading a ranker, and scores between tables of vectors."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from askonce.ranker import Ranker

RankerOrFolder = Ranker | Path | str


def as_ranker(ranker: RankerOrFolder) -> Ranker:
    """The ranker itself, or the one saved in a folder."""
    return ranker if isinstance(ranker, Ranker) else Ranker.load(ranker)


class RankerSimilarity(ABC):
    """The similarity of a ranker, for vectors in any form that evaluators pass."""

    @property
    @abstractmethod
    def ranker(self) -> Ranker: ...

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Score of every query vector with every candidate vector (n, m)."""
        return self.ranker.similarity(_table(embeddings1), _table(embeddings2))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Score of each query vector with the candidate vector in the same row (n,)."""
        return self.ranker.similarity_pairwise(_table(embeddings1), _table(embeddings2))


def _table(vectors: Any) -> Tensor:
    if isinstance(vectors, list):
        vectors = torch.stack([torch.as_tensor(vector) for vector in vectors])
    table = torch.as_tensor(vectors)
    return table.reshape(-1, table.shape[-1])  # one vector alone is a table of one row
