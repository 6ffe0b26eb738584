"""The results of benches: a folder with a sub-folder for each finished cell.

    STORE/store.json                     format, whether figures are quick ones, data folders
    STORE/DATASET/SPLIT.qrels.gz         labels
    STORE/DATASET/speeds.json            written by benchmarks/readers.py
    STORE/DATASET/MODEL/SEED/cell.json   settings, figures, times, sizes, versions
                             per_query.json
                             runs/SPLIT.run.gz
                             ranker/     the trained ranker with metrics.jsonl, where there is one
                             pretrained/ curves of pre-training

A cell is written to ``.SEED.part`` and renamed when it is complete, so every folder named by a
seed is complete.

``keep`` copies figures and learning curves alone, a few kilobytes for each cell: enough for the
tables, too little for fusions and for figures that look inside a ranker.
"""

import gzip
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError
from askonce.evaluation import METRICS, Run, read_run
from askonce.files import json_value, write_atomic
from askonce.types import Dataset

FORMAT = 1
STORE, CELL, PER_QUERY, SETTINGS = "store.json", "cell.json", "per_query.json", "settings.json"
SPEEDS = "speeds.json"
CURVES, PRETRAINED = "ranker/metrics.jsonl", "pretrained/*.jsonl"
KEPT_PER_QUERY = f"{PER_QUERY}.gz"
DIGITS = 4  # of figures per question in a kept store

RowKind = Literal["baseline", "transformer", "trained", "fusion"]
Facts = dict[str, Any]  # seconds, speeds, sizes: plain values for JSON
Records = list[dict[str, Any]]
Speeds = dict[str, dict[str, float]]  # of each row, and "posts": their number
LONGEST = 600.0  # seconds of a first seed beyond which a row gets no further seeds by default


