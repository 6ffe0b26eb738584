"""Join ranked lists of several archives into one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

from askonce.engine import SimilarQuestion

AnyHit = TypeVar("AnyHit")
JoinedBy = Literal["probability", "rank"]


def join_similar(
    similar: Mapping[str, Sequence[SimilarQuestion]], k: int
) -> tuple[list[tuple[str, SimilarQuestion]], JoinedBy]:
    """The best questions of all archives with the names of theirs, and how they were compared.

    Calibrated probabilities mean the same in every archive. Scores do not, so without a
    probability for each hit the ranks decide.
    """
    hits = [hit for own in similar.values() for hit in own]
    if any(hit.duplicate_probability is None for hit in hits):
        return join_by_rank(similar, k), "rank"
    return _join(similar, k, lambda hit: -(hit.duplicate_probability or 0.0)), "probability"


def join_by_rank(hits: Mapping[str, Sequence[AnyHit]], k: int) -> list[tuple[str, AnyHit]]:
    """The first of each archive, then the second of each, and so on: the order of reciprocal ranks.

    Archives share no posts, so a sum of reciprocal ranks has one term, which falls with the rank.
    """
    return _join(hits, k, lambda hit: 0.0)


def _join(
    hits: Mapping[str, Sequence[AnyHit]], k: int, key: Callable[[AnyHit], float]
) -> list[tuple[str, AnyHit]]:
    """Pinned hits first, then by the key, then by rank, then in the order of the archives."""
    ranked = [
        (not getattr(hit, "pinned", False), key(hit), rank, order, name, hit)
        for order, (name, own) in enumerate(hits.items())
        for rank, hit in enumerate(own)
    ]
    ranked.sort(key=lambda entry: entry[:4])
    return [(name, hit) for *_, name, hit in ranked[:k]]
