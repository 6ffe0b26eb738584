"""An archive and a teacher small enough to train on in a test."""

import zlib
from collections import Counter
from dataclasses import replace

import numpy as np

from askonce.archive import Archive, Snapshot
from askonce.training.archive import preparing
from askonce.training.archive.candidates import (
    encoders,
    pair_model,
    students,
    task_training,
)
from askonce.training.archive.candidates import recipes as archive_recipes
from askonce.types import Link, Post
from tests.teachers.small_teacher import SmallTeacher

TOPICS, NOISE, DIM = 60, 12, 32


class Synonyms(SmallTeacher):
    """Knows that "xchain" means "chain", which BM25 cannot know."""

    def __init__(self, salt):
        super().__init__(DIM, salt)

    def _sum(self, text):
        return super()._sum(" ".join(word.removeprefix("x") for word in text.split()))


def with_teacher(monkeypatch, salt):
    """One teacher for training and serving, instead of MiniLM; it counts what it reads."""
    small = Synonyms(salt=zlib.crc32(salt.encode()))  # a cache of its own
    monkeypatch.setattr("askonce.teachers.teacher.SentenceTeacher", lambda source: small)
    monkeypatch.setattr(preparing, "default_teacher", lambda: "minilm")
    # a cross-encoder would be tuned from MiniLM's real weights; test_pair_students has a small one
    monkeypatch.setattr(pair_model, "_train_pair_student", lambda run, recipe: None)
    for recipe in (*archive_recipes.ENCODERS.values(), archive_recipes.PAIR):
        monkeypatch.setitem(recipe["train"], "epochs", 1)
    # as far in a third of the epochs
    monkeypatch.setitem(archive_recipes.ADAPTER["train"], "epochs", 4)
    monkeypatch.setitem(archive_recipes.ADAPTER["train"], "rate", 1e-3)
    set_seeds(monkeypatch, 1)
    monkeypatch.setitem(archive_recipes.PAIR["model"], "dim", 10)
    monkeypatch.setitem(archive_recipes.STUDENT["train"], "epochs", 3)
    monkeypatch.setattr(students, "DISTIL", replace(students.DISTIL, epochs=6))
    return small


def set_seeds(monkeypatch, count):
    """How many trainings of an adapter are averaged; one test looks at the mean of several."""
    for module in (encoders, task_training):
        monkeypatch.setattr(module, "ADAPTER_SEEDS", count)


def forum(noise=0, marks=TOPICS):
    """Pairs of questions about one topic in other words, each amid words of no meaning."""
    rng = np.random.default_rng(1)
    posts, links = [], []
    for n in range(TOPICS):
        for k, prefix in enumerate(("", "x")):
            words = [
                "how",
                f"{prefix}topic{n}",
                *(f"noise{w}" for w in rng.integers(0, NOISE, noise)),
            ]
            created = f"2020-{1 + n // 28:02}-{1 + n % 28:02}T{k:02}:00:00Z"
            posts.append(Post(f"q{n}{prefix}", " ".join(words), created=created))
        if n < marks:
            links.append(Link(f"q{n}x", f"q{n}"))
    return Snapshot("made", {post.id: post for post in posts}, {}, tuple(links))


def in_folder(folder, snapshot):
    archive = Archive.open(folder, create=True)
    archive.write([*snapshot.questions.values(), *snapshot.answers.values()], snapshot.links)
    return archive


def no_text_twice(*read):
    return max(sum(map(Counter, read), Counter()).values()) == 1
