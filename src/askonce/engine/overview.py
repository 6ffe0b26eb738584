"""The archive and the models in service at a glance, for the page and ``/api/overview``."""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.archive import Archive
from askonce.config import as_dict
from askonce.engine.checked import LikelyAnswer
from askonce.engine.feedback import feedback_report
from askonce.engine.results import Status
from askonce.ranking.manifest import FOLDER, Serving, read_manifest
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.engine.engine import Engine

MIN_CONFIDENCE = 0.5  # for a pair to be listed as a likely duplicate, or for its answer
PROGRESS = ".training/progress.json"  # below the models folder; written by a running training
MAX_MONTHS = 100 * 12  # shown
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])$").match
STALE_SECONDS = 60  # without an update, the training is considered dead


def describe_archive(engine: "Engine", limit: int) -> dict[str, Any]:
    """Counts, growth, unanswered questions with a likely answer, likely duplicates."""
    archive = engine.archive
    return {
        "counts": archive.counts(),
        "growth": [
            {"month": month, "questions": questions, "answers": answers}
            for month, questions, answers in _every_month(archive.growth())
        ],
        "unanswered": _unanswered(engine, limit),
        "duplicates_found": _duplicates(engine, limit),
    }


def _every_month(growth: Sequence[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """The months with posts and those without in between, oldest first."""
    counted = {month: (questions, answers) for month, questions, answers in growth}
    numbers = [12 * int(month[:4]) + int(month[5:7]) - 1 for month in counted if _MONTH(month)]
    if not numbers or max(numbers) - min(numbers) > MAX_MONTHS:  # a date that cannot be right
        return list(growth)
    months = (f"{n // 12:04}-{n % 12 + 1:02}" for n in range(min(numbers), max(numbers) + 1))
    return [(month, *counted.get(month, (0, 0))) for month in months]


def _unanswered(engine: "Engine", limit: int) -> list[dict[str, Any]]:
    """The newest questions without an answer, with one of a question that is likely the same."""
    questions = engine.archive.newest(limit, unanswered=True)
    likely = engine.checked.answers(questions, MIN_CONFIDENCE)
    return [
        _id_and_title(post) | {"created": post.created, "likely": _likely(one)}
        for post, one in zip(questions, likely, strict=True)
    ]


def _likely(one: LikelyAnswer | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "answer_id": one.answer.id,
        "question_id": one.pair.other.id,
        "question_title": one.pair.other.title,
        "text": one.answer.text,
        "probability": one.pair.confidence,
        "calibrated": one.pair.calibrated,
    }


def _duplicates(engine: "Engine", limit: int) -> list[dict[str, Any]]:
    return [
        _id_and_title(pair.question)
        | {
            "other_id": pair.other.id,
            "other_title": pair.other.title,
            "probability": pair.confidence,
            "calibrated": pair.calibrated,
        }
        for pair in engine.checked.duplicates(limit, MIN_CONFIDENCE)
    ]


def _id_and_title(post: Post) -> dict[str, Any]:
    return {"id": post.id, "title": post.title or post.body[:80]}


def describe_models(archive: Archive, model: str | None, status: Status) -> dict[str, Any]:
    """The models in service with their figures, a running training, and feedback by week."""
    folder = archive.folder
    tasks: dict[str, Any] = {"questions": None, "answers": None}
    created, floor = None, Serving().floor
    if folder is not None and model is not None:
        manifest = read_manifest(folder / FOLDER / model)
        created = manifest.created
        tasks |= {task: as_dict(serving) for task, serving in manifest.servings.items()}
        floor = manifest.questions.floor if manifest.questions else floor
    return {
        "current": model,
        "created": created,
        "status": status.model_dump(),
        "tasks": tasks,
        "training": _training(folder) if folder is not None else None,
        "feedback": feedback_report(archive, floor),
    }


def _training(folder: Path) -> Any:  # noqa: ANN401 - JSON of another process
    path = folder / FOLDER / PROGRESS
    try:
        if time.time() - path.stat().st_mtime > STALE_SECONDS:
            return None
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
