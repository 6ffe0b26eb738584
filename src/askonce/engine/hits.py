"""Turn a ranking of ids into hits: posts with answers, marks, probability, votes and words."""

from collections.abc import Callable

from askonce.archive import Archive
from askonce.engine.results import RankedAnswer, SimilarQuestion
from askonce.ranking.calibration import QueryWords, content_stems
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import Ranked
from askonce.text.sanitise import safe_html
from askonce.text.tokenise import tokenise

NEAR = 20  # similar questions whose answers become candidates
EXCERPT_CHARS = 240

Stemmer = Callable[[str], list[str]]  # the stem of each token


def similar_hits(
    archive: Archive, search: Search, question: str, ranked: Ranked, k: int
) -> list[SimilarQuestion]:
    """The first k questions of a ranking."""
    ids = ranked.ids[:k]
    posts = archive.posts(ids, html=False)
    answers, originals = archive.answer_marks(ids), archive.duplicates_of(ids)
    stemmer, calibration = search.lexical.terms, search.serving.calibration
    query = QueryWords.of(question, stemmer)
    hits = []
    for rank, post_id in enumerate(ids):
        if post_id not in posts:  # deleted since the search
            continue
        post, stages = posts[post_id], ranked.parts(rank)
        probability = None
        if calibration is not None:
            probability = query.probability(calibration, post, stages)
        accepted_marks = answers.get(post_id, {})
        hits.append(
            SimilarQuestion(
                post=post,
                id=post.id,
                title=post.title,
                excerpt=excerpt(post.body),
                score=float(ranked.scores[rank]),
                duplicate_probability=probability,
                duplicate_of=originals.get(post_id),
                answers=len(accepted_marks),
                accepted=any(accepted_marks.values()),
                votes=post.score,
                tags=post.tags,
                created=post.created,
                stages=stages,
                words=shared_words(post.text, query.stems, stemmer),
            )
        )
    return hits


def lent_scores(archive: Archive, similar: Ranked) -> dict[str, float]:
    """For each answer to a similar question, or to its original, that question's score."""
    ids = similar.ids[:NEAR]
    originals = archive.originals(ids)
    scores: dict[str, float] = {}
    for post_id, score in zip(ids, similar.scores.tolist(), strict=False):
        for question in (post_id, originals[post_id]):
            scores[question] = max(scores.get(question, score), score)
    answers = archive.answer_marks(list(scores))
    return {answer: scores[question] for question, ids in answers.items() for answer in ids}


def answer_hits(
    archive: Archive, search: Search, question: str, ranked: Ranked, k: int, votes: bool
) -> list[RankedAnswer]:
    """The first k answers of a ranking; with ``votes``, after adding the bonus for votes."""
    ids = ranked.ids if votes else ranked.ids[:k]
    posts = archive.posts(ids)
    parents = archive.posts(sorted({p.parent for p in posts.values() if p.parent}), html=False)
    blend = search.serving.blend if votes else None
    candidates = []
    for rank, post_id in enumerate(ids):
        post = posts.get(post_id)
        parent = parents.get(post.parent or "") if post else None
        if post is None or parent is None:  # deleted since the search
            continue
        score, stages = float(ranked.scores[rank]), ranked.parts(rank)
        if blend is not None:
            stages["votes"] = blend.bonus(post.score, post.accepted)
            score += stages["votes"]
        candidates.append((score, stages, post, parent))
    if votes:
        candidates.sort(key=lambda candidate: -candidate[0])
    stemmer = search.lexical.terms
    stems = content_stems(question, stemmer)
    return [
        RankedAnswer(
            post=post,
            question=parent,
            id=post.id,
            question_id=parent.id,
            question_title=parent.title,
            text=post.text,
            html=safe_html(post.html),
            score=score,
            votes=post.score,
            accepted=post.accepted,
            created=post.created,
            stages=stages,
            words=shared_words(post.text, stems, stemmer),
        )
        for score, stages, post, parent in candidates[:k]
    ]


def shared_words(text: str, stems: frozenset[str], stemmer: Stemmer) -> list[str]:
    """The words of a text with one of these stems, each once, in order of appearance."""
    pairs = zip(tokenise(text), stemmer(text), strict=True)
    return list(dict.fromkeys(word for word, stem in pairs if stem in stems))


def excerpt(text: str) -> str:
    """The start of a text on one line, cut between words."""
    line = " ".join(text[: EXCERPT_CHARS * 2].split())
    if len(line) <= EXCERPT_CHARS:
        return line
    return line[:EXCERPT_CHARS].rsplit(" ", 1)[0] + "…"
