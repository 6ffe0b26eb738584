"""An archive of a generated forum with untrained models: import, index, and what each took.

    python benchmarks/forum_archive.py FOLDER QUESTIONS

The models are those that ``askonce train`` makes, untrained: speed does not depend on their
weights. As a script, it gives posts random vectors, which takes seconds instead of minutes. It runs
with the modules of older versions too.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from forum import Forum

if TYPE_CHECKING:
    from askonce.index.base import KeyEncoder

Tell = Callable[[str], None]


def make(
    folder: Path,
    questions: int,
    scratch: Path,
    tell: Tell = lambda step: None,
    encode: bool = True,
) -> dict[str, float]:
    """Import the forum, index it, leave models in it; what each of these took."""
    figures: dict[str, float] = {}
    if not folder.exists():
        dump = scratch / "dump"
        dump.mkdir()
        tell("writing the dump")
        posts = Forum(questions).write(dump)
        tell("importing")
        seconds = run_askonce("import", "stackexchange", dump, "--into", folder)
        figures["import_posts_per_s"] = round(posts / seconds, 1)
        figures["all_posts"] = posts
        tell("indexing words")
        figures["lexical_index_s"] = round(run_askonce("index", folder), 2)
        tell("making models")
        leave_models(folder)
        tell("indexing vectors")
        seconds = run_askonce("index", folder) if encode else index_random_keys(folder)
        figures["vector_index_s"] = round(seconds, 2)
    figures["disk_mb"] = round(sum(sizes(folder).values()) / 1e6, 1)
    return figures


def run_askonce(*words: object) -> float:
    """Run a command of the program as a user would; the seconds that it took."""
    command = [sys.executable, "-m", "askonce", *map(str, words)]
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=sys.stderr)
    return time.perf_counter() - begin


def index_random_keys(folder: Path) -> float:
    """Index posts by random keys as long as those of the encoders; the seconds that it took."""
    from askonce.engine import Engine

    module = import_any("askonce.key_encoders", "askonce.coder")
    kind = getattr(module, "RankerKeys", None) or module.RankerCoder
    random = np.random.default_rng(1)

    def candidate_keys(coder: "KeyEncoder", posts: Sequence[object]) -> np.ndarray:
        keys = random.normal(size=(len(posts), coder.query_keys(["a word"]).shape[1]))
        return (keys / np.linalg.norm(keys, axis=1, keepdims=True)).astype(np.float32)

    kind.candidate_keys = candidate_keys
    begin = time.perf_counter()
    Engine.open(folder).close()
    return time.perf_counter() - begin


def import_any(*names: str) -> ModuleType:
    """The first of these modules that exists; versions differ in their names."""
    for name in names:
        with suppress(ModuleNotFoundError):
            return import_module(name)
    raise SystemExit(f"none of {names} exists in this version")


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
    from askonce.text.lexicon import Lexicon

    manifests = import_any("askonce.ranking.manifest", "askonce.serving.manifest")
    recipes = import_any(
        "askonce.training.archive.candidates.recipes",
        "askonce.training.archive.recipes",
        "askonce.training.archive_recipes",
    )
    archive = Archive.open(folder)
    lexicon = Lexicon.build(archive.iterate(), min_count=2)
    vectors = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 100))
    home = manifests.new_folder(folder)

    def leave(name: str, recipe: Mapping[str, Any]) -> str:
        settings = dict(recipe["model"])
        own = replace(lexicon, max_words=recipe.get("text", {}).get("max_words"))
        ranker = Ranker.create(settings.pop("name"), own, vectors.astype(np.float32), settings)
        ranker.save(home / name)
        return name

    pair, weights = leave("pair", recipes.PAIR), {"bm25": 1.0, "vectors": 0.5, "pair": 0.5}
    serving = [
        manifests.Serving(leave(task, recipes.ENCODERS[task]), pair, weights=weights)
        for task in ("questions", "answers")
    ]
    manifests.write_manifest(home, manifests.Manifest("2026-01-01T00:00:00+00:00", *serving))
    archive.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as dump:
        make(Path(sys.argv[1]), int(sys.argv[2]), Path(dump), encode=False)
