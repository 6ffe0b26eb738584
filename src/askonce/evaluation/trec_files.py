"""Qrels and runs, the two tables of TREC: from pools, from files, to files."""

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from askonce.errors import AskonceError, DataError, shorten
from askonce.files import rows, write_atomic
from askonce.types import Pool

Run = Mapping[str, Mapping[str, float]]  # query id -> document id -> score
Qrels = Mapping[str, Mapping[str, int]]  # query id -> document id -> label, relevant above 0

V = TypeVar("V", int, float)

# trec_eval uses single precision, where larger numbers become infinite and tie.
LARGEST_SCORE = float(np.finfo(np.float32).max)


def pools_to_qrels(pools: Iterable[Pool]) -> Qrels:
    """The labels of pools; posts that the search missed are relevant but not retrieved."""
    qrels: dict[str, dict[str, int]] = {}
    for pool in pools:
        _check_ids(pool, qrels)
        labels = zip(_candidate_ids(pool), pool.labels, strict=True)
        qrels[pool.query.id] = {**dict(labels), **{post.id: 1 for post in pool.missed}}
    return qrels


def pools_to_run(pools: Sequence[Pool], scores: Sequence[ArrayLike]) -> Run:
    """A run from one row of scores per pool, in the order of its candidates."""
    if len(pools) != len(scores):
        raise AskonceError(f"{len(pools)} pools but scores for {len(scores)}")
    run: dict[str, dict[str, float]] = {}
    for pool, row in zip(pools, scores, strict=True):
        _check_ids(pool, run)
        values = np.asarray(row, dtype=np.float64)
        if values.shape != (len(pool.candidates),):
            raise AskonceError(
                f"query {pool.query.id!r} has {len(pool.candidates)} candidates "
                f"but scores of shape {values.shape}"
            )
        run[pool.query.id] = dict(zip(_candidate_ids(pool), values.tolist(), strict=True))
        check_scores(pool.query.id, run[pool.query.id])
    return run


def check_scores(query: str, scores: Mapping[str, float]) -> None:
    """Refuse scores that cannot be ordered: NaN, infinite, or beyond single precision."""
    values = np.fromiter(scores.values(), dtype=np.float64, count=len(scores))
    wrong = np.flatnonzero(~(np.abs(values) <= LARGEST_SCORE))  # also true for NaN
    if len(wrong):
        candidate = list(scores)[wrong[0]]
        raise AskonceError(
            f"query {query!r}, candidate {candidate!r}: score {values[wrong[0]]} is not a finite "
            "single-precision number; fix the scorer"
        )


def read_run(path: Path | str) -> Run:
    """Read ``query Q0 document rank score tag`` lines; the rank column is ignored."""
    path, run = Path(path), dict[str, dict[str, float]]()
    for number, (query, _, document, _, score, _) in _read(path, columns=6):
        _add(run, path, number, (query, document), _score(path, number, score))
    return run


def write_run(path: Path | str, run: Run, tag: str = "askonce") -> None:
    """Write a run in trec_eval's order; reading it back gives the same scores."""
    _write(Path(path), _run_lines(run, _word(tag)))


def read_qrels(path: Path | str) -> Qrels:
    path, qrels = Path(path), dict[str, dict[str, int]]()
    for number, (query, _, document, label) in _read(path, columns=4):
        _add(qrels, path, number, (query, document), _label(path, number, label))
    return qrels


def write_qrels(path: Path | str, qrels: Qrels) -> None:
    _write(
        Path(path),
        (
            f"{_word(query)} 0 {_word(document)} {label:d}\n"
            for query, labels in qrels.items()
            for document, label in labels.items()
        ),
    )


def _candidate_ids(pool: Pool) -> list[str]:
    return [post.id for post in pool.candidates]


def _check_ids(pool: Pool, seen: Mapping[str, object]) -> None:
    """Query ids must be unique, and document ids unique per query, to key a table by them."""
    query, ids = pool.query.id, [*_candidate_ids(pool), *(post.id for post in pool.missed)]
    if query in seen:
        raise AskonceError(f"two pools have the query id {query!r}; ids must differ")
    if len(set(ids)) < len(ids):
        twice = next(one for n, one in enumerate(ids) if one in ids[:n])
        raise AskonceError(f"query {query!r} has the candidate id {twice!r} twice; ids must differ")


def _run_lines(run: Run, tag: str) -> Iterator[str]:
    for query, scores in run.items():
        check_scores(query, scores)
        single = np.array(list(scores.values()), dtype=np.float32).tolist()
        ranked = sorted(zip(single, scores, strict=True), reverse=True)  # ties: document descending
        for rank, (_, document) in enumerate(ranked, start=1):
            score = float(scores[document])
            yield f"{_word(query)} Q0 {_word(document)} {rank} {score!r} {tag}\n"


def _word(text: str) -> str:
    # A byte order mark at the start of a file is not part of its first word.
    if text.removeprefix("\ufeff").split() != [text]:
        raise AskonceError(f"{shorten(text)} is not one word; a TREC file is split at white space")
    return text


def _read(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    if not path.exists() or path.is_dir():
        raise DataError(path, f"a file of {columns} columns", "no file at this path")
    return rows(path, columns, separator=None)


def _score(path: Path, number: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        raise DataError(path, "a number as score", text, number) from None
    if not abs(score) <= LARGEST_SCORE:  # also true for NaN
        raise DataError(path, "a finite single-precision score", text, number)
    return score


def _label(path: Path, number: int, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(path, "a whole number as label", text, number) from None


def _add(
    table: dict[str, dict[str, V]], path: Path, number: int, key: tuple[str, str], value: V
) -> None:
    query, document = key
    row = table.setdefault(query, {})
    if document in row:
        actual = f"{document!r} again for {query!r}"
        raise DataError(path, "each document once per query", actual, number)
    row[document] = value


def _write(path: Path, lines: Iterable[str]) -> None:
    content = "".join(lines).encode()
    if not content:
        raise AskonceError(f"nothing to write to {str(path)!r}: no query has a document")
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=6, mtime=0)  # equal tables, equal files
    try:
        write_atomic(path, content)
    except OSError as error:
        raise AskonceError(f"cannot write {str(path)!r}: {error.strerror}") from None
