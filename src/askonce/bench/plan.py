"""Which cells a bench runs: from names as typed to rows, and from rows to cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askonce.baselines import BASELINES
from askonce.bench.data import BenchData, Setup
from askonce.bench.rows.base import Row
from askonce.bench.rows.baseline import BaselineRow
from askonce.bench.rows.fusion import FusionRow
from askonce.bench.rows.sentence_encoder import SentenceRow, StarterRow
from askonce.bench.rows.trained import TrainedRow, up_to_date
from askonce.bench.store import FORMAT, LONGEST, Store
from askonce.errors import ConfigError, UnknownName
from askonce.models import MODELS
from askonce.registry import nearest
from askonce.teachers import MINILM, STARTER
from askonce.training.defaults import ROWS, default_recipe

SENTENCE, CROSS = "sentence-transformers", "cross-encoder"
DEFAULT_BASELINES = ("random", "bm25", "tfidf", "word-vectors", "overlap", "svm")
CROSS_ENCODER_POOL = 100  # candidates of a pool beyond which the cross-encoder is too slow


@dataclass(frozen=True)
class Bench:
    setup: Setup
    datasets: Sequence[str]
    models: Sequence[str] = ()
    seeds: int = 1
    jobs: int = 1  # processes at a time; 0: run everything in this process
    threads: int | None = 1  # per job; None: leave torch's setting
    longest: float = LONGEST


@dataclass(frozen=True)
class CellPlan:
    """One cell, described such that another process can run it."""

    setup: Setup
    dataset: str
    model: str
    seed: int

    def __str__(self) -> str:
        return f"{self.dataset} · {self.model} · seed {self.seed}"


def row_of(name: str, dataset: str, recipes: Path) -> Row:
    """The row that a name stands for on a dataset.

    ``hyperqa``: the recipe recipes/DATASET/hyperqa.toml, or else the default one.
    ``hyperqa@model.dim=100@train.rate=0.1``: the same with changes. ``my/recipe.toml``: any
    recipe. ``bm25``: a baseline. ``minilm``, ``sentence-transformers:NAME``, ``cross-encoder``,
    ``cross-encoder:NAME``: transformers.
    ``starter``: the student inside the package. ``bm25+hyperqa``: a fusion.
    """
    name = name.strip()
    if "+" in name:
        return FusionRow([row_of(part, dataset, recipes) for part in name.split("+")])
    plain, *changes = name.split("@")
    kind, _, checkpoint = plain.partition(":")
    if kind in (MINILM, STARTER, SENTENCE, CROSS) or plain in BASELINES:
        if changes:
            raise ConfigError(f"{name!r}: only recipes can be changed with @")
        return _fixed_row(plain, kind, checkpoint or None)
    path, label, own = _recipe(plain, dataset, recipes)
    return TrainedRow("@".join([label, *changes]), path, [*own, *changes], dataset)


def default_names(dataset: str, recipes: Path, largest_pool: int) -> list[str]:
    """All baselines, transformers and recipes of a dataset, and each neural row fused with BM25.

    The cross-encoder is included only where it can read whole pools in reasonable time.
    """
    own = sorted(path.stem for path in (recipes / dataset).glob("*.toml")) or list(ROWS)
    neural = [MINILM, *([CROSS] if largest_pool <= CROSS_ENCODER_POOL else []), *own]
    return [*DEFAULT_BASELINES, *neural, *(f"bm25+{name}" for name in neural)]


def planned_rows(bench: Bench, data: BenchData) -> list[Row]:
    """The rows of a bench, each once; parts of fusions come before the fusions."""
    name, recipes = data.dataset.name, bench.setup.recipes
    names = bench.models or default_names(name, recipes, data.largest_pool())
    rows = [row_of(model, name, recipes) for model in names]
    fusions = [row for row in rows if isinstance(row, FusionRow)]
    single = [row for row in rows if not isinstance(row, FusionRow)]
    parts = [part for row in fusions for part in row.parts]
    return list({row.label: row for row in [*single, *parts, *fusions]}.values())


def cell_settings(row: Row, data: BenchData, setup: Setup) -> dict[str, Any]:
    """All that decides a cell's scores besides its seed; a cell with other settings is stale."""
    return {
        "format": FORMAT,
        "dataset": data.dataset.name,
        "data": data.shape(),
        "scored": data.scored,
        "quick": setup.quick,
        "row": row.settings(setup.vectors, setup.quick),
    }


def is_finished(store: Store, row: Row, data: BenchData, seed: int, setup: Setup) -> bool:
    """Whether the store has the cell, run with the present settings."""
    cell = store.cell(data.dataset.name, row.label, seed)
    if cell is None:
        return False
    try:
        stored = {**cell.settings, "row": up_to_date(cell.settings["row"])}
    except ConfigError:  # a setting that no longer exists
        return False
    return stored == cell_settings(row, data, setup)


def _fixed_row(plain: str, kind: str, checkpoint: str | None) -> Row:
    if kind == CROSS:
        from askonce.bench.rows.cross_encoder import CrossEncoderRow  # with torch

        return CrossEncoderRow(plain, checkpoint)
    if kind == SENTENCE and checkpoint is None:
        raise ConfigError(f"{plain!r} needs a name or folder: {SENTENCE}:NAME")
    if kind == STARTER:
        return StarterRow()
    if kind in (MINILM, SENTENCE):
        return SentenceRow(plain, checkpoint or kind)
    return BaselineRow(plain)


def _recipe(plain: str, dataset: str, recipes: Path) -> tuple[Path, str, list[str]]:
    """The file of a recipe, the row's name, and what to change in a default recipe."""
    if plain.endswith(".toml"):
        return Path(plain), plain, []
    label = MODELS.resolve(plain) if plain in MODELS else plain
    path = recipes / dataset / f"{label}.toml"
    if path.is_file():
        return path, label, []
    if (default := default_recipe(plain)) is not None:
        return default[0], label, default[1]
    known = [*BASELINES.names(), *MODELS.names(), MINILM, STARTER, SENTENCE, CROSS]
    raise UnknownName(f"no model is called {plain!r}; {nearest(plain, known)}")
