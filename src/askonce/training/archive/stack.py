"""The stages that serve a task, applied to the questions of dev and test as the engine would."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from askonce.ranker import Ranker
from askonce.training.archive.labels import Example
from askonce.training.archive.search import ArchiveSearch, Found, Vectors
from askonce.training.archive.selection import Join
from askonce.types import Post


@dataclass(frozen=True, eq=False)
class Stack:
    """BM25, then vectors and a pair model where they gained."""

    first: Join = field(default_factory=Join)  # of BM25 and vectors
    join: Join = field(default_factory=Join)  # of all stages
    encoder: str | None = None  # as the manifest names it
    vectors: Vectors | None = None
    pair: Ranker | None = None

    def find(self, search: ArchiveSearch, examples: Sequence[Example]) -> list[Found]:
        """What is found for questions, with the scores of all stages."""
        found = search.find(examples, self.vectors)
        return found if self.pair is None else reranked(found, self.first, self.pair)


def reranked(found: Sequence[Found], first: Join, pair: Ranker) -> list[Found]:
    """The best candidates of each question by the first stages, with a pair model's scores."""
    kept = [one.first(first(one)) for one in found]
    pools = [replace(one.pool, query=as_line(one.pool.query)) for one in kept]
    return [
        replace(one, scores={**one.scores, "pair": values.astype(np.float64)})
        for one, values in zip(kept, pair.score_pools(pools), strict=True)
    ]


def as_line(query: Post) -> Post:
    """The question as an engine gets it, one text."""
    return Post(query.id, title=query.text)
