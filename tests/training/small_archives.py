"""Small archives for tests of the pools and splits made of them."""

from askonce.archive import Snapshot
from askonce.training.archive.tasks.labels import ArchiveLabels
from askonce.training.archive.tasks.pools import answer_task, draw_pools, question_task
from askonce.types import Link, Post

SPLITS = ("train", "dev", "test")
WORDS = ["chain", "brake", "tyre", "hub", "spoke", "saddle", "fork", "pedal", "rim", "lamp"]


def archive_of(questions, answers=(), links=()):
    return Snapshot("small", {q.id: q for q in questions}, {a.id: a for a in answers}, tuple(links))


def forum(count=20, marked=(), answers=2, dated=True):
    """Questions q0, q1, ... a day apart, the first answer of each accepted."""
    questions = [
        Post(
            f"q{n}",
            f"{WORDS[n % 10]} number {n}",
            f"my {WORDS[n % 7]} fails {n}",
            created=f"2020-01-{n + 1:02}" if dated else None,
        )
        for n in range(count)
    ]
    given_answers = [
        Post(
            f"a{n}-{k}",
            body=f"oil the {WORDS[n % 10]} {n} {k}",
            kind="answer",
            parent=f"q{n}",
            score=5 - 3 * k,
            accepted=k == 0,
        )
        for n in range(count)
        for k in range(answers)
    ]
    links = [Link(f"q{a}", f"q{b}") for a, b in marked]
    return archive_of(questions, given_answers, links)


def queries(data, split):
    return [pool.query.id for pool in data.splits[split]]


def question_dataset(archive, seed=1):
    """The pools that an archive learns from which questions are the same."""
    return draw_pools(question_task(ArchiveLabels.of(archive)), seed).dataset


def answer_dataset(archive, seed=1):
    """The pools that an archive learns from which answers are right."""
    return draw_pools(answer_task(ArchiveLabels.of(archive)), seed).dataset
