"""What an archive holds and what serves it, as a page shows it."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.config import as_dict
from askonce.engine.duplicates import find_duplicates
from askonce.engine.results import Status
from askonce.ranking.manifest import FOLDER, read_manifest
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

LIKELY = 0.5  # confidence from which a pair is shown as a duplicate
NEWEST = 200  # questions that are looked at for duplicates
PROGRESS = ".training/progress.json"  # below the models; written by a training that is going on
STALE = 60  # seconds after which such a training is taken for dead


def describe_archive(engine: "Engine", limit: int) -> dict[str, Any]:
    """Counts, growth, unanswered questions with a likely answer, duplicates among the newest."""
    archive = engine.archive
    return {
        "counts": archive.counts(),
        "growth": [
            {"month": month, "questions": questions, "answers": answers}
            for month, questions, answers in archive.growth()
        ],
        "unanswered": _unanswered(engine, limit),
        "duplicates_found": _duplicates(engine, limit),
    }


def _unanswered(engine: "Engine", limit: int) -> list[dict[str, Any]]:
    questions = engine.archive.newest(limit, unanswered=True)
    found = engine.answers_many([post.text for post in questions], 1) if questions else []
    rows = []
    for post, hits in zip(questions, found, strict=True):
        likely = None
        if hits:
            answer = hits[0]
            likely = {
                "answer_id": answer.post.id,
                "question_id": answer.question.id,
                "question_title": answer.question.title,
                "text": answer.post.text,
                "score": answer.score,
            }
        rows.append(_named(post) | {"created": post.created, "likely": likely})
    return rows


def _duplicates(engine: "Engine", limit: int) -> list[dict[str, Any]]:
    newest = engine.archive.newest(NEWEST)
    found = [pair for pair in find_duplicates(engine, newest, LIKELY) if pair is not None]
    found.sort(key=lambda pair: -pair.confidence)
    return [
        _named(pair.question)
        | {
            "other_id": pair.other.id,
            "other_title": pair.other.title,
            "probability": pair.confidence,
            "calibrated": pair.calibrated,
        }
        for pair in found[:limit]
    ]


def _named(post: Post) -> dict[str, Any]:
    return {"id": post.id, "title": post.title or post.body[:80]}


def describe_models(folder: Path | None, model: str | None, status: Status) -> dict[str, Any]:
    """The models in service, what dev said of them, and the training that is going on."""
    tasks: dict[str, Any] = {"questions": None, "answers": None}
    created = None
    if folder is not None and model is not None:
        manifest = read_manifest(folder / FOLDER / model)
        created = manifest.created
        for name in tasks:
            serving = getattr(manifest, name)
            tasks[name] = as_dict(serving) if serving is not None else None
    return {
        "current": model,
        "created": created,
        "status": asdict(status),
        "tasks": tasks,
        "training": _training(folder) if folder is not None else None,
    }


def _training(folder: Path) -> Any:  # noqa: ANN401 - JSON of another process
    path = folder / FOLDER / PROGRESS
    try:
        if time.time() - path.stat().st_mtime > STALE:
            return None
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
