"""What an archive must hold after a series of writes, kept in plain Python beside the real one."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from askonce.archive import Archive
from askonce.archive.desk.feedback import Feedback
from askonce.types import Link, Post

SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "mo", "ne", "pi", "ro", "su", "ta", "ve", "wi")
WORDS = [a + b + c for a in SYLLABLES[:7] for b in SYLLABLES[7:] for c in SYLLABLES[3:11]]


@dataclass(frozen=True)
class Op:
    """One write: posts and links to add or replace, ids to delete, links to remove, or a mark."""

    posts: tuple[Post, ...] = ()
    gone: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    unlinked: tuple[Link, ...] = ()
    mark: Feedback | None = None


@dataclass(frozen=True)
class Truth:
    """All living posts and links, how often each post was edited, the last change, all marks."""

    posts: dict[str, Post] = field(default_factory=dict)
    edits: dict[str, int] = field(default_factory=dict)
    change: int = 0
    links: frozenset[Link] = frozenset()
    marks: frozenset[tuple[str, str, str, str]] = frozenset()

    @classmethod
    def of(cls, archive: Archive) -> "Truth":
        """What an archive holds."""
        posts = {post.id: post for post in archive.iterate(html=True)}
        edits = {name: len(archive.revisions(name)) for name in posts}
        edits = {name: n for name, n in edits.items() if n}
        marks = frozenset(map(_mark, archive.feedback.all()))
        return cls(posts, edits, archive.change, frozenset(archive.links()), marks)

    def after(self, op: Op) -> "Truth":
        """What an archive must hold once a write is done."""
        posts, edits, change = dict(self.posts), dict(self.edits), self.change
        for post in op.posts:
            before = posts.get(post.id)
            change += before != post
            if before is not None and _text(before) != _text(post):
                edits[post.id] = edits.get(post.id, 0) + 1
            posts[post.id] = post
        for name in [n for n, p in posts.items() if n in op.gone or p.parent in op.gone]:
            del posts[name]
            edits.pop(name, None)
            change += 1
        links = {x for x in self.links if x.source in posts and x.target in posts}
        change += len(set(op.links) - links) + len(links & set(op.unlinked))
        links = (links | set(op.links)) - set(op.unlinked)
        marks = self.marks | ({_mark(op.mark)} if op.mark is not None else set())
        return Truth(posts, edits, change, frozenset(links), marks)

    def steps(self, plan: Sequence[Op]) -> list["Truth"]:
        """What must be there before the first write of a plan, after it, after the second, ..."""
        versions = [self]
        for op in plan:
            versions.append(versions[-1].after(op))
        return versions


class Author:
    """Writes, edits and deletes posts at random; no two texts are ever the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._numbers = count(1)

    def add(self, size: int) -> Op:
        """New questions, each second one with an answer."""
        posts: list[Post] = []
        while len(posts) < size:
            name = f"q{next(self._numbers)}"
            posts.append(self._said(Post(name, tags=("one", "two"), score=3)))
            if self.random.random() < 0.5:
                answer = Post(f"a{next(self._numbers)}", kind="answer", parent=name)
                posts.append(self._said(answer))
        return Op(tuple(posts))

    def edit(self, truth: Truth, size: int) -> Op:
        """Other texts for some posts."""
        chosen = self.random.sample(sorted(truth.posts), size)
        return Op(tuple(self._said(truth.posts[name]) for name in chosen))

    def delete(self, truth: Truth, size: int) -> Op:
        """Some questions, which take their answers with them."""
        questions = sorted(name for name, post in truth.posts.items() if post.kind == "question")
        return Op(gone=tuple(self.random.sample(questions, size)))

    def link(self, truth: Truth) -> Op:
        """A newer question as a duplicate of an older one, so that no circle can arise."""
        questions = [name for name, post in truth.posts.items() if post.kind == "question"]
        older, newer = sorted(self.random.sample(sorted(questions), 2), key=lambda x: int(x[1:]))
        return Op(links=(Link(newer, older),))

    def unlink(self, truth: Truth) -> Op:
        """Remove a link, or add one if there is none."""
        if not truth.links:
            return self.link(truth)
        known = sorted(truth.links, key=lambda link: (link.source, link.target))
        return Op(unlinked=(self.random.choice(known),))

    def mark(self, truth: Truth) -> Op:
        """A visitor's mark on a question."""
        questions = sorted(name for name, post in truth.posts.items() if post.kind == "question")
        visitor = f"visitor {next(self._numbers)}"
        return Op(mark=Feedback(visitor, "asked again", self.random.choice(questions), "same"))

    def series(self, truth: Truth, kinds: Sequence[str], length: int) -> Iterator[Op]:
        """Writes of these kinds, each possible after those before it."""
        for _ in range(length):
            kind, size = self.random.choice(kinds), self.random.randint(1, 3)
            write = {
                "adding": lambda size=size: self.add(size),
                "editing": lambda size=size, now=truth: self.edit(now, size),
                "deleting": lambda now=truth: self.delete(now, 1),
                "linking": lambda now=truth: self.link(now),
                "unlinking": lambda now=truth: self.unlink(now),
                "marking": lambda now=truth: self.mark(now),
            }
            op = write[kind]()
            yield op
            truth = truth.after(op)

    def _said(self, post: Post) -> Post:
        # the number is a word that only this text has: an index that kept an old one is found out
        title = [f"v{next(self._numbers)}", *self.random.choices(WORDS, k=6)]
        body = self.random.choices(WORDS, k=12)
        if post.kind == "answer":
            return replace(post, body=" ".join([*title, *body]))
        return replace(post, title=" ".join(title), body=" ".join(body))


def _mark(mark: Feedback) -> tuple[str, str, str, str]:
    return mark.visitor, mark.question, mark.post, mark.mark


def _text(post: Post) -> tuple[str, str, str]:
    return post.title, post.body, post.html
