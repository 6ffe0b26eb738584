"""Labels from an archive's own marks, votes and titles, with label leaks removed from its text."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from askonce.archive import Snapshot
from askonce.archive.desk.feedback import WeightedLabel
from askonce.data.benchmarks.pools import stable_hash
from askonce.errors import AskonceError
from askonce.text.leaks import strip_leaks
from askonce.training.archive.tasks.splits import Clusters, find_clusters
from askonce.types import Post, PostKind

QUOTED_WORDS = 4  # a title of at least this many words inside another question is a quotation
FEEDBACK_WEIGHT = (
    0.5  # of a label from visitors with full agreement, beside 1 for a marked duplicate
)


@dataclass(frozen=True)
class LabelledQuery:
    """A question with the posts that are known to be right and wrong for it."""

    query: Post
    right: tuple[Post, ...]
    wrong: tuple[Post, ...] = ()
    unjudged: frozenset[str] = frozenset()  # ids that may be right as well: never candidates
    weight: float = 1.0  # of its loss in training
    # the question of the archive whose split it belongs to; None for the query itself
    anchor: str | None = None

    @property
    def split_id(self) -> str:
        """The question of the archive that decides about the split."""
        return self.anchor or self.query.id

    @cached_property
    def right_ids(self) -> frozenset[str]:
        return frozenset(post.id for post in self.right)


@dataclass(frozen=True)
class ArchiveLabels:
    """An archive without label leaks and empty posts, and the labels that its marks give."""

    archive: Snapshot
    clusters: Clusters
    members: Mapping[int, Sequence[str]]  # of each cluster
    related: defaultdict[str, set[str]]  # questions linked with each, as duplicates or otherwise
    bodies: Mapping[str, Post]  # the body of each question as a post of its own

    @classmethod
    def of(cls, archive: Snapshot) -> "ArchiveLabels":
        """Remove label leaks and gather the marks; an error for less than two questions."""
        if len(archive.questions) < 2:
            count = "one question" if archive.questions else "no question"
            raise AskonceError(
                f"archive {archive.name!r} holds {count}; training compares questions, so add more"
            )
        clusters = find_clusters(archive)
        archive = _without_leaks(archive)
        members: defaultdict[int, list[str]] = defaultdict(list)
        for name in archive.questions:
            members[clusters[name]].append(name)
        related: defaultdict[str, set[str]] = defaultdict(set)
        for link in archive.links:
            related[link.source].add(link.target)
            related[link.target].add(link.source)
        bodies = {
            name: Post(f"{name}:body", body=post.body, tags=post.tags, created=post.created)
            for name, post in archive.questions.items()
            if post.body
        }
        return cls(archive, clusters, members, related, bodies)

    def duplicates(self) -> list[LabelledQuery]:
        """Each question of a cluster of duplicates, with the others of the cluster as right."""
        questions = self.archive.questions
        # what a moderator said is not the same as each, in either direction
        dismissed: defaultdict[str, set[str]] = defaultdict(set)
        for label in self.archive.weighted_labels:
            if label.source is not None and not label.right:
                dismissed[label.source].add(label.post)
                dismissed[label.post].add(label.source)
        queries = []
        for names in self.members.values():
            for name in names if len(names) > 1 else ():
                wrong = dismissed[name].difference(names)
                right = tuple(questions[other] for other in names if other != name)
                unjudged = frozenset(self._kin(name).difference(names, wrong) | {name})
                wrong_posts = tuple(questions[other] for other in sorted(wrong))
                queries.append(LabelledQuery(questions[name], right, wrong_posts, unjudged))
        return queries

    def asked(self) -> list[LabelledQuery]:
        """Each question as a new one: right are those that it was marked a duplicate of.

        A question that only later ones were marked a duplicate of had none to find: left out.
        """
        marked = [x for x in self.duplicates() if self.archive.duplicate_of(x.query.id)]
        single = (names[0] for names in self.members.values() if len(names) == 1)
        unmarked = [
            LabelledQuery(self.archive.questions[name], (), unjudged=frozenset(self._kin(name)))
            for name in single
        ]
        return marked + unmarked + self.visited("question")

    def titles(self) -> list[LabelledQuery]:
        return [
            LabelledQuery(
                replace(self.archive.questions[name], body=""),
                (body,),
                unjudged=frozenset(f"{other}:body" for other in self._kin(name) - {name}),
            )
            for name, body in self.bodies.items()
            if self.archive.questions[name].title
        ]

    def answered(self) -> list[LabelledQuery]:
        """Each question that has a clearly right answer."""
        queries = []
        for name, question in self.archive.questions.items():
            answers = self.archive.answers_to(name)
            if right := _right_answers(answers):
                wrong = tuple(answer for answer in answers if _clearly_lower(answer, right))
                judged = {answer.id for answer in (*right, *wrong)}
                kin = (a.id for other in self._kin(name) for a in self.archive.answers_to(other))
                queries.append(LabelledQuery(question, right, wrong, frozenset(kin) - judged))
        return queries

    def visited(self, kind: PostKind) -> list[LabelledQuery]:
        """The questions of visitors, with the posts of this kind that they marked.

        Each belongs to the split of the post with the strongest mark, so that a question is not
        learnt from one and tested on another of its duplicates; right posts of other clusters are
        left out. A question whose marks are all against posts has no right one.
        """
        by_question: defaultdict[str, list[WeightedLabel]] = defaultdict(list)
        for label in self.archive.weighted_labels:
            if (label.post in self.archive.questions) == (kind == "question"):
                by_question[label.question].append(label)
        return [self._visit(text, labels) for text, labels in by_question.items()]

    def _visit(self, text: str, labels: Sequence[WeightedLabel]) -> LabelledQuery:
        questions, answers = self.archive.questions, self.archive.answers
        judged = [(questions.get(x.post) or answers[x.post], x) for x in labels]
        strongest, label = max(judged, key=lambda pair: (pair[1].right, pair[1].weight))
        anchor = strongest.parent or strongest.id
        same = set(self.members[self.clusters[anchor]])
        right = [post for post, x in judged if x.right and (post.parent or post.id) in same]
        wrong = [post for post, x in judged if not x.right]
        kin = self._kin(anchor) if right else set()
        kin |= {answer.id for name in kin for answer in self.archive.answers_to(name)}
        kin |= {post.id for post, x in judged if x.right}
        return LabelledQuery(
            Post(f"feedback:{stable_hash(text)}", text),
            tuple(right),
            tuple(wrong),
            frozenset(kin.difference(post.id for post in (*right, *wrong))),
            weight=label.weight * FEEDBACK_WEIGHT,
            anchor=anchor,
        )

    def _kin(self, name: str) -> set[str]:
        """The question itself and all linked ones, whose posts may be right for it as well."""
        return {*self.members[self.clusters[name]], *self.related[name]}


def _right_answers(answers: Sequence[Post]) -> tuple[Post, ...]:
    accepted = tuple(answer for answer in answers if answer.accepted)
    if accepted:
        return accepted
    votes = [answer.score or 0 for answer in answers]  # most first
    clear = votes and votes[0] >= 2 and (len(votes) == 1 or votes[0] > votes[1])
    return (answers[0],) if clear else ()


def _clearly_lower(answer: Post, right: Sequence[Post]) -> bool:
    """At most half of the votes of each right answer, and two fewer; unknown votes are not lower.

    A copy of a right answer is as right, however few votes it has.
    """
    votes = [post.score for post in right]
    if answer.text in {post.text for post in right} or answer.score is None or None in votes:
        return False
    least = min(vote for vote in votes if vote is not None)
    return 2 * answer.score <= least and answer.score <= least - 2


def _without_leaks(archive: Snapshot) -> Snapshot:
    """The archive with label leaks removed, and without posts that are then empty."""
    questions = _stripped(archive.questions.values())
    for link in archive.links:
        if link.kind == "duplicate" and {link.source, link.target} <= questions.keys():
            for name, other in ((link.source, link.target), (link.target, link.source)):
                questions[name] = _without_quotation(questions[name], questions[other].title)
    questions = {name: post for name, post in questions.items() if post.text}
    answers = _stripped(a for a in archive.answers.values() if a.parent in questions)
    answers = {name: answer for name, answer in answers.items() if answer.text}
    links = (x for x in archive.links if {x.source, x.target} <= questions.keys())
    known = questions.keys() | answers.keys()
    weighted_labels = tuple(
        x for x in archive.weighted_labels if {x.post, x.source or x.post} <= known
    )
    return Snapshot(archive.name, questions, answers, tuple(links), weighted_labels)


def _stripped(posts: Iterable[Post]) -> dict[str, Post]:
    return {
        post.id: replace(post, title=strip_leaks(post.title), body=strip_leaks(post.body))
        for post in posts
    }


def _without_quotation(post: Post, title: str) -> Post:
    """Remove the title of a linked duplicate, which plain text shows in place of the link."""
    if len(title.split()) < QUOTED_WORDS or title not in post.body:
        return post
    return replace(post, body=re.sub(rf"(?<!\w){re.escape(title)}(?!\w)", " ", post.body).strip())
