"""The contract of baselines: fit on a dataset, then score the candidates of a pool."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from askonce.text.read_vectors import read_vectors
from askonce.text.tokenise import TOKENISERS
from askonce.text.vectors import WordVectors, train_skipgram
from askonce.types import Dataset, Pool, Post

if TYPE_CHECKING:
    from askonce.text.lexicon import Lexicon


@dataclass
class Material:
    """What a baseline may learn from: the dataset, the path of word vectors, and the seed.

    Labels come from the training split only. Word counts come from every candidate text, as in a
    search engine, which has indexed what it is asked for.
    """

    dataset: Dataset
    vectors_path: Path | None = None
    seed: int = 1
    _words: dict[str, list[str]] = field(default_factory=dict, repr=False)

    def words(self, text: str) -> list[str]:
        if text not in self._words:
            self._words[text] = TOKENISERS[self.dataset.tokeniser](text)
        return self._words[text]

    @cached_property
    def posts(self) -> list[Post]:
        return list(self.dataset.posts.values())

    @cached_property
    def lexicon(self) -> "Lexicon":
        from askonce.text.lexicon import Lexicon  # with torch

        return Lexicon.build(self.posts, self.dataset.tokeniser)

    @cached_property
    def vectors(self) -> WordVectors:
        """Word vectors from the file, or trained on the candidates' own text."""
        if self.vectors_path is None:
            texts = [self.words(post.text) for post in self.posts]
            return train_skipgram(texts, min_count=2, seed=self.seed)
        queries = (pool.query for split in self.dataset.splits.values() for pool in split)
        wanted = {word for post in (*self.posts, *queries) for word in self.words(post.text)}
        return read_vectors(self.vectors_path, only=wanted)

    def pools(self, role: Literal["train", "dev"]) -> Sequence[Pool]:
        """The pools to learn from or to select on; empty if the dataset has none."""
        try:
            return self.dataset.role(role)
        except KeyError:
            return ()


class Baseline(ABC):
    constant: ClassVar[bool] = False  # all scores are equal: report the expectation over ties
    seeded: ClassVar[bool] = False  # another seed gives other scores

    @abstractmethod
    def fit(self, material: Material) -> None: ...

    @abstractmethod
    def score(self, pool: Pool) -> np.ndarray:
        """One value per candidate, higher is better."""
