"""Turn a ranking of ids into hits: posts with answers, marks, probability, votes and words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from askonce.archive.cache import PostCache
from askonce.engine.options import SORTED, ResultOptions
from askonce.engine.results import FoldedQuestion, RankedAnswer, SimilarQuestion
from askonce.index.base import Terms
from askonce.ranking.calibration import QueryWords, content_stems, same_title
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import Ranked
from askonce.text.cache import TextCache
from askonce.text.sanitise import safe_html
from askonce.types import Origin, Post

T = TypeVar("T")
SPARE = 10  # ranks beyond those shown, for results that were deleted meanwhile
NEAR = 20  # similar questions whose answers become candidates
EXCERPT_CHARS = 240
HTML_CHARACTERS = 16_000_000  # of answers whose sanitised HTML is known

shown_html = TextCache(safe_html, HTML_CHARACTERS)


def read_questions(cache: PostCache, ranked: Sequence[Ranked], best: int) -> None:
    """Read what the hits of several questions need, with one query of each kind for all of them.

    ``best`` is the number of questions of each ranking that are read with their text.
    """
    originals = cache.originals(_all_ids(ranked))
    heads = {name for one in ranked for name in one.ids[:best]}
    shown = sorted(heads | {originals[name] for name in heads})
    cache.posts(shown)
    cache.answer_marks(shown)


def read_answers(cache: PostCache, ranked: Sequence[Ranked]) -> None:
    """The same for rankings of answers: the answers, their questions and the originals of these."""
    answers = cache.posts(_all_ids(ranked)).values()
    questions = sorted({answer.parent for answer in answers if answer.parent})
    cache.posts([*{*questions, *cache.originals(questions).values()}])


def _all_ids(ranked: Sequence[Ranked]) -> list[str]:
    return sorted({name for one in ranked for name in one.ids})


def similar_hits(
    cache: PostCache,
    search: Search,
    question: str,
    ranked: Ranked,
    k: int,
    options: ResultOptions,
    pinned: Sequence[str] = (),
) -> list[SimilarQuestion]:
    """The k questions of a ranking that the options select.

    Duplicates are folded into their original: the best of them gives its rank and probability.
    ``pinned`` are shown first, as the same question.
    """
    ranked = ranked.led_by(pinned)
    last = options.offset + k
    ids = ranked.ids if options.fold or options.selects else ranked.ids[: last + SPARE]
    originals = cache.originals(ids) if options.fold else dict(zip(ids, ids, strict=True))
    groups: dict[str, list[int]] = {}  # the ranks of an original and its duplicates
    for rank, post_id in enumerate(ids):
        groups.setdefault(originals[post_id], []).append(rank)
    shown = list(groups) if options.selects else list(groups)[:last]
    members = {ids[rank] for name in shown for rank in groups[name]}
    posts = cache.posts([*{*shown, *members}])
    answers = cache.answer_marks([*{*shown, *members}])
    entries = []
    for name in shown:
        ranks = [rank for rank in groups[name] if ids[rank] in posts]  # others were deleted
        if name not in posts and ranks:
            name = ids[ranks[0]]
        group = (name, *(ids[rank] for rank in ranks))  # the question and its duplicates
        marks = {id_: mark for one in group for id_, mark in answers.get(one, {}).items()}
        if ranks and options.allows(posts[name], posts[name], marks):
            entries.append((posts[name], ranks, marks))
    entries = _in_order(entries, options, lambda entry: entry[0])[options.offset : last]
    marked = cache.duplicates_of([post.id for post, _, _ in entries])
    titles = cache.posts(sorted(set(marked.values())))
    terms, calibration = search.lexical.terms, search.serving.calibration
    query = QueryWords.of(question, terms)
    hits = []
    for post, ranks, marks in entries:
        best = posts[ids[ranks[0]]]
        probability = None
        if calibration is not None:
            each = (
                query.probability(calibration, posts[ids[rank]], ranked.parts(rank))
                for rank in ranks
            )
            probability = max((one for one in each if one is not None), default=None)
        original = marked.get(post.id)
        hits.append(
            SimilarQuestion(
                post=post,
                id=post.id,
                title=post.title,
                excerpt=excerpt(post.body),
                score=float(ranked.scores[ranks[0]]),
                duplicate_probability=probability,
                claimed=best.id in pinned
                or _claimed(probability, search.serving.floor, question, [post, best]),
                close=best.id in pinned
                or probability is None
                or probability >= search.serving.close,
                duplicate_of=original,
                duplicate_of_title=titles[original].title if original in titles else None,
                matched=best.id,
                pinned=best.id in pinned,
                folded=[_title(posts[ids[rank]]) for rank in ranks if ids[rank] != post.id],
                answers=len(marks),
                accepted=any(marks.values()),
                votes=post.score,
                tags=post.tags,
                created=post.created,
                stages=ranked.parts(ranks[0]),
                words=shared_words([post.text, best.title], query.stems, terms),
                **post.source,
            )
        )
    return hits


def _claimed(probability: float | None, floor: float, question: str, posts: Sequence[Post]) -> bool:
    """Whether a post is said to be the same question: probable enough, or the same title."""
    if probability is None:
        return False
    return probability >= floor or any(same_title(question, post.title) for post in posts)


def _title(post: Post) -> FoldedQuestion:
    return FoldedQuestion(id=post.id, title=post.title or excerpt(post.body))


def _in_order(items: list[T], options: ResultOptions, post_of: Callable[[T], Post]) -> list[T]:
    """The most relevant results by date or votes, the others after them."""
    if options.sort == "relevance":
        return items
    head, tail = items[:SORTED], items[SORTED:]
    if options.sort == "newest":
        return sorted(head, key=lambda item: post_of(item).created or "", reverse=True) + tail
    return sorted(head, key=lambda item: -(post_of(item).score or 0)) + tail


def lent_scores(cache: PostCache, similar: Ranked) -> dict[str, float]:
    """For each answer to a similar question, or to its original, that question's score."""
    ids = similar.ids[:NEAR]
    originals = cache.originals(ids)
    scores: dict[str, float] = {}
    for post_id, score in zip(ids, similar.scores.tolist(), strict=False):
        for question in (post_id, originals[post_id]):
            scores[question] = max(scores.get(question, score), score)
    answers = cache.answer_marks(list(scores))
    return {answer: scores[question] for question, ids in answers.items() for answer in ids}


