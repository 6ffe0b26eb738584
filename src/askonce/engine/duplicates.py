"""Find questions that were asked twice and never marked as duplicates."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from askonce.engine.results import SimilarQuestion
from askonce.index.base import KeyIndex, batches
from askonce.ranking.calibration import SHARED, Calibration, QueryWords, same_title
from askonce.ranking.pipeline import TITLE_BONUS, Search
from askonce.ranking.stages import BM25, VECTORS
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

BATCH = 32  # questions that go through the models at once
VECTOR_BATCH = 512  # questions that are compared by vectors at once
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

    Of two questions that find each other, only the newer one is a duplicate. Where an encoder
    serves, the questions with the nearest vectors are compared, else the best of BM25.
    """
    with engine.searching() as search:
        calibration = search.serving.calibration
        vectors = search.vectors
        if vectors is not None and calibration is not None:
            yield from _by_vectors(engine, search, vectors, calibration, questions, least)
            return
    for batch in batches(questions, BATCH):
        found = engine.similar_many([post.text for post in batch], HITS)
        marked = engine.archive.linked([post.id for post in batch])
        for post, hits in zip(batch, found, strict=True):
            yield _best(_pairs(post, hits, marked.get(post.id, set())), least)


def _best(pairs: list[FoundDuplicate], least: float) -> FoundDuplicate | None:
    best = max(pairs, key=lambda pair: pair.confidence, default=None)
    return best if best is not None and best.confidence >= least else None


def _by_vectors(
    engine: "Engine",
    search: Search,
    vectors: KeyIndex,
    calibration: Calibration,
    questions: Iterable[Post],
    least: float,
) -> Iterator[FoundDuplicate | None]:
    """Products of matrices find the nearest questions; only likely pairs are read in full."""
    for batch in batches(questions, VECTOR_BATCH):
        keys = vectors.coder.query_keys([post.text for post in batch])  # (B, K)
        marked = engine.archive.linked([post.id for post in batch])
        likely = []
        for post, hits in zip(batch, vectors.search_keys(keys, HITS), strict=True):
            excluded = {post.id, *marked.get(post.id, ())}
            scores = {hit.id: {VECTORS: hit.score} for hit in hits if hit.id not in excluded}
            if calibration.slopes.get(BM25):
                for name, bm25 in zip(
                    scores, search.lexical.score(post.text, list(scores)), strict=True
                ):
                    scores[name][BM25] = float(bm25)
            likely.append(
                {n: one for n, one in scores.items() if _limit(calibration, one) >= least}
            )
        others = engine.archive.posts(sorted({n for one in likely for n in one}), html=False)
        for post, scores in zip(batch, likely, strict=True):
            known = {others[name]: one for name, one in scores.items() if name in others}
            yield _best(_likely_pairs(search, calibration, post, known), least)


def _limit(calibration: Calibration, scores: Mapping[str, float]) -> float:
    """The highest probability that these scores allow: with the same words and title."""
    bm25 = TITLE_BONUS * scores.get(BM25, 0.0)
    return calibration.probability({**scores, SHARED: 1.0, BM25: bm25})


def _likely_pairs(
    search: Search, calibration: Calibration, post: Post, others: Mapping[Post, dict[str, float]]
) -> list[FoundDuplicate]:
    """Pairs with the probability that the engine shows for them."""
    if not others:
        return []
    words = QueryWords.of(post.text, search.lexical.terms)
    pairs = []
    for other, scores in others.items():
        if _age(other) <= _age(post):
            bonus = TITLE_BONUS if same_title(post.text, other.title) else 1.0
            scores = {**scores, BM25: bonus * scores.get(BM25, 0.0)}
            probability = words.probability(calibration, other, scores)
            pairs.append(FoundDuplicate(post, other, probability, calibrated=True))
    return pairs


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
