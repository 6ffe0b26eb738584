"""Train an archive in its own folder: new models, in service once all of them are finished.

Of the first training, the starter serves within a minute and the first students when they are
trained, since there is nothing better meanwhile.

During training, ``models/.training`` holds the runs and a copy of the posts. A training run that
was stopped resumes with these posts, whatever was written since, so it ends with the same models;
the next run learns from the rest. A run older than a day starts again from the beginning.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from askonce.archive import Archive, Snapshot
from askonce.archive.desk.feedback import WeightedLabel
from askonce.data.formats.jsonl import read_objects, write_objects
from askonce.data.formats.posts import read_posts, write_posts
from askonce.errors import AskonceError
from askonce.files import locked, write_atomic
from askonce.ranking.manifest import (
    FOLDER,
    SENTENCE,
    Serving,
    current,
    new_folder,
    read_manifest,
    remove_old,
    save_manifest,
    write_manifest,
)
from askonce.training.archive.preparing import Prepared, TrainOptions, first_servings, prepare
from askonce.training.archive.run import (
    WORDS,
    Publish,
    Trained,
    manifest_of,
    train_prepared,
    train_snapshot,
)
from askonce.training.events import Epoch, Event, Note, OnEvent, Phase, Reading, Step
from askonce.types import Link, Post, TaskName

WORK, LOCK = ".training", ".training.lock"
BEGUN, POSTS, FEEDBACK = "begun.json", "posts.jsonl", "feedback.jsonl"
STALE = timedelta(days=1)


def train_on_archive(
    archive: Archive, options: TrainOptions, on_event: OnEvent, out: Path | None = None
) -> Trained:
    """Train on an archive and put what is best on dev in service.

    The models of an archive in a folder go into that folder; those of others into ``out`` or
    ``runs/NAME``, and are not put in service.
    """
    if archive.folder is not None and out is None:
        return _train_in_place(archive, archive.folder, options, on_event)
    folder = out or Path("runs") / archive.name
    change = archive.change
    trained = train_snapshot(archive.snapshot(), folder, options, on_event, change)
    shutil.rmtree(folder / WORDS, ignore_errors=True)
    save_manifest(folder, trained.manifest)
    return trained


def _train_in_place(
    archive: Archive, home: Path, options: TrainOptions, on_event: OnEvent
) -> Trained:
    refusal = f"another training of {str(home)!r} is running; wait until it is finished"
    with locked(home / FOLDER / LOCK, refusal):
        work = home / FOLDER / WORK
        posts, begun = _begin_or_resume(archive, home, options, on_event)
        with progress_file(work, 60 * options.minutes, on_event) as report:
            prepared = prepare(posts, options, report)
            publish = _serve_first(prepared, home, begun.change, report) if begun.first else None
            trained = train_prepared(prepared, work, report, begun.change, publish)
        shutil.rmtree(work / WORDS, ignore_errors=True)
        for name in (BEGUN, POSTS, FEEDBACK):
            (work / name).unlink()
        folder = new_folder(home)
        os.replace(work, folder)
        write_manifest(folder, trained.manifest)
        remove_old(home)
    return replace(trained, folder=folder)


def _serve_first(prepared: Prepared, home: Path, change: int, on_event: OnEvent) -> Publish:
    """Put the starter in service, which needs no training; returns what replaces it early."""
    if current(home) is None:
        on_event(Phase("comparing the starter with BM25"))
        write_manifest(new_folder(home), manifest_of(first_servings(prepared), change))

    def publish(servings: Mapping[TaskName, Serving]) -> None:
        folder = new_folder(home)
        for name in {model for serving in servings.values() for model in serving.models if model}:
            if not name.startswith(SENTENCE):
                ignore = shutil.ignore_patterns("*checkpoint")
                shutil.copytree(home / FOLDER / WORK / name, folder / name, ignore=ignore)
        write_manifest(folder, manifest_of(servings, change))
        on_event(Note("the first models are in service; training goes on"))

    return publish


@dataclass(frozen=True)
class _Begun:
    change: int  # of the archive, whose posts are trained on
    first: bool  # nothing that was trained before serves


def _begin_or_resume(
    archive: Archive, home: Path, options: TrainOptions, on_event: OnEvent
) -> tuple[Snapshot, _Begun]:
    """The posts of a stopped run with the same options, else those of the archive as it is now."""
    work = home / FOLDER / WORK
    settings = asdict(options) | {"tasks": list(options.tasks), "vectors": str(options.vectors)}
    del settings["minutes"]  # which may differ when a run resumes
    now, record = datetime.now(UTC), {}
    with suppress(FileNotFoundError, ValueError):
        record = json.loads((work / BEGUN).read_text("utf-8"))
    if record.get("options") == settings and now - datetime.fromisoformat(record["began"]) < STALE:
        on_event(Note(f"resuming the training of {record['began']}"))
        begun = _Begun(record["change"], record.get("first", False))
        return _read_snapshot(archive.name, work), begun
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    begun = _Begun(archive.change, options.encoder is None and not _trained_before(home))
    posts = archive.snapshot()
    write_posts(work / POSTS, (*posts.questions.values(), *posts.answers.values(), *posts.links))
    write_objects(work / FEEDBACK, map(asdict, posts.weighted_labels))
    began = now.isoformat(timespec="seconds")
    text = json.dumps({"began": began, **asdict(begun), "options": settings})
    write_atomic(work / BEGUN, text)  # last: it marks the posts as complete
    return posts, begun


def _trained_before(home: Path) -> bool:
    """Whether more than a starter serves, which a training that was stopped may have left."""
    models = current(home)
    if models is None:
        return False
    try:
        manifest = read_manifest(models)
    except AskonceError:  # damaged: this training replaces it
        return True
    servings = (manifest.questions, manifest.answers)
    return any(serving and (serving.figures or serving.teacher) for serving in servings)


def _read_snapshot(name: str, work: Path) -> Snapshot:
    records = list(read_posts(work / POSTS))
    posts = [record for record in records if isinstance(record, Post)]
    questions = {post.id: post for post in posts if post.kind == "question"}
    answers = {post.id: post for post in posts if post.kind == "answer"}
    links = tuple(record for record in records if isinstance(record, Link))
    weighted_labels = tuple(
        WeightedLabel(**x.values) for x in read_objects(work / FEEDBACK, may_be_empty=True)
    )
    return Snapshot(name, questions, answers, links, weighted_labels)


FILE = "progress.json"
WRITE_EVERY = 1.0  # seconds between two writes during an epoch
HEARTBEAT = 15.0  # seconds between two writes while there are no events


@contextmanager
def progress_file(folder: Path, seconds: float, on_event: OnEvent) -> Iterator[OnEvent]:
    """Pass events on and record them in the file, which is removed when training ends.

    ``seconds`` is the time that training may take. The file is written regularly without events
    too: an old one is of a process that died.
    """
    progress = _Progress(folder / FILE, seconds)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT):
            progress.write()

    thread = threading.Thread(target=beat, name="progress", daemon=True)
    thread.start()

    def both(event: Event) -> None:
        progress.take(event)
        on_event(event)

    try:
        yield both
    finally:
        ended.set()
        thread.join()
        progress.path.unlink(missing_ok=True)


class _Progress:
    def __init__(self, path: Path, seconds: float) -> None:
        self.path, self._seconds = path, seconds
        self._begin, self._written = time.monotonic(), 0.0
        self._now: dict[str, Any] = {"history": []}
        self._lock = threading.Lock()

    def take(self, event: Event) -> None:
        match event:
            case Phase(text, task):
                self._now = {"text": text, "history": []} | ({"task": task} if task else {})
            case Step(epoch, done, total, loss):
                self._now |= {"epoch": epoch, "done": done, "of": total, "loss": loss}
            case Epoch(loss=float(loss)):
                record = {"epoch": event.epoch, "loss": loss, "dev": dict(event.dev)}
                self._now["history"] = [*self._now["history"], record]
        if not isinstance(event, Step | Reading) or time.monotonic() - self._written >= WRITE_EVERY:
            self.write()

    def write(self) -> None:
        with self._lock:
            self._written = time.monotonic()
            share = min(1.0, (self._written - self._begin) / self._seconds)
            write_atomic(self.path, json.dumps(self._now | {"share": round(share, 3)}))
