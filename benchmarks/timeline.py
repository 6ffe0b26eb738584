"""How good search is while an archive is imported, trained and read: MRR over time.

    python benchmarks/timeline.py FOLDER [--minutes 4.5] [--seconds 1200] [--all] [--json FILE]

InsuranceQA's 44,302 posts become an archive. One process serves it and lets the teacher read in the
background, another one runs `askonce train`; once in a while, answers are searched for questions
whose answers nobody has marked: training neither learns from them nor reads them before others.
Start with an empty cache (ASKONCE_CACHE), else the teacher has read everything before. Seconds of
the clock: nothing else should run on the machine.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from askonce.archive import Archive, open_archive
from askonce.archive.load import load
from askonce.data.benchmarks.pools import stable_hash
from askonce.data.forums import IMPORTERS, Source
from askonce.engine import Engine
from askonce.ranking.manifest import current, read_manifest
from askonce.ranking.stages import Query
from askonce.training.archive.tasks.labels import ArchiveLabels, LabelledQuery

QUESTIONS = 300  # to measure by
EVERY = 20.0  # seconds between two measurements


@dataclass(frozen=True)
class Point:
    """What serves at one moment."""

    seconds: float
    mrr: float
    read: float | None
    model: str


def set_aside(archive: Archive) -> list[LabelledQuery]:
    """Questions to measure by, whose answers lose their mark and votes before training.

    A question with linked ones is not chosen: their answers may be right for it as well.
    """
    labels = ArchiveLabels.of(archive.snapshot())
    single = [query for query in labels.answered() if not labels.related[query.query.id]]
    chosen = sorted(single, key=lambda query: stable_hash(query.query.id))[:QUESTIONS]
    names = [post.id for query in chosen for post in (*query.right, *query.wrong)]
    posts = archive.posts(names).values()
    archive.write([replace(post, accepted=False, score=None) for post in posts])
    return chosen


def mrr(engine: Engine, queries: list[LabelledQuery]) -> float:
    """Of the first right answer, by its own text; an answer's question lends it nothing."""
    with engine.searching("answer") as search:
        ranked = search.rank([Query(query.query.text) for query in queries])
    ranks = [
        next((1 / (1 + n) for n, name in enumerate(one.ids) if name in query.right_ids), 0.0)
        for query, one in zip(queries, ranked, strict=True)
    ]
    return float(np.mean(ranks))


def served(engine: Engine) -> str:
    """The encoder of answers in service."""
    model = engine.status().model
    folder = engine.archive.folder
    if model is None or folder is None:
        return "BM25"
    serving = read_manifest(folder / "models" / model).answers
    if serving is None or serving.encoder is None:
        return "BM25"
    return f"{serving.fast} then {serving.encoder}" if serving.fast else serving.encoder


def follow(engine: Engine, queries: list[LabelledQuery], seconds: float) -> list[Point]:
    """Measure until everything is read, or the time is over."""
    begin, points = time.monotonic(), []
    while True:
        now = time.monotonic() - begin
        point = Point(round(now, 1), mrr(engine, queries), engine.status().read, served(engine))
        points.append(point)
        print(json.dumps(asdict(point)), flush=True)
        if point.read == 1 or now > seconds:
            return points
        time.sleep(max(0.0, EVERY - (time.monotonic() - begin - now)))


def draw(points: list[Point], path: Path) -> None:
    """MRR and the share that is read, over minutes."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    minutes = [point.seconds / 60 for point in points]
    axes.plot(minutes, [point.mrr for point in points], label="MRR of answers", color="C0")
    axes.set(xlabel="minutes since the import", ylabel="MRR", ylim=(0, None))
    share = axes.twinx()
    share.plot(minutes, [point.read or 0 for point in points], "--", color="C1")
    share.set(ylabel="read by the teacher (dashed)", ylim=(0, 1.02))
    shown = None
    for point in points:
        if point.model != shown:
            shown = point.model
            axes.axvline(point.seconds / 60, color="grey", linewidth=0.5)
            label = shown.replace("answers/", "").replace("sentence:", "")
            axes.text(point.seconds / 60, 0.01, f" {label}", rotation=90, va="bottom", fontsize=7)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Import, serve, train, measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=4.5, help="of training")
    parser.add_argument("--seconds", type=float, default=1200.0, help="to measure for")
    parser.add_argument("--reading", type=float, default=1.0, help="share of one core")
    parser.add_argument("--all", action="store_true", help="then read the rest, for a last figure")
    parser.add_argument("--archive", help="an archive to copy instead of InsuranceQA")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    archive = Archive.open(given.folder, create=True)
    if given.archive:
        source = open_archive(given.archive)
        archive.write(source.iterate(), source.links())
    else:
        load(archive, IMPORTERS["insuranceqa"](Source()))
    queries = set_aside(archive)
    posts = sum(archive.counts()[kind] for kind in ("questions", "answers"))
    engine = Engine(archive, reading=given.reading)
    with engine:
        engine.start(background=True)
        command = [sys.executable, "-m", "askonce", "train", str(given.folder)]
        command += ["--minutes", str(given.minutes)]
        training = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            points = follow(engine, queries, given.seconds)
        finally:
            training.wait()
        if given.all:
            engine.read_all()
        after = mrr(engine, queries)
    models = current(given.folder)
    result = {
        "posts": posts,
        "questions": len(queries),
        "minutes of training": given.minutes,
        "share of a core for reading": given.reading,
        "model": models.name if models else None,
        "first vectors after s": _first(points, lambda point: point.model != "BM25"),
        "student after s": _first(points, lambda point: "student" in point.model),
        "mrr at the end": {"read": engine.status().read, "mrr": after},
        "points": [asdict(point) for point in points],
    }
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    if given.svg:
        draw(points, given.svg)


def _first(points: list[Point], reached: Callable[[Point], bool]) -> float | None:
    return next((point.seconds for point in points if reached(point)), None)


if __name__ == "__main__":
    main()
