"""Rankers as Haystack components, each loaded from the folder of a ranker.

Load a saved pipeline with ``allowed_modules=["askonce.adapters.haystack"]``.
"""

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from askonce.errors import ConfigError, needing
from askonce.key_encoders import RankerKeys
from askonce.ranker import Ranker
from askonce.types import Post

with needing("haystack", "a Haystack component"):
    from haystack import Document, component, default_from_dict, default_to_dict


class _OfFolder:
    """A component that loads its ranker on first use."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = str(folder)

    @cached_property
    def _ranker(self) -> Ranker:
        return Ranker.load(self.folder)

    @cached_property
    def _keys(self) -> RankerKeys:
        return RankerKeys(self._ranker)

    def warm_up(self) -> None:
        _ = self._ranker

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, folder=self.folder)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return default_from_dict(cls, data)


@component
class AskonceRanker(_OfFolder):
    """Sort documents by their score for a query."""

    def __init__(self, folder: str | Path, top_k: int | None = None) -> None:
        _OfFolder.__init__(self, folder)  # @component replaces the class, so super() fails
        self.top_k = _checked(top_k)

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, folder=self.folder, top_k=self.top_k)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The ``top_k`` best documents with their scores, best first."""
        limit = self.top_k if top_k is None else _checked(top_k)
        hits = self._ranker.rank(query, [document.content or "" for document in documents], limit)
        return {"documents": [replace(documents[h["corpus_id"]], score=h["score"]) for h in hits]}


@component
class AskonceTextEmbedder(_OfFolder):
    """The vector of a query; inner products with documents' vectors give the ranker's order."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": self._keys.query_keys([text])[0].tolist()}


@component
class AskonceDocumentEmbedder(_OfFolder):
    """The vectors of documents, for a store that compares by inner product."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        posts = [Post(id=document.id, title=document.content or "") for document in documents]
        keys = self._keys.candidate_keys(posts).tolist() if posts else []
        pairs = zip(documents, keys, strict=True)
        return {"documents": [replace(document, embedding=key) for document, key in pairs]}


def _checked(top_k: int | None) -> int | None:
    if top_k is not None and top_k < 1:
        raise ConfigError(f"top_k = {top_k}; ask for at least 1 document")
    return top_k