@dataclass(frozen=True)
class _Candidate:
    post: Post
    question: Post
    thread: str  # the original of its question
    rank: int  # by relevance alone
    score: float
    bonus: float | None  # of its votes

    @property
    def rejected(self) -> bool:
        """Whether readers voted against it, and the asker did not accept it."""
        return (self.post.score or 0) < 0 and not self.post.accepted


def answer_hits(
    cache: PostCache,
    search: Search,
    question: str,
    ranked: Ranked,
    k: int,
    votes: bool,
    options: ResultOptions,
) -> list[RankedAnswer]:
    """The k answers of a ranking that the options select, those of one thread together.

    With ``votes``, upvoted and accepted answers come first, and those with more votes against them
    than for them come after all others.
    """
    last = options.offset + k
    ids = ranked.ids if votes or options.fold or options.selects else ranked.ids[: last + SPARE]
    candidates = _answer_candidates(cache, search, ranked, ids, votes, options)
    if votes:
        candidates.sort(key=lambda candidate: (candidate.rejected, -candidate.score))
    if options.fold:
        candidates = _by_thread(candidates, votes, search.serving.blend is not None)
    chosen = _in_order(candidates, options, lambda candidate: candidate.post)[options.offset : last]
    titles = cache.posts(sorted({candidate.thread for candidate in chosen}))
    terms = search.lexical.terms
    stems = content_stems(question, terms)
    return [
        RankedAnswer(
            post=one.post,
            question=one.question,
            id=one.post.id,
            question_id=one.question.id,
            question_title=one.question.title,
            thread=one.thread,
            thread_title=titles.get(one.thread, one.question).title,
            text=one.post.text,
            html=shown_html(one.post.html),
            score=one.score,
            votes=one.post.score,
            accepted=one.post.accepted,
            created=one.post.created,
            stages=_stages(ranked, one),
            words=shared_words([one.post.text], stems, terms),
            **_source(one.post, one.question),
        )
        for one in chosen
    ]


def _answer_candidates(
    cache: PostCache,
    search: Search,
    ranked: Ranked,
    ids: Sequence[str],
    votes: bool,
    options: ResultOptions,
) -> list[_Candidate]:
    posts = cache.posts(ids)
    questions = sorted({p.parent for p in posts.values() if p.parent})
    parents = cache.posts(questions)
    originals = cache.originals(questions)
    blend = search.serving.blend if votes else None
    candidates = []
    for rank, post_id in enumerate(ids):
        post = posts.get(post_id)
        parent = parents.get(post.parent or "") if post else None
        if post is None or parent is None:  # deleted since the search
            continue
        if not options.allows(post, parent, {post_id: True}):
            continue
        bonus = blend.bonus(post.score, post.accepted) if blend is not None else None
        score = float(ranked.scores[rank]) + (bonus or 0.0)
        candidates.append(_Candidate(post, parent, originals[parent.id], rank, score, bonus))
    return candidates


def _stages(ranked: Ranked, candidate: _Candidate) -> dict[str, float]:
    votes = {} if candidate.bonus is None else {"votes": candidate.bonus}
    return ranked.parts(candidate.rank) | votes


def _by_thread(candidates: Sequence[_Candidate], votes: bool, fitted: bool) -> list[_Candidate]:
    """The answers of one thread together, where the best of them stands.

    With votes whose weight is not fitted, a thread's accepted answer is its first, then most votes.
    """
    threads: dict[tuple[bool, str], list[_Candidate]] = {}
    for candidate in candidates:  # rejected answers stay behind all others
        threads.setdefault((votes and candidate.rejected, candidate.thread), []).append(candidate)
    if votes and not fitted:
        for answers in threads.values():
            answers.sort(key=lambda one: (not one.post.accepted, -(one.post.score or 0)))
    return [candidate for answers in threads.values() for candidate in answers]


def _source(answer: Post, question: Post) -> Origin:
    """Where an answer was published; without an address of its own, that of its thread."""
    source = answer.source
    source["url"] = answer.url or question.url
    return source


def shared_words(texts: Sequence[str], stems: frozenset[str], terms: Terms) -> list[str]:
    """The words of texts with one of these stems, each once, in order of appearance."""
    words = [word for text in texts for word, stem in terms.pairs(text) if stem in stems]
    return list(dict.fromkeys(words))


def excerpt(text: str) -> str:
    """The start of a text on one line, cut between words."""
    line = " ".join(text[: EXCERPT_CHARS * 2].split())
    if len(line) <= EXCERPT_CHARS:
        return line
    return line[:EXCERPT_CHARS].rsplit(" ", 1)[0] + "…"
