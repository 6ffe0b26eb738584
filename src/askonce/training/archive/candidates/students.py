"""The student of an archive: a fast encoder that learns its teacher's space.

It learns without labels once, from titles, sentences and posts that the teacher has read; for each
task it then moves into the space of the adapter that serves there and is tuned on the labels beside
it. The teacher's vectors stay part of the loss, so that both can share one index.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from askonce.archive import Snapshot
from askonce.models.adapter import Adapter, Bend
from askonce.models.bag import Bag
from askonce.models.base import Side
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.training.archive.candidates.recipes import DISTIL
from askonce.training.archive.candidates.recipes import STUDENT as RECIPE
from askonce.training.archive.candidates.teaching import ArchiveTeacher
from askonce.training.archive.tasks.pools import ArchiveTask
from askonce.training.distillation.beside import Bending, as_they_are
from askonce.training.distillation.student import Distillation, TeacherTexts, first_words, start_as
from askonce.training.distillation.texts import read_beside, texts_of
from askonce.training.epochs import Stop, run_epochs
from askonce.training.events import OnEvent
from askonce.training.recipe import Recipe
from askonce.training.sampling import drawn_in_order
from askonce.types import Post

STUDENT = "student"  # its folder
MIN_TEXTS = 50  # that the teacher must have read
MIN_COUNT = 2  # of a word


@dataclass(frozen=True, eq=False)
class ArchiveStudent:
    """A student in the space of the teacher as it comes, and the texts that it learnt from."""

    teacher: ArchiveTeacher
    ranker: Ranker
    texts: TeacherTexts


def student_texts(
    archive: Snapshot, tasks: Iterable[ArchiveTask], limit: int, seed: int
) -> Sequence[str | Post]:
    """Titles, sentences and posts to learn from, at most so many; no question of dev or test."""
    held_out = {
        query.query.text
        for task in tasks
        for split in ("dev", "test")
        for query in task.queries[split]
    }
    every = chain(archive.questions.values(), archive.answers.values())
    posts = [post for post in every if post.text not in held_out]
    return texts_of(iter(drawn_in_order(posts, limit, seed)), limit, seed=seed)


def plain(text: str | Post) -> str:
    return text.text if isinstance(text, Post) else text


def learn_student(
    teacher: ArchiveTeacher,
    texts: Sequence[str | Post],
    archive: Snapshot,
    folder: Path,
    seed: int,
    stop: Stop,
    on_event: OnEvent,
) -> ArchiveStudent | None:
    """Learn the teacher's space from texts that it has read; None if these are too few."""
    read = [text for text in texts if plain(text) not in teacher.unread]
    if len(read) < MIN_TEXTS:
        return None
    every = chain(archive.questions.values(), archive.answers.values())
    lexicon = Lexicon.build(every, min_count=MIN_COUNT)
    split = TeacherTexts.split(
        read_beside(lexicon, teacher.teacher, read, on_event), DISTIL.held_out, seed
    )
    ranker = _untrained(teacher, lexicon, split, seed)
    run_epochs(Distillation(ranker, split, DISTIL, folder, seed), on_event, stop)
    return ArchiveStudent(teacher, Ranker.load(folder), split)


def _untrained(teacher: ArchiveTeacher, lexicon: Lexicon, texts: TeacherTexts, seed: int) -> Ranker:
    """A student before training; that of MiniLM starts as the starter, which has the same teacher.

    Words that the starter does not know, and all words of other teachers, start as the mean of the
    vectors of the texts that have them.
    """
    vectors = first_words(texts.learnt, lexicon.vocabulary)  # (V, D)
    options = {"hidden": RECIPE["model"]["hidden"]}
    ranker = Ranker.create("bag", lexicon, vectors, options, seed)
    if teacher.starter is not None:
        start_as(ranker, teacher.starter)
    return ranker


def bend_of(adapter: Adapter | None) -> Bending:
    if adapter is None:
        return as_they_are
    bends = adapter.bends

    def bend(vectors: Tensor, side: Side) -> Tensor:
        with torch.no_grad():
            bent = bends[-1 if side == "candidate" else 0](vectors)  # (B, D)
            return torch.nn.functional.normalize(bent, dim=-1)

    return bend


def copied(ranker: Ranker, adapter: Adapter | None, recipe: Recipe) -> Ranker:
    """A student with the words and the map of another, followed by the linear part of the adapter.

    Where questions and answers have maps of their own, both start so.
    """
    weights = ranker.model.state_dict()
    words = weights["words.weight"].numpy()
    copy = Ranker.create(recipe.model, ranker.lexicon, words, recipe.options, recipe.train.seed)
    copy.model.load_state_dict(weights, strict=False)
    own, first = _maps(copy), _maps(ranker)[0].state_dict()
    for side, bend in enumerate(own):
        bend.load_state_dict(first)
        if adapter is not None:
            bend.follow(cast(Bend, adapter.bends[side]).linear)
    return copy


def _maps(ranker: Ranker) -> list[Bend]:
    return [bend for bend in cast(Bag, ranker.model).maps if isinstance(bend, Bend)]
