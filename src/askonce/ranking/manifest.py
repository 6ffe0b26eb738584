"""The models folder of an archive: one sub-folder per training, and which of them serves.

``models/current`` names the sub-folder in service; ``manifest.json`` in it says how to use it. A
new training writes a new sub-folder and then changes the name, so a running engine sees the old or
the new one, never half of it.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from askonce.config import as_dict, settings
from askonce.errors import AskonceError, DataError
from askonce.files import json_value, need_inside, write_atomic
from askonce.ranking.calibration import Calibration
from askonce.ranking.votes import VoteWeights

FORMAT = 1
FOLDER, CURRENT, MANIFEST = "models", "current", "manifest.json"
SENTENCE = "sentence:"  # before the name of an encoder of sentence-transformers

TaskName = Literal["questions", "answers"]
How = Literal["zscore", "reciprocal"]


@dataclass(frozen=True)
class Serving:
    """How one kind of posts is ranked: stages, the weights that join them, and what dev said.

    Candidates are the best 50 of BM25 and the best 50 of the vectors; each gets the raw scores of
    both, and ``fuse`` of ``index.fused`` joins these by ``how`` and ``weights``. Where a pair model
    serves, the best 50 of them get its score too, and the three are joined over these 50 alone.
    """

    # a ranker folder below the manifest's, or "sentence:NAME" for a sentence-transformers model
    encoder: str | None = None
    pair: str | None = None  # the ranker folder of a pair model that re-ranks the best candidates
    how: How = "zscore"
    # of "bm25", "vectors" and "pair"; the first two choose candidates, all three their order
    weights: Mapping[str, float] = field(default_factory=lambda: {"bm25": 1.0})
    calibration: Calibration | None = None  # scores to the probability that a question is the same
    blend: VoteWeights | None = None  # how votes and the accepted mark may be weighed in
    labels: str = ""  # what it learnt from: "duplicates", "titles" or "answers"
    # split -> system -> metric -> value. Systems: "bm25", "vectors", "pair" and "fused", which is
    # what serves; "without pair" where a pair model serves; "vectors NAME" and "fused NAME" for
    # encoders that were tried and not taken. And "probability" -> "test" -> how well the
    # calibration foretells
    figures: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    queries: Mapping[str, int] = field(default_factory=dict)  # of each split
    history: tuple[Mapping[str, Any], ...] = ()  # one record per epoch of the encoder
    seconds: float = 0.0  # of training


@dataclass(frozen=True)
class Manifest:
    """What one training of an archive left."""

    created: str  # ISO 8601
    questions: Serving | None = None
    answers: Serving | None = None
    change: int = 0  # of the archive, when training read it
    format: int = FORMAT


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a finished training and put it in service."""
    save_manifest(folder, manifest)
    write_atomic(folder.parent / CURRENT, folder.name + "\n")


def save_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest beside the models that it names, without putting them in service."""
    text = json.dumps(as_dict(manifest), indent=2, ensure_ascii=False) + "\n"
    write_atomic(folder / MANIFEST, text)


def remove_old(archive: Path, keep: int = 2) -> None:
    """Remove all trainings but the last ones; never the one in service."""
    serving = current(archive)
    finished = [path for path in _numbered(archive) if (path / MANIFEST).is_file()]
    kept = {*finished[-keep:], serving}
    for path in _numbered(archive):
        if path not in kept:
            shutil.rmtree(path, ignore_errors=True)


def current(archive: Path) -> Path | None:
    """The folder of the models in service; None before the first training."""
    pointer = archive / FOLDER / CURRENT
    try:
        name = pointer.read_text("utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(pointer, "the name of a folder beside it", str(error)) from None
    if not name or name != Path(name).name or name.startswith("."):
        raise DataError(pointer, "the name of a folder beside it", name)
    return need_inside(archive / FOLDER, name)


def new_folder(archive: Path) -> Path:
    """An empty folder for the next training, numbered after those that are there."""
    home = archive / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    there = _numbered(archive)
    folder = home / f"{int(there[-1].name) + 1 if there else 1:04d}"
    folder.mkdir()
    return folder


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a training."""
    path = folder / MANIFEST
    if not path.is_file():
        raise AskonceError(f"no {MANIFEST} in {str(folder)!r}; train again")
    record = json_value(need_inside(folder, MANIFEST))
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, dict) else record
        raise DataError(path, f"format {FORMAT}", found)
    manifest = settings(Manifest, record, "")
    for serving in (manifest.questions, manifest.answers):
        for name in (serving.encoder, serving.pair) if serving is not None else ():
            if name is not None and not name.startswith(SENTENCE):
                need_inside(folder, name)
    return manifest


def _numbered(archive: Path) -> list[Path]:
    """The folders of trainings, oldest first."""
    found = (path for path in (archive / FOLDER).iterdir() if path.name.isdecimal())
    return sorted(found, key=lambda path: int(path.name))
