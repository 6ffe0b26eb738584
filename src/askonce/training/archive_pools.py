"""Labelled pools from an archive's own marks, votes and titles, so that it can train on itself."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from askonce.archive import Archive
from askonce.datasets.pools import stable_hash
from askonce.errors import AskonceError
from askonce.index.lexical import LexicalIndex
from askonce.text.leaks import strip_leaks
from askonce.training.archive_splits import LEAST, SPLITS, Clusters, find_clusters, split_by_time
from askonce.types import Dataset, Pool, Post

ENOUGH = 10  # questions with a duplicate; with fewer, titles are matched with bodies instead
TRAIN_NEAR, TRAIN_RANDOM = 15, 15  # wrong candidates beside those that are known to be wrong
TRAIN_WORDS = 50  # of a query by which they are searched
NEAR, SIZE = 50, 100  # of a dev or test pool: what BM25 finds, and all candidates
QUOTED_WORDS = 4  # a title this long, found word by word in another question, is a quotation


@dataclass(frozen=True)
class _Example:
    """A query with what is known to be right and wrong for it."""

    query: Post
    right: tuple[Post, ...]
    wrong: tuple[Post, ...] = ()
    unjudged: frozenset[str] = frozenset()  # may be right as well: never candidates


def question_dataset(archive: Archive, seed: int = 1) -> Dataset:
    """Pools to learn which questions are the same, from the archive's marked duplicates.

    Every question of a cluster of duplicates is right for every other. Where fewer than ten
    questions are marked, the title of a question is the query and its body the right candidate.

    Training pools hold all right candidates with 15 wrong ones that BM25 finds and 15 random ones.
    Dev and test pools hold what BM25 finds first (50) and random wrong ones, 100 in all; a right
    one that BM25 does not find is ``missed`` and counts against every ranker, since a re-ranker
    behind BM25 will never see it. A pool draws from its own split and older ones only.
    """
    known = _Known.of(_enough(archive))
    examples = known.duplicates()
    corpus = {name: [post] for name, post in known.archive.questions.items()}
    if len(examples) < ENOUGH or len({known.clusters[e.query.id] for e in examples}) < LEAST:
        examples = known.titles()
        corpus = {name: [body] for name, body in known.bodies.items()}
    if not examples:
        raise AskonceError(
            f"archive {archive.name!r} has no marked duplicates and no question with both a title "
            "and a body; nothing to learn from"
        )
    return _dataset(known, f"{archive.name}-questions", examples, corpus, _Drawer(seed))


def answer_dataset(archive: Archive, seed: int = 1) -> Dataset:
    """Pools to learn which answer is right, from accepted answers and votes.

    Right is the accepted answer, else the best-voted one if it has two votes and more than the
    next. Wrong are the question's answers with at most half of its votes and two fewer; answers
    between are left out, and so are those of duplicates. All of these are candidates, since an
    engine finds them through their question; others come from BM25 and chance, as many as in
    :func:`question_dataset`. A pool draws from its own split and older ones only.
    """
    known = _Known.of(_enough(archive))
    examples = known.answered()
    if not examples:
        raise AskonceError(
            f"archive {archive.name!r} has no accepted answer and none with two votes and more "
            "than the next; nothing to learn from"
        )
    corpus = {name: known.archive.answers_to(name) for name in known.archive.questions}
    return _dataset(known, f"{archive.name}-answers", examples, corpus, _Drawer(seed, given=True))


def describe(archive: Archive) -> dict[str, int]:
    """What there is to learn from: counts of posts, marks, and pools of each kind."""
    known = _Known.of(archive)
    marks = {
        (link.source, link.target)
        for link in archive.links
        if link.kind == "duplicate" and {link.source, link.target} <= archive.questions.keys()
    }
    return {
        "questions": len(archive.questions),
        "answers": len(archive.answers),
        "accepted": sum(answer.accepted for answer in archive.answers.values()),
        "duplicates": len(marks),
        "clusters": sum(len(members) > 1 for members in known.members.values()),
        "duplicate_pools": len(known.duplicates()),
        "title_pools": len(known.titles()),
        "answer_pools": len(known.answered()),
    }


@dataclass(frozen=True)
class _Known:
    """An archive without leaks and empty posts, and what its marks and votes say."""

    archive: Archive
    clusters: Clusters
    members: Mapping[int, Sequence[str]]  # of each cluster
    related: defaultdict[str, set[str]]  # questions linked with each, as duplicates or otherwise
    bodies: Mapping[str, Post]  # the body of each question as a post of its own

    @classmethod
    def of(cls, archive: Archive) -> "_Known":
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

    def duplicates(self) -> list[_Example]:
        """Each question of a cluster, for which the others are right."""
        questions = self.archive.questions
        return [
            _Example(
                questions[name],
                tuple(questions[other] for other in names if other != name),
                unjudged=frozenset(self._kin(name).difference(names) | {name}),
            )
            for names in self.members.values()
            if len(names) > 1
            for name in names
        ]

    def titles(self) -> list[_Example]:
        """Each title, for which its own body is right."""
        return [
            _Example(
                replace(self.archive.questions[name], body=""),
                (body,),
                unjudged=frozenset(f"{other}:body" for other in self._kin(name) - {name}),
            )
            for name, body in self.bodies.items()
            if self.archive.questions[name].title
        ]

    def answered(self) -> list[_Example]:
        """Each question with an answer that is clearly right."""
        examples = []
        for name, question in self.archive.questions.items():
            answers = self.archive.answers_to(name)
            if right := _right_answers(answers):
                wrong = tuple(answer for answer in answers if _clearly_lower(answer, right))
                judged = {answer.id for answer in (*right, *wrong)}
                kin = (a.id for other in self._kin(name) for a in self.archive.answers_to(other))
                examples.append(_Example(question, right, wrong, frozenset(kin) - judged))
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
    """At most half of the votes of each right answer and two fewer; unknown votes are not lower."""
    votes = [post.score for post in right]
    if answer in right or answer.score is None or None in votes:
        return False
    least = min(vote for vote in votes if vote is not None)
    return 2 * answer.score <= least and answer.score <= least - 2


def _without_leaks(archive: Archive) -> Archive:
    """The archive as a reader would have it who knows no marks; what is then empty is left out."""
    questions = _stripped(archive.questions.values())
    for link in archive.links:
        if link.kind == "duplicate" and {link.source, link.target} <= questions.keys():
            for name, other in ((link.source, link.target), (link.target, link.source)):
                questions[name] = _without_quotation(questions[name], questions[other].title)
    questions = {name: post for name, post in questions.items() if post.text}
    answers = _stripped(a for a in archive.answers.values() if a.parent in questions)
    links = (x for x in archive.links if {x.source, x.target} <= questions.keys())
    return Archive(
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


@dataclass
class _Drawer:
    """Makes pools from the posts added so far."""

    seed: int
    given: bool = False  # known posts are candidates of every pool, also where BM25 misses them
    _posts: list[Post] = field(default_factory=list)
    _by_id: dict[str, Post] = field(default_factory=dict)
    _index: LexicalIndex = field(default_factory=LexicalIndex)

    def add(self, posts: Sequence[Post]) -> None:
        self._index.add(posts)
        self._posts += posts
        self._by_id.update((post.id, post) for post in posts)

    def pool(self, example: _Example, train: bool) -> Pool:
        rng = np.random.default_rng((self.seed, int(stable_hash(example.query.id), 16)))
        right = {post.id for post in example.right}
        known = (*example.right, *example.wrong) if train or self.given else ()
        chosen = {post.id: post for post in known}
        near, size = len(chosen) + TRAIN_NEAR, len(chosen) + TRAIN_NEAR + TRAIN_RANDOM
        if not train:
            near, size = NEAR, max(SIZE, len(chosen))
        # a long search takes long, and its first words find candidates as near to learn from
        words = example.query.text.split()[: TRAIN_WORDS if train else None]
        found = self._near(" ".join(words), example, near)
        _fill(chosen, near, found, _allowed(example, right))
        _fill(chosen, size, self._random(rng, example, size), _allowed(example))
        ids = [str(name) for name in rng.permutation(list(chosen))]
        return Pool(
            example.query,
            tuple(chosen[name] for name in ids),
            tuple(int(name in right) for name in ids),
            missed=tuple(post for post in example.right if post.id not in chosen),
        )

    def _near(self, words: str, example: _Example, count: int) -> list[Post]:
        """What BM25 finds, with as many to spare as may be left out."""
        spare = len(example.right) + len(example.wrong) + len(example.unjudged)
        hits = self._index.search(words, count + spare)
        return [self._by_id[hit.id] for hit in hits]

    def _random(self, rng: np.random.Generator, example: _Example, count: int) -> list[Post]:
        spare = len(example.right) + len(example.wrong) + len(example.unjudged)
        count = min(2 * count + spare, len(self._posts))
        return [self._posts[n] for n in rng.choice(len(self._posts), count, replace=False)]


def _allowed(example: _Example, right: Iterable[str] = ()) -> Callable[[Post], bool]:
    """Which posts may be drawn: none unjudged, no copy of the query or of a right one."""
    barred = example.unjudged | ({post.id for post in example.right} - set(right))
    texts = {example.query.text, *(post.text for post in example.right)}
    return lambda post: post.id not in barred and (post.id in right or post.text not in texts)


def _fill(
    chosen: dict[str, Post], size: int, found: Iterable[Post], allowed: Callable[[Post], bool]
) -> None:
    for post in found:
        if len(chosen) >= size:
            return
        if allowed(post):
            chosen.setdefault(post.id, post)


def _dataset(
    known: _Known,
    name: str,
    examples: Sequence[_Example],
    corpus: Mapping[str, Sequence[Post]],  # what may be drawn, by its question
    drawer: _Drawer,
) -> Dataset:
    """Fill the drawer split by split, so that a pool never holds a post of a later one."""
    labelled = [example.query.id for example in examples]
    split_of = split_by_time(known.archive.questions, known.clusters, labelled)
    splits = {}
    for split in SPLITS:
        drawer.add([p for name, posts in corpus.items() if split_of[name] == split for p in posts])
        splits[split] = tuple(
            drawer.pool(example, split == "train")
            for example in examples
            if split_of[example.query.id] == split
        )
    return Dataset(name, splits, corpus=[post for posts in corpus.values() for post in posts])


def _enough(archive: Archive) -> Archive:
    if len(archive.questions) < 2:
        count = "one question" if archive.questions else "no question"
        raise AskonceError(
            f"archive {archive.name!r} holds {count}; training compares questions, so add more"
        )
    return archive
