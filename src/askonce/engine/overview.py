"""The archive and the models in service at a glance, for the page and ``/api/overview``."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.config import as_dict
from askonce.engine.duplicates import find_duplicates
from askonce.engine.results import RankedAnswer, Status
from askonce.ranking.manifest import FOLDER, read_manifest
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

MIN_CONFIDENCE = 0.5  # for a pair to be listed as a likely duplicate
NEWEST = 200  # questions checked for duplicates
PROGRESS = ".training/progress.json"  # below the models folder; written by a running training
STALE_SECONDS = 60  # without an update, the training is considered dead


def describe_archive(engine: "Engine", limit: int) -> dict[str, Any]:
    """Counts, growth, unanswered questions with a likely answer, likely duplicates."""
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
    hits = engine.answers_many([post.text for post in questions], 1) if questions else []
    return [
        _id_and_title(post)
        | {"created": post.created, "likely": _likely(answers[0]) if answers else None}
        for post, answers in zip(questions, hits, strict=True)
    ]


def _likely(answer: RankedAnswer) -> dict[str, Any]:
    fields = {"question_id", "question_title", "text", "score"}
    return {"answer_id": answer.id} | answer.model_dump(include=fields)


def _duplicates(engine: "Engine", limit: int) -> list[dict[str, Any]]:
    newest = engine.archive.newest(NEWEST)
    pairs = [pair for pair in find_duplicates(engine, newest, MIN_CONFIDENCE) if pair is not None]
    pairs.sort(key=lambda pair: -pair.confidence)
    return [
        _id_and_title(pair.question)
        | {
            "other_id": pair.other.id,
            "other_title": pair.other.title,
            "probability": pair.confidence,
            "calibrated": pair.calibrated,
        }
        for pair in pairs[:limit]
    ]


def _id_and_title(post: Post) -> dict[str, Any]:
    return {"id": post.id, "title": post.title or post.body[:80]}


def describe_models(folder: Path | None, model: str | None, status: Status) -> dict[str, Any]:
    """The models in service with their dev figures, and the progress of a running training."""
    tasks: dict[str, Any] = {"questions": None, "answers": None}
    created = None
    if folder is not None and model is not None:
        manifest = read_manifest(folder / FOLDER / model)
        created = manifest.created
        for task in tasks:
            serving = getattr(manifest, task)
            tasks[task] = as_dict(serving) if serving is not None else None
    return {
        "current": model,
        "created": created,
        "status": status.model_dump(),
        "tasks": tasks,
        "training": _training(folder) if folder is not None else None,
    }


def _training(folder: Path) -> Any:  # noqa: ANN401 - JSON of another process
    path = folder / FOLDER / PROGRESS
    try:
        if time.time() - path.stat().st_mtime > STALE_SECONDS:
            return None
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
