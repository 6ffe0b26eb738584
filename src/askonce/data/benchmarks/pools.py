"""What the dataset readers share: pools in which neither ids nor order betray the labels."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from askonce.data.benchmarks.pool_builder import PoolBuilder
from askonce.errors import DataError
from askonce.types import Pool, Post


class Judgement(NamedTuple):
    """One line of a judged table: a query, one of its candidates, and whether it is right."""

    line: int | None
    query_id: str
    query: str
    candidate_id: str
    candidate: str
    label: int


def stable_hash(*parts: object) -> str:
    """Ten hexadecimal digits that depend on the parts alone, on every machine and in every run."""
    return hashlib.blake2b("\t".join(map(str, parts)).encode(), digest_size=5).hexdigest()


def binary_label(path: Path, line: int, digit: str) -> int:
    """The label that a table holds: 1 for right, 0 for wrong."""
    if digit not in ("0", "1"):
        raise DataError(path, "a label 0 or 1", digit, line)
    return int(digit)


def judged_pools(
    path: Path, judgements: Iterable[Judgement], posts: dict[str, Post]
) -> tuple[Pool, ...]:
    """Group judgements by query; ``posts`` keeps one Post per candidate id over a whole dataset.

    Candidates are put in the order of their ids. Files often list the right ones first, and a
    method that leaves ties in input order would profit, so a reader must give ids that know nothing
    of that order (:func:`stable_hash`). Then trec_eval, which breaks ties by id, is neutral too.
    """
    builder = PoolBuilder(path, posts)
    for line, query_id, query, candidate_id, candidate, label in judgements:
        answer = Post(candidate_id, body=candidate, kind="answer")
        builder.add(line, Post(query_id, title=query), answer, label)
    pools = builder.pools()
    if not pools:
        raise DataError(path, "at least one question", "none")
    return tuple(_by_id(pool) for pool in pools)


def searched_pool(
    query: Post,
    found: Sequence[str],
    right: Sequence[str],
    answers: Mapping[str, Post],
    place: tuple[Path, int | None],
) -> Pool:
    """A pool from the ids that a search found, in its order, and all ids that are right."""
    path, line = place
    for what, ids in (("candidate", found), ("right answer", right)):
        if not ids:
            raise DataError(path, f"at least one {what} of {query.id!r}", "none", line)
        if len(set(ids)) < len(ids):
            repeated = next(name for n, name in enumerate(ids) if name in ids[:n])
            raise DataError(path, f"each {what} of {query.id!r} once", repeated, line)
    labels = [0] * len(found)
    missed = []
    try:
        candidates = tuple(map(answers.__getitem__, found))
        for answer in right:
            if answer in found:
                labels[found.index(answer)] = 1
            else:
                missed.append(answers[answer])
    except KeyError as error:
        raise DataError(path, "ids of the answers file", error.args[0], line) from None
    return Pool(query, candidates, tuple(labels), tuple(missed))


def _by_id(pool: Pool) -> Pool:
    pairs = sorted(zip(pool.candidates, pool.labels, strict=True), key=lambda pair: pair[0].id)
    return Pool(pool.query, tuple(p for p, _ in pairs), tuple(label for _, label in pairs))
