"""From ranked ids to what people see: posts, marks, shared words, probabilities, votes."""

from collections.abc import Iterator
from dataclasses import replace

from askonce.archive import Archive
from askonce.engine.results import RankedAnswer, SimilarQuestion
from askonce.engine.words import shared_words
from askonce.ranking.calibration import content_stems, jaccard
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import Ranked
from askonce.types import Post

NEAR = 20  # similar questions whose answers are looked at


def similar_hits(
    archive: Archive, search: Search, question: str, ranked: Ranked, k: int
) -> list[SimilarQuestion]:
    """The first k questions of a ranking."""
    ids = ranked.ids[:k]
    posts = archive.posts(ids, html=False)
    answers, marks = archive.answer_marks(ids), archive.duplicates_of(ids)
    terms = search.lexical.terms
    wanted = content_stems(question, terms)
    hits = []
    for place, name in enumerate(ids):
        if name not in posts:  # deleted a moment ago
            continue
        post, stages, given = posts[name], ranked.parts(place), answers.get(name, {})
        hit = SimilarQuestion(
            post,
            float(ranked.scores[place]),
            stages,
            shared_words(post.text, wanted, terms),
            marks.get(name),
            len(given),
            any(given.values()),
            _probability(search, wanted, post, stages),
        )
        hits.append(hit)
    return hits


def _probability(
    search: Search, wanted: frozenset[str], post: Post, stages: dict[str, float]
) -> float | None:
    calibration = search.serving.calibration
    if calibration is None:
        return None
    own = content_stems(post.text, search.lexical.terms)
    return calibration.probability(stages | {"shared": jaccard(wanted, own)})


def lent_scores(archive: Archive, near: Ranked) -> dict[str, float]:
    """What similar questions lend to their answers, and to those of the question they duplicate."""
    names = near.ids[:NEAR]
    originals = archive.originals(names)
    lent: dict[str, float] = {}
    for name, score in zip(names, near.scores.tolist(), strict=False):
        for asked in (name, originals[name]):
            lent[asked] = max(lent.get(asked, score), score)
    given = archive.answer_marks(list(lent))
    return {answer: lent[question] for question, ids in given.items() for answer in ids}


def answer_hits(
    archive: Archive, search: Search, question: str, ranked: Ranked, k: int, votes: bool
) -> list[RankedAnswer]:
    """The first k answers of a ranking; with ``votes``, of one that the crowd had a say in."""
    hits = list(_answers(archive, ranked, len(ranked.ids) if votes else k))
    if votes:
        hits = sorted((_with_votes(search, hit) for hit in hits), key=lambda hit: -hit.score)
    terms = search.lexical.terms
    wanted = content_stems(question, terms)
    return [replace(h, words=shared_words(h.post.text, wanted, terms)) for h in hits[:k]]


def _answers(archive: Archive, ranked: Ranked, reach: int) -> Iterator[RankedAnswer]:
    posts = archive.posts(ranked.ids[:reach])
    questions = archive.posts(sorted({p.parent for p in posts.values() if p.parent}), html=False)
    for place, name in enumerate(ranked.ids[:reach]):
        post = posts.get(name)
        asked = questions.get(post.parent or "") if post else None
        if post is not None and asked is not None:
            score = float(ranked.scores[place])
            yield RankedAnswer(post, asked, score, ranked.parts(place), ())


def _with_votes(search: Search, hit: RankedAnswer) -> RankedAnswer:
    blend = search.serving.blend
    if blend is None:
        return hit
    bonus = blend.bonus(hit.post.score, hit.post.accepted)
    return replace(hit, score=hit.score + bonus, stages={**hit.stages, "votes": bonus})
