"""What an archive's marks, votes and titles say is right, once its text no longer says it too."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from askonce.archive import Snapshot
from askonce.text.leaks import strip_leaks
from askonce.training.archive.splits import Clusters, find_clusters
from askonce.types import Post

QUOTED_WORDS = 4  # a title this long, found word by word in another question, is a quotation


@dataclass(frozen=True)
class LabelledQuery:
    """A query with what is known to be right and wrong for it."""

    query: Post
    right: tuple[Post, ...]
    wrong: tuple[Post, ...] = ()
    unjudged: frozenset[str] = frozenset()  # may be right as well: never candidates


@dataclass(frozen=True)
class ArchiveLabels:
    """An archive without leaks and empty posts, and what its marks and votes say."""

    archive: Snapshot
    clusters: Clusters
    members: Mapping[int, Sequence[str]]  # of each cluster
    related: defaultdict[str, set[str]]  # questions linked with each, as duplicates or otherwise
    bodies: Mapping[str, Post]  # the body of each question as a post of its own

    @classmethod
    def of(cls, archive: Snapshot) -> "ArchiveLabels":
        """Strip the archive and gather its marks."""
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
        """Each question of a cluster, for which the others are right."""
        questions = self.archive.questions
        return [
            LabelledQuery(
                questions[name],
                tuple(questions[other] for other in names if other != name),
                unjudged=frozenset(self._kin(name).difference(names) | {name}),
            )
            for names in self.members.values()
            if len(names) > 1
            for name in names
        ]

    def asked(self) -> list[LabelledQuery]:
        """Each question as it was when it was new: right are the others if it is marked as theirs.

        A question that others were later marked a duplicate of had none to find, so it is left out.
        """
        marked = [x for x in self.duplicates() if self.archive.duplicate_of(x.query.id)]
        single = (names[0] for names in self.members.values() if len(names) == 1)
        return marked + [
            LabelledQuery(self.archive.questions[name], (), unjudged=frozenset(self._kin(name)))
            for name in single
        ]

    def titles(self) -> list[LabelledQuery]:
        """Each title, for which its own body is right."""
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
        """Each question with an answer that is clearly right."""
        examples = []
        for name, question in self.archive.questions.items():
            answers = self.archive.answers_to(name)
            if right := _right_answers(answers):
                wrong = tuple(answer for answer in answers if _clearly_lower(answer, right))
                judged = {answer.id for answer in (*right, *wrong)}
                kin = (a.id for other in self._kin(name) for a in self.archive.answers_to(other))
                examples.append(LabelledQuery(question, right, wrong, frozenset(kin) - judged))
        return examples

    def _kin(self, name: str) -> set[str]:
        """The question itself and all whose posts may be right for it as well."""
        return {*self.members[self.clusters[name]], *self.related[name]}


def _right_answers(answers: Sequence[Post]) -> tuple[Post, ...]:
    accepted = tuple(answer for answer in answers if answer.accepted)
    if accepted:
        return accepted
    votes = [answer.score or 0 for answer in answers]  # most first
    clear = votes and votes[0] >= 2 and (len(votes) == 1 or votes[0] > votes[1])
    return (answers[0],) if clear else ()


def _clearly_lower(answer: Post, right: Sequence[Post]) -> bool:
    """At most half of the votes of each right answer and two fewer; unknown votes are not lower.

    A copy of a right answer is as right, however late it came and few votes it got.
    """
    votes = [post.score for post in right]
    if answer.text in {post.text for post in right} or answer.score is None or None in votes:
        return False
    least = min(vote for vote in votes if vote is not None)
    return 2 * answer.score <= least and answer.score <= least - 2


def _without_leaks(archive: Snapshot) -> Snapshot:
    """The archive as a reader would have it who knows no marks; what is then empty is left out."""
    questions = _stripped(archive.questions.values())
    for link in archive.links:
        if link.kind == "duplicate" and {link.source, link.target} <= questions.keys():
            for name, other in ((link.source, link.target), (link.target, link.source)):
                questions[name] = _without_quotation(questions[name], questions[other].title)
    questions = {name: post for name, post in questions.items() if post.text}
    answers = _stripped(a for a in archive.answers.values() if a.parent in questions)
    links = (x for x in archive.links if {x.source, x.target} <= questions.keys())
    return Snapshot(
        archive.name, questions, {n: a for n, a in answers.items() if a.text}, tuple(links)
    )


def _stripped(posts: Iterable[Post]) -> dict[str, Post]:
    return {
        post.id: replace(post, title=strip_leaks(post.title), body=strip_leaks(post.body))
        for post in posts
    }


def _without_quotation(post: Post, title: str) -> Post:
    """Plain text of a linked duplicate shows its title where the link was."""
    if len(title.split()) < QUOTED_WORDS or title not in post.body:
        return post
    return replace(post, body=re.sub(rf"(?<!\w){re.escape(title)}(?!\w)", " ", post.body).strip())
