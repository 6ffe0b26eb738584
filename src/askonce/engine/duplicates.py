"""Find questions that were asked twice and never marked as duplicates."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from askonce.engine.results import SimilarQuestion
from askonce.ranking.pipeline import TITLE_BONUS
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

BATCH = 32  # questions that go through the models at once
HITS = 10  # of each question; the first is usually the question itself


@dataclass(frozen=True)
class FoundDuplicate:
    """A question, and an older or equally old one that is probably the same."""

    question: Post
    other: Post
    confidence: float  # the calibrated probability, else the share of its own BM25 score
    calibrated: bool


def find_duplicates(
    engine: "Engine", questions: Iterable[Post], least: float
) -> Iterator[FoundDuplicate | None]:
    """For each question its most likely duplicate; None if no confidence reaches ``least``.

    Of two questions that find each other, only the newer one is a duplicate.
    """
    rest = iter(questions)
    while batch := list(islice(rest, BATCH)):
        found = engine.similar_many([post.text for post in batch], HITS)
        marked = engine.archive.linked([post.id for post in batch])
        for post, hits in zip(batch, found, strict=True):
            pairs = _pairs(post, hits, marked.get(post.id, set()))
            best = max(pairs, key=lambda pair: pair.confidence, default=None)
            yield best if best is not None and best.confidence >= least else None


def _pairs(post: Post, hits: list[SimilarQuestion], marked: set[str]) -> list[FoundDuplicate]:
    # the score of the question itself is the highest that BM25 can give, but for the bonus
    own = next((hit.stages.get("bm25", 0.0) for hit in hits if hit.post.id == post.id), 0.0)
    own /= TITLE_BONUS if post.title else 1.0
    pairs = []
    for hit in hits:
        if hit.post.id == post.id or hit.post.id in marked or _age(hit.post) > _age(post):
            continue
        probability = hit.duplicate_probability
        share = min(1.0, hit.stages.get("bm25", 0.0) / own) if own > 0 else 0.0
        confidence = share if probability is None else probability
        pairs.append(FoundDuplicate(post, hit.post, confidence, probability is not None))
    return pairs


def _age(post: Post) -> tuple[str, str]:
    return (post.created or "", post.id)
