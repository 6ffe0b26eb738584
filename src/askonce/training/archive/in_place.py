"""Train an archive where it lies: a new folder of models, in service once all is finished.

While it lasts, ``models/.training`` holds the runs and the posts as they were when it began. A
training that was stopped goes on with these posts, whatever was written since: so it ends with what
it would have ended with, and the next training learns the rest. After a day it starts anew.
"""

import json
import os
import shutil
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from askonce.archive import Archive, Snapshot
from askonce.files import locked, write_atomic
from askonce.ranking.manifest import (
    FOLDER,
    new_folder,
    remove_old,
    save_manifest,
    write_manifest,
)
from askonce.training.archive.progress import shown
from askonce.training.archive.run import WORDS, Trained, TrainOptions, train_snapshot
from askonce.training.events import Note, OnEvent
from askonce.types import Link, Post

WORK, LOCK = ".training", ".training.lock"
BEGUN, POSTS = "begun.json", "posts.jsonl"
STALE = timedelta(days=1)


def train_on_archive(
    archive: Archive, wishes: TrainOptions, on_event: OnEvent, out: Path | None = None
) -> Trained:
    """Train on an archive and put what is best on dev in service.

    Where the archive is in a folder, so are its models; of others, ``out`` or ``runs/NAME`` gets
    them, and nothing is put in service.
    """
    if archive.folder is not None and out is None:
        return _train_in_place(archive, archive.folder, wishes, on_event)
    folder = out or Path("runs") / archive.name
    change = archive.change
    trained = train_snapshot(archive.snapshot(), folder, wishes, on_event, change)
    shutil.rmtree(folder / WORDS, ignore_errors=True)
    save_manifest(folder, trained.manifest)
    return trained


def _train_in_place(
    archive: Archive, home: Path, wishes: TrainOptions, on_event: OnEvent
) -> Trained:
    refusal = f"another training of {str(home)!r} is running; wait until it is finished"
    with locked(home / FOLDER / LOCK, refusal):
        work = home / FOLDER / WORK
        posts, change = _begun(archive, work, wishes, on_event)
        with shown(work, 60 * wishes.minutes, on_event) as also_shown:
            trained = train_snapshot(posts, work, wishes, also_shown, change)
        shutil.rmtree(work / WORDS, ignore_errors=True)
        for name in (BEGUN, POSTS):
            (work / name).unlink()
        place = new_folder(home)
        os.replace(work, place)
        write_manifest(place, trained.manifest)
        remove_old(home)
    return replace(trained, folder=place)


def _begun(
    archive: Archive, work: Path, wishes: TrainOptions, on_event: OnEvent
) -> tuple[Snapshot, int]:
    """The posts of a training that was stopped, if it was like this one; else those of now."""
    told = _settings(wishes)
    record = _read_begun(work / BEGUN)
    if record is not None and record["wishes"] == told and not _is_stale(record["began"]):
        on_event(Note(f"going on with the training of {record['began']}"))
        return _read_posts(archive.name, work / POSTS), record["change"]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    change = archive.change
    posts = archive.snapshot()
    _write_posts(posts, work / POSTS)
    began = datetime.now(UTC).isoformat(timespec="seconds")
    text = json.dumps({"began": began, "change": change, "wishes": told})
    write_atomic(work / BEGUN, text)  # last: it says that the posts are whole
    return posts, change


def _settings(wishes: TrainOptions) -> dict[str, Any]:
    """What must be the same for a training to go on; more or less time may be left."""
    told = asdict(wishes) | {"tasks": list(wishes.tasks), "vectors": str(wishes.vectors)}
    del told["minutes"]
    return told


def _read_begun(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _is_stale(began: str) -> bool:
    return datetime.now(UTC) - datetime.fromisoformat(began) > STALE


def _write_posts(posts: Snapshot, path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for post in (*posts.questions.values(), *posts.answers.values()):
            stream.write(json.dumps(asdict(post) | {"html": ""}) + "\n")
        for link in posts.links:
            stream.write(json.dumps(asdict(link)) + "\n")


def _read_posts(name: str, path: Path) -> Snapshot:
    posts: list[Post] = []
    links: list[Link] = []
    with path.open(encoding="utf-8") as stream:
        for record in map(json.loads, stream):
            if "source" in record:
                links.append(Link(**record))
            else:
                posts.append(Post(**record | {"tags": tuple(record["tags"])}))
    questions = {post.id: post for post in posts if post.kind == "question"}
    answers = {post.id: post for post in posts if post.kind == "answer"}
    return Snapshot(name, questions, answers, tuple(links))
