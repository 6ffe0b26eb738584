"""Scores between tables of vectors in whatever form evaluators bring them."""

from typing import Any

import torch
from torch import Tensor

from askonce.ranker import Ranker


def similarity(ranker: Ranker, queries: Any, candidates: Any) -> Tensor:
    """Score of each query's vector with each candidate's (n, m); one vector alone is a table."""
    return ranker.similarity(_table(queries), _table(candidates))


def similarity_pairwise(ranker: Ranker, queries: Any, candidates: Any) -> Tensor:
    """Score of each query's vector with the candidate's in the same place (n,)."""
    return ranker.similarity_pairwise(_table(queries), _table(candidates))


def _table(vectors: Any) -> Tensor:
    if isinstance(vectors, list):
        vectors = torch.stack([torch.as_tensor(vector) for vector in vectors])
    table = torch.as_tensor(vectors)
    return table.reshape(-1, table.shape[-1])
