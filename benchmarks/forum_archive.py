"""An archive of a generated forum with untrained models: import, index, and what each took.

The models are those that ``askonce train`` makes, untrained: speed does not depend on their
weights.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from forum import Forum

Tell = Callable[[str], None]


def make(
    folder: Path, questions: int, scratch: Path, tell: Tell = lambda step: None
) -> dict[str, float]:
    """Import the forum, index it, leave models in it; what each of these took."""
    found: dict[str, float] = {}
    if not folder.exists():
        dump = scratch / "dump"
        dump.mkdir()
        tell("writing the dump")
        posts = Forum(questions).write(dump)
        tell("importing")
        seconds = run_askonce("import", "stackexchange", dump, "--into", folder)
        found["import_posts_per_s"] = round(posts / seconds, 1)
        found["all_posts"] = posts
        tell("indexing words")
        found["lexical_index_s"] = round(run_askonce("index", folder), 2)
        tell("making models")
        leave_models(folder)
        tell("indexing vectors")
        found["vector_index_s"] = round(run_askonce("index", folder), 2)
    found["disk_mb"] = round(sum(sizes(folder).values()) / 1e6, 1)
    return found


def run_askonce(*words: object) -> float:
    """Run a command of the program as a user would; the seconds that it took."""
    command = [sys.executable, "-m", "askonce", *map(str, words)]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=sys.stderr)
    return time.perf_counter() - begin


def sizes(folder: Path) -> dict[str, int]:
    """Bytes on the disk of each part of an archive's folder."""
    parts = dict.fromkeys(("archive", "words", "keys", "graphs", "ids", "models"), 0)
    for path in folder.rglob("*"):
        if path.is_file():
            parts[_part(path.relative_to(folder))] += path.stat().st_size
    return parts


def _part(path: Path) -> str:
    if path.parts[0] == "models":
        return "models"
    if path.parts[0] != "index":
        return "archive"
    if path.parts[1].startswith("lexical"):
        return "words"
    return {".f32": "keys", ".usearch": "graphs"}.get(path.suffix, "ids")


def leave_models(folder: Path) -> None:
    """Leave untrained models as a training would."""
    from askonce.archive import Archive
    from askonce.ranker import Ranker
    from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest
    from askonce.text.lexicon import Lexicon
    from askonce.training.archive.recipes import ENCODERS, PAIR

    archive = Archive.open(folder)
    lexicon = Lexicon.build(archive.iterate(), min_count=2)
    vectors = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 100))
    home = new_folder(folder)

    def leave(name: str, recipe: Mapping[str, Any]) -> str:
        settings = dict(recipe["model"])
        own = replace(lexicon, max_words=recipe.get("text", {}).get("max_words"))
        ranker = Ranker.create(settings.pop("name"), own, vectors.astype(np.float32), settings)
        ranker.save(home / name)
        return name

    pair, weights = leave("pair", PAIR), {"bm25": 1.0, "vectors": 0.5, "pair": 0.5}
    serving = [
        Serving(leave(task, ENCODERS[task]), pair, weights=weights)
        for task in ("questions", "answers")
    ]
    write_manifest(home, Manifest("2026-01-01T00:00:00+00:00", *serving))
    archive.close()
