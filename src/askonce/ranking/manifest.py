"""The models folder of an archive: one sub-folder per training run, and which of them serves.

``models/current`` names the sub-folder in service; its ``manifest.json`` says how to use it. A new
training run writes a new sub-folder and then replaces ``current``, so a running engine sees the old
models or the new ones, never a mixture.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askonce.config import as_dict, settings
from askonce.errors import AskonceError, DataError
from askonce.files import json_value, need_inside, write_atomic
from askonce.ranking.calibration import Calibration
from askonce.ranking.fusion import Fusion, How
from askonce.ranking.votes import VoteWeights
from askonce.types import TaskName

FORMAT = 1
FOLDER, CURRENT, MANIFEST = "models", "current", "manifest.json"
SENTENCE = "sentence:"  # prefix of the name of a sentence-transformers encoder, or "starter"


@dataclass(frozen=True)
class TeacherReading:
    """How far a teacher had read a task's posts when the encoders were compared."""

    name: str  # as --encoder takes it
    read: int  # posts; where it read only part of them, every system was measured on that part
    posts: int
    tried: bool = True  # False: it had no time to read the questions of dev and test


@dataclass(frozen=True)
class Serving:
    """How one kind of posts is ranked: models, the fusion of stages, and dev and test figures.

    Candidates are the best 50 of BM25 and the best 50 of the vectors. Where a pair model serves, it
    reads the best 50 of them, and the three stages are fused over these 50.
    """

    # a ranker folder below the manifest's, or "sentence:NAME" for a sentence encoder
    encoder: str | None = None
    pair: str | None = None  # the ranker folder of a pair model that re-ranks the best candidates
    # an encoder in the same space that reads new posts and typed queries at once; the index takes
    # the vectors of ``encoder`` when it has read the posts
    fast: str | None = None
    how: How = "zscore"
    # of "bm25", "vectors" and "pair"; the first two select candidates, all three order them
    weights: Mapping[str, float] = field(default_factory=lambda: {"bm25": 1.0})
    # the weights where ``fast`` has read all posts and ``encoder`` none of them; they approach
    # ``weights`` with the share that it has read. Empty: they are the same
    unread_weights: Mapping[str, float] = field(default_factory=dict)
    # the weights for a question that is being typed, which ``fast`` reads. Empty: they are the same
    typed_weights: Mapping[str, float] = field(default_factory=dict)
    calibration: Calibration | None = None  # scores to the probability of a duplicate
    floor: float = 0.5  # the least probability at which a question is said to be the same
    close: float = 0.05  # below this probability, a question is only shown on request
    blend: VoteWeights | None = None  # how votes and the accepted mark add to an answer's score
    # what it learnt from: "duplicates", "titles" or "answers"; "" where the archive has no labels
    labels: str = ""
    # split -> system -> metric -> value. Systems: "bm25", "vectors", "pair" and "fused", which is
    # what serves; "without pair" where a pair model serves; "vectors NAME" and "fused NAME" for
    # encoders that were tried and not selected; "bm25 of all posts" and "fused of all posts" where
    # the others are of those that a teacher has read: with the vectors of ``fast``. And
    # "probability" -> "test" -> the quality of the calibration
    figures: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    # the 95 % interval of MAP over questions: split -> system -> low and high
    intervals: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    queries: Mapping[str, int] = field(default_factory=dict)  # of each split
    teacher: TeacherReading | None = None
    history: tuple[Mapping[str, Any], ...] = ()  # one record per epoch of the encoder
    seconds: float = 0.0  # of training

    @property
    def models(self) -> tuple[str | None, ...]:
        """Everything that has to be loaded."""
        return self.encoder, self.fast, self.pair

    @property
    def fusion(self) -> Fusion:
        return Fusion(self.how, self.weights)

    def fusion_at(self, read: float, typed: bool = False) -> Fusion:
        """The fusion where ``encoder`` has read this share of the posts, ``fast`` the others.

        ``typed``: where ``fast`` reads the question too.
        """
        last = self.typed_weights if typed and self.typed_weights else self.weights
        first = self.unread_weights or last
        return Fusion(
            self.how,
            {
                stage: (1 - read) * first.get(stage, 0.0) + read * last.get(stage, 0.0)
                for stage in dict.fromkeys((*last, *first))
            },
        )

    @property
    def untrained(self) -> str | None:
        """The system of the teacher as it comes, with BM25; None if it was not compared."""
        systems = self.figures.get("test", {})
        if self.teacher is None or not self.teacher.tried or not systems:
            return None
        if (name := f"fused {self.teacher.name}") in systems:
            return name
        if self.encoder != f"{SENTENCE}{self.teacher.name}":
            return None
        return "without pair" if "without pair" in systems else "fused"


@dataclass(frozen=True)
class Manifest:
    created: str  # ISO 8601
    questions: Serving | None = None
    answers: Serving | None = None
    change: int = 0  # the change number of the archive that training read
    format: int = FORMAT

    @property
    def servings(self) -> dict[TaskName, Serving]:
        """What serves each task that something serves."""
        both: dict[TaskName, Serving | None] = {
            "questions": self.questions,
            "answers": self.answers,
        }
        return {task: serving for task, serving in both.items() if serving is not None}


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a finished training run and put it in service."""
    save_manifest(folder, manifest)
    write_atomic(folder.parent / CURRENT, folder.name + "\n")


def save_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest beside the models that it names, without putting them in service."""
    text = json.dumps(as_dict(manifest), indent=2, ensure_ascii=False) + "\n"
    write_atomic(folder / MANIFEST, text)


def remove_old(archive: Path) -> None:
    """Remove all but the two newest training runs; never the one in service."""
    serving = current(archive)
    finished = [path for path in _numbered(archive) if (path / MANIFEST).is_file()]
    retained = {*finished[-2:], serving}
    for path in _numbered(archive):
        if path not in retained:
            shutil.rmtree(path, ignore_errors=True)


def current(archive: Path) -> Path | None:
    """The folder of the models in service; None before the first training run."""
    pointer = archive / FOLDER / CURRENT
    try:
        name = pointer.read_text("utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(pointer, "the name of a folder beside it", str(error)) from None
    if not name or name != Path(name).name or name.startswith("."):
        raise DataError(pointer, "the name of a folder beside it", name)
    return named(archive, name)


def named(archive: Path, name: str) -> Path:
    """The folder of a training by its name."""
    return need_inside(archive / FOLDER, name)


def new_folder(archive: Path) -> Path:
    """A new empty folder for a training run, with the next number."""
    home = archive / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    runs = _numbered(archive)
    folder = home / f"{int(runs[-1].name) + 1 if runs else 1:04d}"
    folder.mkdir()
    return folder


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise AskonceError(f"no {MANIFEST} in {str(folder)!r}; train again")
    record = json_value(need_inside(folder, MANIFEST))
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        version = record.get("format") if isinstance(record, dict) else record
        raise DataError(path, f"format {FORMAT}", version)
    manifest = settings(Manifest, record, "")
    for serving in manifest.servings.values():
        for name in serving.models:
            if name is not None and not name.startswith(SENTENCE):
                need_inside(folder, name)
    return manifest


def _numbered(archive: Path) -> list[Path]:
    """The folders of training runs, oldest first."""
    folders = (path for path in (archive / FOLDER).iterdir() if path.name.isdecimal())
    return sorted(folders, key=lambda path: int(path.name))
