"""Join the scores of several stages into one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Literal

import numpy as np

from askonce.errors import ConfigError
from askonce.index.base import Hit, Index
from askonce.types import Post

How = Literal["zscore", "reciprocal"]
RANK_CONSTANT = 60  # of reciprocal rank fusion: how slowly the first ranks lose their lead
CHUNK = 5000  # posts that are added to one part after the other


def zscores(values: np.ndarray) -> np.ndarray:
    """Scores as distances from their mean in standard deviations; zeros where all are equal.

    A score that is not finite is missing: it counts as the worst of the others.
    """
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(values))
    have = values[known]
    spread = have.std()
    # equal numbers may have a tiny spread, since their mean is rounded
    if spread <= 1e-12 * np.abs(have).max():
        return np.zeros(len(values))
    return (np.where(known, values, have.min()) - have.mean()) / spread


def fuse(
    scores: Mapping[str, np.ndarray], weights: Mapping[str, float], how: How = "zscore"
) -> np.ndarray:
    """One score per candidate: the weighted sum over stages of z-scores or reciprocal ranks."""
    join = zscores if how == "zscore" else _reciprocal
    return np.sum([weights[name] * join(values) for name, values in scores.items()], axis=0)


def _reciprocal(values: np.ndarray) -> np.ndarray:
    """1 / (60 + rank), equal scores with equal ranks; 0 where the score is missing."""
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    descending = np.sort(-values[known])
    ranks = 1 + np.searchsorted(descending, np.where(known, -values, 0.0), side="left")
    return np.where(known, 1 / (RANK_CONSTANT + ranks), 0.0)


Score = Callable[[Sequence[str]], np.ndarray]  # what an index gives any posts for one query


def gather(
    found: Mapping[str, Sequence[Hit]], score: Mapping[str, Score], also: Iterable[str] = ()
) -> tuple[list[str], dict[str, np.ndarray]]:
    """All that some index found and those in ``also``, with every index's score for all of it.

    The ids are sorted, so that a stable sort by score leaves ties in their order.
    """
    ids = sorted({*also, *(hit.id for hits in found.values() for hit in hits)})
    scores = {}
    for name, hits in found.items():
        known = dict(hits)
        missing = [post_id for post_id in ids if post_id not in known]
        if missing:
            known |= zip(missing, score[name](missing).tolist(), strict=True)
        scores[name] = np.array([known[post_id] for post_id in ids])  # (C,)
    return ids, scores


@dataclass(frozen=True)
class FusedHit:
    """A post that some index found, with the score of every index for it."""

    id: str
    score: float
    parts: dict[str, float]


class FusedIndex:
    """Several indexes of the same posts as one: each gives its best, all score all of them."""

    def __init__(
        self,
        parts: Mapping[str, Index],
        weights: Mapping[str, float],
        how: How = "zscore",
        depth: int = 50,
    ) -> None:
        if not parts or set(parts) != set(weights):
            raise ConfigError(
                f"weights are for {', '.join(sorted(weights)) or 'nothing'}, "
                f"but the indexes are {', '.join(sorted(parts)) or 'none'}; name the same"
            )
        self.parts, self.weights, self.how, self.depth = dict(parts), dict(weights), how, depth

    @property
    def position(self) -> int:
        """The change number up to which every part holds everything."""
        return min(part.position for part in self.parts.values())

    @position.setter
    def position(self, change: int) -> None:
        for part in self.parts.values():
            part.position = change

    def __len__(self) -> int:
        return min(len(part) for part in self.parts.values())

    def add(self, posts: Iterable[Post]) -> None:
        """Make posts findable in every part."""
        stream = iter(posts)
        while chunk := list(islice(stream, CHUNK)):
            for part in self.parts.values():
                part.add(chunk)

    def remove(self, ids: Iterable[str]) -> None:
        """Forget posts in every part; unknown ids are no error."""
        kept = list(ids)
        for part in self.parts.values():
            part.remove(kept)

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The k best of what the parts find, best first; equal scores come in the order of ids."""
        if k < 1:
            return []
        found = self.candidates(text, max(k, self.depth))
        return [Hit(hit.id, hit.score) for hit in found[:k]]

    def candidates(self, text: str, depth: int | None = None) -> list[FusedHit]:
        """The best ``depth`` of each part, together, with the scores of all parts; best first."""
        depth = self.depth if depth is None else depth
        ids, scores = self._gather(text, depth)
        if not ids:
            return []
        fused = fuse(scores, self.weights, self.how)  # (C,)
        order = np.argsort(-fused, kind="stable").tolist()
        return [
            FusedHit(
                ids[row],
                float(fused[row]),
                {name: float(values[row]) for name, values in scores.items()},
            )
            for row in order
        ]

    def score(self, text: str, ids: Sequence[str]) -> np.ndarray:
        """The fused score of each of these posts as a candidate beside those of a search."""
        everything, scores = self._gather(text, self.depth, ids)
        if not everything:
            return np.empty(0)
        fused = fuse(scores, self.weights, self.how)  # (C,)
        place = {post_id: row for row, post_id in enumerate(everything)}
        return fused[[place[post_id] for post_id in ids]]

    def save(self) -> None:
        """Put every part on the disk."""
        for part in self.parts.values():
            part.save()

    def reload(self) -> None:
        """See what another process has saved."""
        for part in self.parts.values():
            part.reload()

    def close(self) -> None:
        """Let another process write."""
        for part in self.parts.values():
            part.close()

    def _gather(
        self, text: str, depth: int, also: Iterable[str] = ()
    ) -> tuple[list[str], dict[str, np.ndarray]]:
        found = {name: part.search(text, depth) for name, part in self.parts.items()}
        score = {name: partial(part.score, text) for name, part in self.parts.items()}
        return gather(found, score, also)
