"""Find questions that were asked twice and never marked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from askonce.engine.results import SimilarQuestion
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

TOGETHER = 32  # questions that go through the models at once
LOOKED_AT = 10  # hits of each; the first is most often the question itself


@dataclass(frozen=True)
class FoundDuplicate:
    """A question, and an older or equally old one that asks the same."""

    question: Post
    other: Post
    confidence: float  # the calibrated probability, or without one the share of its own BM25 score
    calibrated: bool


def find_duplicates(
    engine: "Engine", questions: Iterable[Post], least: float
) -> Iterator[FoundDuplicate | None]:
    """For each question the one it most likely repeats; None where there is none to tell of.

    Of two questions that find each other, only the newer one repeats the other.
    """
    rest = iter(questions)
    while some := list(islice(rest, TOGETHER)):
        found = engine.similar_many([post.text for post in some], LOOKED_AT)
        marked = engine.archive.linked([post.id for post in some])
        for post, hits in zip(some, found, strict=True):
            pairs = _pairs(post, hits, marked.get(post.id, set()))
            best = max(pairs, key=lambda pair: pair.confidence, default=None)
            yield best if best is not None and best.confidence >= least else None


def _pairs(post: Post, hits: list[SimilarQuestion], marked: set[str]) -> list[FoundDuplicate]:
    # how well it finds itself is the most that BM25 can give
    own = next((hit.stages.get("bm25", 0.0) for hit in hits if hit.post.id == post.id), 0.0)
    pairs = []
    for hit in hits:
        if hit.post.id == post.id or hit.post.id in marked or _age(hit.post) > _age(post):
            continue
        known = hit.duplicate_probability
        share = min(1.0, hit.stages.get("bm25", 0.0) / own) if own > 0 else 0.0
        pairs.append(
            FoundDuplicate(post, hit.post, share if known is None else known, known is not None)
        )
    return pairs


def _age(post: Post) -> tuple[str, str]:
    return (post.created or "", post.id)
