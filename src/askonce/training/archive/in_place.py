"""Train an archive in its own folder: new models, in service once all of them are finished.

During training, ``models/.training`` holds the runs and a copy of the posts. A training run that
was stopped resumes with these posts, whatever was written since, so it ends with the same models;
the next run learns from the rest. A run older than a day starts again from the beginning.
"""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from askonce.archive import Archive, Snapshot
from askonce.archive.desk.feedback import Judgement
from askonce.data.formats.jsonl import read_objects, write_objects
from askonce.data.formats.posts import read_posts, write_posts
from askonce.files import locked, write_atomic
from askonce.ranking.manifest import (
    FOLDER,
    Manifest,
    current,
    new_folder,
    remove_old,
    save_manifest,
    write_manifest,
)
from askonce.training.archive.progress import progress_file
from askonce.training.archive.run import (
    WORDS,
    Trained,
    TrainOptions,
    first_servings,
    train_snapshot,
)
from askonce.training.events import Note, OnEvent, Phase
from askonce.types import Link, Post, utc_now

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
        if options.encoder is None and current(home) is None:
            _serve_starter(archive, home, options, on_event)
        posts, change = _begin_or_resume(archive, work, options, on_event)
        with progress_file(work, 60 * options.minutes, on_event) as report:
            trained = train_snapshot(posts, work, options, report, change)
        shutil.rmtree(work / WORDS, ignore_errors=True)
        for name in (BEGUN, POSTS, FEEDBACK):
            (work / name).unlink()
        folder = new_folder(home)
        os.replace(work, folder)
        write_manifest(folder, trained.manifest)
        remove_old(home)
    return replace(trained, folder=folder)


def _serve_starter(archive: Archive, home: Path, options: TrainOptions, on_event: OnEvent) -> None:
    """Put the starter in service until there is something better; it needs no training."""
    on_event(Phase("comparing the starter with BM25"))
    change = archive.change
    servings = first_servings(archive.snapshot(), options)
    manifest = Manifest(utc_now(), servings.get("questions"), servings.get("answers"), change)
    write_manifest(new_folder(home), manifest)


def _begin_or_resume(
    archive: Archive, work: Path, options: TrainOptions, on_event: OnEvent
) -> tuple[Snapshot, int]:
    """The posts of a stopped run with the same options, else those of the archive as it is now."""
    settings = _settings(options)
    now, record = datetime.now(UTC), {}
    with suppress(FileNotFoundError, ValueError):
        record = json.loads((work / BEGUN).read_text("utf-8"))
    if record.get("options") == settings and now - datetime.fromisoformat(record["began"]) < STALE:
        on_event(Note(f"resuming the training of {record['began']}"))
        return _read_snapshot(archive.name, work), record["change"]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    change = archive.change
    posts = archive.snapshot()
    write_posts(work / POSTS, (*posts.questions.values(), *posts.answers.values(), *posts.links))
    write_objects(work / FEEDBACK, map(asdict, posts.judgements))
    began = now.isoformat(timespec="seconds")
    text = json.dumps({"began": began, "change": change, "options": settings})
    write_atomic(work / BEGUN, text)  # last: it marks the posts as complete
    return posts, change


def _settings(options: TrainOptions) -> dict[str, Any]:
    """The options that must be the same for a run to resume; the time may differ."""
    settings = asdict(options) | {"tasks": list(options.tasks), "vectors": str(options.vectors)}
    del settings["minutes"]
    return settings


def _read_snapshot(name: str, work: Path) -> Snapshot:
    records = list(read_posts(work / POSTS))
    posts = [record for record in records if isinstance(record, Post)]
    questions = {post.id: post for post in posts if post.kind == "question"}
    answers = {post.id: post for post in posts if post.kind == "answer"}
    links = tuple(record for record in records if isinstance(record, Link))
    judgements = tuple(
        Judgement(**x.values) for x in read_objects(work / FEEDBACK, may_be_empty=True)
    )
    return Snapshot(name, questions, answers, links, judgements)
