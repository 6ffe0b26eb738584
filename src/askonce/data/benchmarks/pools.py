"""Pools from judged pairs or search results; neither ids nor order reveal the labels."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from askonce.errors import DataError, shorten
from askonce.files import refuse
from askonce.types import Pool, Post


class JudgedPair(NamedTuple):
    """One line of a judged table: a query, one of its candidates, and whether it is relevant."""

    line: int | None
    query_id: str
    query: str
    candidate_id: str
    candidate: str
    label: int


@dataclass
class PoolBuilder:
    """Groups the judged pairs of one file by query; the lines of a query may be scattered.

    Files of one dataset may share ``candidates``: an id is then the same Post in all of them.
    """

    path: Path
    candidates: dict[str, Post] = field(default_factory=dict)
    _queries: dict[str, Post] = field(default_factory=dict)
    _labels: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, line: int | None, query: Post, candidate: Post, label: int) -> None:
        """Add a pair; an id with two texts, or twice in a pool, is an error."""
        self._note(line, "question", query, self._queries)
        self._note(line, "candidate", candidate, self.candidates)
        labels = self._labels.setdefault(query.id, {})
        if candidate.id in labels:
            expected = f"each candidate of {shown(query)} once, or with the same label"
            raise DataError(self.path, expected, f"{shown(candidate)} again", line)
        labels[candidate.id] = label

    def pools(self) -> tuple[Pool, ...]:
        return tuple(
            Pool(
                self._queries[query],
                tuple(self.candidates[candidate] for candidate in labels),
                tuple(labels.values()),
            )
            for query, labels in self._labels.items()
        )

    def _note(self, line: int | None, what: str, post: Post, known: dict[str, Post]) -> None:
        first = known.setdefault(post.id, post)
        if first != post:
            other = f"another one than {shorten(first.text)}"
            raise DataError(
                self.path, f"one text for the {what} {post.id!r}, not {other}", post.text, line
            )


def shown(post: Post) -> str:
    """A post for an error: by its id, or by its text where the id is a hash of it."""
    return shorten(post.text if post.id == stable_hash(post.text) else post.id)


def stable_hash(*parts: object) -> str:
    """Ten hexadecimal digits that depend on the parts alone, on any machine and in any run."""
    return hashlib.blake2b("\t".join(map(str, parts)).encode(), digest_size=5).hexdigest()


def binary_label(path: Path, line: int, digit: str) -> int:
    """A label of a table: 1 for relevant, 0 for not."""
    if digit not in ("0", "1"):
        raise DataError(path, "a label 0 or 1", digit, line)
    return int(digit)


def judged_pools(
    path: Path, pairs: Iterable[JudgedPair], posts: dict[str, Post]
) -> tuple[Pool, ...]:
    """Group judged pairs by query; ``posts`` keeps one Post per candidate id over a whole dataset.

    Candidates are sorted by id. Files often list the relevant ones first, which would favour a
    method that leaves ties in input order, so a reader must use ids that do not depend on that
    order (:func:`stable_hash`). Then trec_eval, which breaks ties by id, is neutral too.
    """
    builder = PoolBuilder(path, posts)
    for line, query_id, query, candidate_id, candidate, label in pairs:
        answer = Post(candidate_id, body=candidate, kind="answer")
        try:
            builder.add(line, Post(query_id, title=query), answer, label)
        except DataError as error:
            refuse(error)
    pools = builder.pools()
    if not pools:
        raise DataError(path, "at least one question", "none")
    return tuple(pool.with_pairs(sorted(pool.pairs, key=lambda pair: pair[0].id)) for pool in pools)


def searched_pool(
    query: Post,
    retrieved: Sequence[str],
    relevant: Sequence[str],
    answers: Mapping[str, Post],
    source: tuple[Path, int | None],
) -> Pool:
    """A pool from the ids that a search returned, in its order, and all relevant ids."""
    path, line = source
    for what, ids in (("candidate", retrieved), ("right answer", relevant)):
        if not ids:
            raise DataError(path, f"at least one {what} of {query.id!r}", "none", line)
        if len(set(ids)) < len(ids):
            repeated = next(name for n, name in enumerate(ids) if name in ids[:n])
            raise DataError(path, f"each {what} of {query.id!r} once", repeated, line)
        if unknown := next((name for name in ids if name not in answers), None):
            raise DataError(path, "ids of the answers file", unknown, line)
    candidates, right = set(retrieved), set(relevant)
    return Pool(
        query,
        tuple(answers[name] for name in retrieved),
        tuple(int(name in right) for name in retrieved),
        missed=tuple(answers[name] for name in relevant if name not in candidates),
    )
