"""A moderator's desk: likely duplicates, likely answers, questions asked again and again."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel

from askonce.archive import Archive
from askonce.archive.desk.decisions import Decision, DecisionKind
from askonce.engine.checked import CHECKED, LEAST
from askonce.engine.hits import excerpt
from askonce.errors import AskonceError
from askonce.types import Link, LinkKind, Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

UNANSWERED = 60  # newest unanswered questions


class DeskPost(BaseModel):
    """A post as a moderator reads it."""

    id: str
    title: str
    text: str
    votes: int | None
    answers: int
    created: str | None

    @classmethod
    def of(cls, post: Post, answers: int = 0) -> "DeskPost":
        return cls(
            id=post.id,
            title=post.title or excerpt(post.body),
            text=post.body,
            votes=post.score,
            answers=answers,
            created=post.created,
        )


class ProposedDuplicate(BaseModel):
    """A question, and the older one that it probably repeats."""

    question: DeskPost
    original: DeskPost
    probability: float
    calibrated: bool


class ProposedAnswer(BaseModel):
    """An unanswered question, and an answer to another one that probably helps."""

    question: DeskPost
    answer: DeskPost
    answered: DeskPost  # the question that it was given to
    probability: float  # that both questions are the same
    calibrated: bool


class AskedAgain(BaseModel):
    """A question with those marked as its duplicates, and those that probably are."""

    original: DeskPost
    duplicates: list[DeskPost]
    likely: list[DeskPost]


def propose_duplicates(engine: "Engine", limit: int, least: float) -> list[ProposedDuplicate]:
    """Likely duplicates among the newest questions, neither linked nor dismissed."""
    pairs = engine.checked.duplicates(limit, least)
    answers = engine.archive.answer_marks([x.id for p in pairs for x in (p.question, p.other)])
    return [
        ProposedDuplicate(
            question=DeskPost.of(pair.question, len(answers.get(pair.question.id, ()))),
            original=DeskPost.of(pair.other, len(answers.get(pair.other.id, ()))),
            probability=pair.confidence,
            calibrated=pair.calibrated,
        )
        for pair in pairs
    ]


def propose_answers(engine: "Engine", limit: int) -> list[ProposedAnswer]:
    """Unanswered questions with a likely answer; those linked with another question are settled."""
    archive = engine.archive
    questions = archive.newest(UNANSWERED, unanswered=True)
    linked = archive.linked([post.id for post in questions])
    questions = [post for post in questions if post.id not in linked]
    likely = [one for one in engine.checked.answers(questions, LEAST) if one is not None]
    return [
        ProposedAnswer(
            question=DeskPost.of(one.pair.question),
            answer=DeskPost.of(one.answer),
            answered=DeskPost.of(one.pair.other),
            probability=one.pair.confidence,
            calibrated=one.pair.calibrated,
        )
        for one in likely[:limit]
    ]


def asked_again(engine: "Engine", limit: int, least: float) -> list[AskedAgain]:
    """The questions that were asked most often: what an FAQ should answer.

    Likely duplicates among the newest questions count too, so that an archive in which nothing is
    marked has an FAQ as well.
    """
    archive = engine.archive
    marked = archive.originals([link.source for link in archive.links("duplicate")])
    pairs = engine.checked.duplicates(CHECKED, least)
    others = archive.originals([pair.other.id for pair in pairs])
    older = {pair.question.id: others[pair.other.id] for pair in pairs}

    def first(name: str) -> str:  # each step leads to an older question, so it ends
        while name in older:
            name = older[name]
        return name

    groups: defaultdict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for name, original in marked.items():
        if name != original:
            groups[first(original)][0].append(name)
    for name in older:
        groups[first(name)][1].append(name)
    largest = sorted(groups.items(), key=lambda item: (-sum(map(len, item[1])), item[0]))[:limit]
    names = {name for head, lists in largest for name in (head, *lists[0], *lists[1])}
    posts = archive.posts(sorted(names), html=False)
    answers = archive.answer_marks(list(posts))
    return [
        AskedAgain(
            original=DeskPost.of(posts[name], len(answers.get(name, ()))),
            duplicates=_posts(posts, answers, duplicates),
            likely=_posts(posts, answers, likely),
        )
        for name, (duplicates, likely) in largest
        if name in posts
    ]


def _posts(
    posts: Mapping[str, Post], answers: Mapping[str, Mapping[str, bool]], names: Sequence[str]
) -> list[DeskPost]:
    return [DeskPost.of(posts[n], len(answers.get(n, ()))) for n in sorted(names) if n in posts]


def decide(engine: "Engine", kind: DecisionKind, source: str, target: str) -> Decision:
    """Carry out a decision and record it; the answers of a merged question move to the target.

    A pair that is marked already can be merged, which then leaves the mark as it was.
    """
    archive = engine.archive
    _need_posts(archive, kind, source, target)
    if kind == "merge":
        answers = archive.answers_to([source]).get(source, [])
        moved = [answer.id for answer in answers]
        parents = [replace(answer, parent=target) for answer in answers]
        linked = engine.write(parents, [Link(source, target)]).links_added > 0
        return archive.decisions.add(kind, source, target, moved, linked)
    if kind != "dismiss" and not engine.write([], [Link(source, target, kind)]).links_added:
        raise AskonceError(f"{source!r} and {target!r} are already linked as {kind}")
    return archive.decisions.add(kind, source, target)


def undo(engine: "Engine", number: int) -> Decision | None:
    """Take a decision back; None if there is none with this number."""
    archive = engine.archive
    decision = archive.decisions.get(number)
    if decision is None:
        return None
    if decision.kind == "merge":
        answers = archive.posts(decision.moved).values()
        here = [a for a in answers if a.parent == decision.target]
        engine.write([replace(answer, parent=decision.source) for answer in here])
    if decision.kind != "dismiss" and decision.linked:
        kind: LinkKind = "related" if decision.kind == "related" else "duplicate"
        engine.remove_links([Link(decision.source, decision.target, kind)])
    archive.decisions.remove(number)
    return decision


def _need_posts(archive: Archive, kind: DecisionKind, source: str, target: str) -> None:
    kinds = archive.kinds([source, target])
    for name in (source, target):
        if name not in kinds:
            raise AskonceError(f"no post {name!r} in this archive")
    if source == target:
        raise AskonceError(f"a decision needs two posts; {source!r} was named twice")
    if kinds[source] != "question" or (kind != "dismiss" and kinds[target] != "question"):
        raise AskonceError(f"{kind!r} needs two questions; {target!r} is an answer")