@dataclass(frozen=True)
class StoredCell:
    folder: Path
    dataset: str
    model: str  # a model, a variant such as ``hyperqa@model.dim=100``, or a fusion
    seed: int  # 1 for rows that do not depend on one
    kind: RowKind
    settings: Mapping[str, Any]  # all that decided the scores; trained rows: ["row"]["recipe"]
    facts: Facts
    figures: Mapping[str, Mapping[str, Any]]  # by split: protocol, queries, metrics
    versions: Mapping[str, str]
    finished: str  # when, in ISO 8601

    @classmethod
    def read(cls, folder: Path) -> "StoredCell":
        record = json_value(folder / CELL)
        return cls(folder, **{field.name: record[field.name] for field in fields(cls)[1:]})

    @property
    def seconds(self) -> float:
        """The seconds it takes on an idle machine.

        A resumed cell knows only its processor time since it resumed; for those it is the wall
        time of all epochs.
        """
        facts = self.facts
        trained = facts.get("train_seconds", 0.0) + facts.get("pretrain_seconds", 0.0)
        resumed = self.kind == "trained" and trained > facts["seconds"]
        return float(trained if resumed else min(facts["seconds"], facts["cpu_seconds"]))

    @cached_property
    def _per_query(self) -> dict[str, dict[str, list[float]]]:
        path = self.folder / PER_QUERY
        if path.is_file():
            return json.loads(path.read_text("utf-8"))
        return json.loads(gzip.decompress((self.folder / KEPT_PER_QUERY).read_bytes()))

    def values(self, split: str, metric: str) -> dict[str, float]:
        column = METRICS.index(metric)
        return {query: values[column] for query, values in self._per_query[split].items()}

    def run_path(self, split: str) -> Path:
        return self.folder / "runs" / f"{split}.run.gz"

    def run(self, split: str) -> Run:
        """The scores of every candidate of a split."""
        path = self.run_path(split)
        if not path.is_file():
            raise AskonceError(
                f"{self.model!r} has figures but no scores in this store; delete "
                f"{str(self.folder)!r} to run it again"
            )
        return read_run(path)

    def copy_figures(self, folder: Path) -> None:
        """Write the cell to another folder without scores and weights."""
        folder.mkdir(parents=True)
        short = {
            split: {query: [round(v, DIGITS) for v in values] for query, values in rows.items()}
            for split, rows in self._per_query.items()
        }
        packed = gzip.compress(json.dumps(short, separators=(",", ":")).encode(), mtime=0)
        (folder / KEPT_PER_QUERY).write_bytes(packed)
        for path in (self.folder / CELL, *self.folder.glob(CURVES), *self.folder.glob(PRETRAINED)):
            to = folder / path.relative_to(self.folder)
            to.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, to)

    @property
    def ranker(self) -> Path | None:
        """The folder of the trained ranker, for ``Ranker.load``; None for other kinds."""
        folder = self.folder / "ranker"
        return folder if (folder / "config.json").is_file() else None

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The recipe of a trained row: ``model``, its ``options``, and more."""
        return self.settings.get("row", {}).get("recipe") or {}

    def curve(self) -> Records:
        """One record per epoch of training: loss, seconds, dev figures."""
        return _lines(self.folder / CURVES)

    def pretraining(self) -> Records:
        """One record per epoch of pre-training: perplexity, dev figures of the encoders."""
        return [record for path in sorted(self.folder.glob(PRETRAINED)) for record in _lines(path)]


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._datasets: dict[tuple[str, str], Dataset] = {}  # figures share texts
        path = self.folder / STORE
        if not path.is_file():
            raise AskonceError(
                f"{str(folder)!r} is no results store: it has no {STORE}; "
                f"create one with `askonce bench … --out {folder}`"
            )
        self.facts = json_value(path)
        if self.facts.get("format") != FORMAT:
            raise DataError(
                path, f"format {FORMAT}; a newer askonce may read it", self.facts.get("format")
            )

    @classmethod
    def make(cls, folder: Path, quick: bool) -> "Store":
        """Open or create a store; quick and full figures never share one."""
        folder = Path(folder)
        if not (folder / STORE).is_file():
            if folder.is_dir() and any(folder.iterdir()):
                raise AskonceError(
                    f"{str(folder)!r} is no results store and not empty; name a new folder"
                )
            folder.mkdir(parents=True, exist_ok=True)
            write_json(folder / STORE, {"format": FORMAT, "quick": quick, "data": {}})
        store = cls(folder)
        if store.quick != quick:
            content, option = ("quick", "without") if store.quick else ("full", "with")
            raise AskonceError(
                f"{str(folder)!r} holds {content} figures and this bench runs {option} --quick; "
                "name another store with --out"
            )
        return store

    @property
    def quick(self) -> bool:
        return bool(self.facts["quick"])

    def remember_data(self, dataset: str, folder: Path) -> None:
        """Record where a dataset is, for figures that show texts."""
        self.facts = json_value(self.folder / STORE)  # another bench may have written it meanwhile
        self.facts["data"][dataset] = str(Path(folder).resolve())
        write_json(self.folder / STORE, self.facts)

    def dataset(self, name: str) -> Dataset | None:
        """The dataset with its texts, from where the bench read it; None if it is gone."""
        folder = self.facts["data"].get(name)
        if not folder or not Path(folder).is_dir():
            return None
        if (name, folder) not in self._datasets:
            self._datasets[name, folder] = load_dataset(name, folder)
        return self._datasets[name, folder]

    def datasets(self) -> list[str]:
        return list(dict.fromkeys(cell.dataset for cell in self.cells()))

    def cells(self, dataset: str = "*") -> Iterator[StoredCell]:
        """Finished cells, sorted by dataset, model and seed."""
        for path in sorted(self.folder.glob(f"{dataset}/*/[0-9]*/{CELL}")):
            yield StoredCell.read(path.parent)

    def cell(self, dataset: str, model: str, seed: int) -> StoredCell | None:
        folder = self.cell_folder(dataset, model, seed)
        return StoredCell.read(folder) if (folder / CELL).is_file() else None

    def cell_folder(self, dataset: str, model: str, seed: int) -> Path:
        return self.folder / dataset / re.sub(r"[^\w.+@=-]", "_", model) / str(seed)

    def speeds(self, dataset: str) -> Speeds:
        """Questions and texts per second of processor time, by row; empty if not measured."""
        path = self.folder / dataset / SPEEDS
        return json_value(path) if path.is_file() else {}

    def keep(self, folder: Path) -> int:
        """Copy the figures and curves of all cells to another store; the number of cells.

        Cells that only the other store has stay there. Texts, labels, scores, weights and folders
        of this machine are left out.
        """
        copy, number = Store.make(folder, self.quick), 0
        for cell in self.cells():
            number += 1
            to = copy.cell_folder(cell.dataset, cell.model, cell.seed)
            shutil.rmtree(to, ignore_errors=True)
            cell.copy_figures(to)
        for path in self.folder.glob(f"*/{SPEEDS}"):
            shutil.copyfile(path, copy.folder / path.parent.name / SPEEDS)
        return number

    def work_folder(self, dataset: str, model: str, seed: int, settings: object) -> Path:
        """Where a cell is made; leftovers of a run with other settings are removed."""
        part = self.cell_folder(dataset, model, seed).with_name(f".{seed}.part")
        plain = json.loads(json.dumps(settings))
        if not (part / SETTINGS).is_file() or json_value(part / SETTINGS) != plain:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            write_json(part / SETTINGS, plain)
        return part

    def finish(self, part: Path, dataset: str, model: str, seed: int) -> StoredCell:
        folder = self.cell_folder(dataset, model, seed)
        old = folder.with_name(f".{seed}.old")
        (part / SETTINGS).unlink()
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            os.replace(folder, old)
        os.replace(part, folder)
        shutil.rmtree(old, ignore_errors=True)
        return StoredCell.read(folder)


def write_json(path: Path, value: object, indent: int | None = 1) -> None:
    write_atomic(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def _lines(path: Path) -> Records:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
