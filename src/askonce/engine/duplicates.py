"""Find questions that were asked twice and never marked as duplicates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from askonce.archive import Archive
from askonce.engine.options import ResultOptions
from askonce.engine.results import SimilarQuestion
from askonce.index.base import KeyIndex, Terms, batches
from askonce.ranking.calibration import SHARED, Calibration, QueryWords, same_title
from askonce.ranking.pipeline import TITLE_BONUS, Search
from askonce.ranking.stages import BM25, TYPED, VECTORS
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

BATCH = 32  # questions that go through the models at once
VECTOR_BATCH = 512  # questions that are compared by vectors at once
UNFOLDED = ResultOptions(fold=False)
HITS = 10  # of each question; the first is usually the question itself


@dataclass(frozen=True)
class FoundDuplicate:
    """A question, and another one that is probably the same."""

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
    for batch in batches(questions, VECTOR_BATCH):
        for pairs in similar_pairs(engine, batch, least):
            yield best_original(open_pairs(engine.archive, pairs), least)


def best_original(pairs: Iterable[FoundDuplicate], least: float) -> FoundDuplicate | None:
    """The most likely of the older or equally old questions."""
    older = (pair for pair in pairs if age(pair.other) <= age(pair.question))
    best = max(older, key=lambda pair: pair.confidence, default=None)
    return best if best is not None and best.confidence >= least else None


def open_pairs(archive: Archive, pairs: Sequence[FoundDuplicate]) -> list[FoundDuplicate]:
    """Pairs that nobody has linked or dismissed, and that are not duplicates of one question.

    A question that is marked as a duplicate has no open pair: its original stands for it.
    """
    ids = sorted({pair.question.id for pair in pairs})
    if not ids:
        return []
    linked, dismissed = archive.linked(ids), archive.decisions.dismissed_with(ids)
    originals = archive.originals([*{*ids, *(pair.other.id for pair in pairs)}])
    return [
        pair
        for pair in pairs
        if originals[pair.question.id] == pair.question.id != originals[pair.other.id]
        and pair.other.id not in linked.get(pair.question.id, ())
        and pair.other.id not in dismissed.get(pair.question.id, ())
    ]


def similar_pairs(
    engine: "Engine", questions: Sequence[Post], least: float
) -> Iterator[list[FoundDuplicate]]:
    """For each question, others that are the same with a confidence of at least ``least``.

    Where an encoder serves, the questions with the nearest vectors are compared, else the best of
    BM25. A pair model is not asked: its score is no part of the confidence.
    """
    with engine.searching() as search:
        calibration = search.serving.calibration
        vectors = search.vectors
        if calibration is not None and not calibration.applies_to((BM25, VECTORS)):
            calibration = None
        if vectors is not None and calibration is not None:
            yield from _by_vectors(engine, search, vectors, calibration, questions, least)
            return
    for batch in batches(questions, BATCH):
        results = engine.similar_many([post.text for post in batch], HITS, TYPED, UNFOLDED)
        for post, hits in zip(batch, results, strict=True):
            yield [
                FoundDuplicate(post, hit.post, confidence, calibrated)
                for hit, confidence, calibrated in _confidences(post, hits)
                if confidence >= least
            ]


def _by_vectors(
    engine: "Engine",
    search: Search,
    vectors: KeyIndex,
    calibration: Calibration,
    questions: Iterable[Post],
    least: float,
) -> Iterator[list[FoundDuplicate]]:
    """Products of matrices find the nearest questions; only likely pairs are read in full."""
    for batch in batches(questions, VECTOR_BATCH):
        keys = vectors.coder.quick_query_keys([post.text for post in batch])  # (B, K)
        likely = []
        for post, hits in zip(batch, vectors.search_keys(keys, HITS), strict=True):
            scores = {hit.id: {VECTORS: hit.score} for hit in hits if hit.id != post.id}
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
            pairs = _likely_pairs(search.lexical.terms, calibration, post, known)
            yield [pair for pair in pairs if pair.confidence >= least]


def _limit(calibration: Calibration, scores: Mapping[str, float]) -> float:
    """The highest probability that these scores allow: with the same words and title."""
    bm25 = TITLE_BONUS * scores.get(BM25, 0.0)
    return calibration.probability({**scores, SHARED: 1.0, BM25: bm25})


def _likely_pairs(
    terms: Terms,
    calibration: Calibration,
    post: Post,
    others: Mapping[Post, dict[str, float]],
) -> list[FoundDuplicate]:
    """Pairs with the probability that the engine shows for them."""
    if not others:
        return []
    words = QueryWords.of(post.text, terms)
    pairs = []
    for other, scores in others.items():
        bonus = TITLE_BONUS if same_title(post.text, other.title) else 1.0
        scores = {**scores, BM25: bonus * scores.get(BM25, 0.0)}
        probability = words.probability(calibration, other, scores)
        if probability is not None:
            pairs.append(FoundDuplicate(post, other, probability, calibrated=True))
    return pairs


def _confidences(
    post: Post, hits: list[SimilarQuestion]
) -> Iterator[tuple[SimilarQuestion, float, bool]]:
    """Each other question with the confidence that it is the same, and whether that is calibrated.

    Without a calibrated probability it is BM25's score as a share of the question's own.
    """
    # the score of the question itself is the highest that BM25 can give, but for the bonus
    own = next((hit.stages.get("bm25", 0.0) for hit in hits if hit.post.id == post.id), 0.0)
    own /= TITLE_BONUS if post.title else 1.0
    for hit in hits:
        if hit.post.id != post.id:
            share = min(1.0, hit.stages.get("bm25", 0.0) / own) if own > 0 else 0.0
            probability = hit.duplicate_probability
            yield hit, share if probability is None else probability, probability is not None


def age(post: Post) -> tuple[str, str]:
    """Sorts questions by when they were asked."""
    return (post.created or "", post.id)
