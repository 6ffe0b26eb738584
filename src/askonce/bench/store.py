"""The results of benches: a folder with a sub-folder for each finished cell.

    STORE/store.json                     format, whether the figures are quick ones, where data was
    STORE/DATASET/SPLIT.qrels.gz         labels
    STORE/DATASET/MODEL/SEED/cell.json   settings, figures, times, sizes, versions
                             per_query.json
                             runs/SPLIT.run.gz
                             ranker/     the trained ranker with metrics.jsonl, where there is one
                             pretrained/ curves of pre-training

A cell is written beside its place and then moved there, so a folder that is named by a seed is
whole. What is being worked on is in ``.SEED.part``.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError, DataError
from askonce.evaluation import METRICS, Qrels, Run, read_qrels, read_run
from askonce.files import write_atomic
from askonce.types import Dataset

FORMAT = 1
STORE, CELL, PER_QUERY, SETTINGS = "store.json", "cell.json", "per_query.json", "settings.json"

Kind = Literal["baseline", "transformer", "trained", "fusion"]
Facts = dict[str, Any]  # seconds, speeds, sizes: plain values for JSON
Records = list[dict[str, Any]]
LONGEST = 600.0  # seconds of a first seed, beyond which a row gets no other seeds unless asked


@dataclass(frozen=True)
class StoredCell:
    """One finished cell: a model on a dataset with a seed."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def dataset(self) -> str:
        """Its dataset."""
        return str(self.record["dataset"])

    @property
    def model(self) -> str:
        """Its row: a model, a variant such as ``hyperqa@model.dim=100``, or a fusion."""
        return str(self.record["model"])

    @property
    def seed(self) -> int:
        """Its seed; 1 for what does not depend on one."""
        return int(self.record["seed"])

    @property
    def kind(self) -> Kind:
        """Which kind of row it is."""
        return self.record["kind"]

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that decided the scores; of a trained model ``settings["row"]["recipe"]``."""
        return self.record["settings"]

    @property
    def seconds(self) -> float:
        """What it takes on a machine that is not busy with other things.

        A cell that went on after a stop knows its processor time since then only: of such, the
        time of all epochs by the clock.
        """
        facts = self.facts
        trained = facts.get("train_seconds", 0.0) + facts.get("pretrain_seconds", 0.0)
        stopped = self.kind == "trained" and trained > facts["seconds"]
        return float(trained if stopped else min(facts["seconds"], facts["cpu_seconds"]))

    @property
    def facts(self) -> Facts:
        """Seconds, speeds, sizes, memory."""
        return self.record["facts"]

    @property
    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """By split: protocol, queries, metrics."""
        return self.record["figures"]

    @cached_property
    def _per_query(self) -> dict[str, dict[str, list[float]]]:
        return json.loads((self.folder / PER_QUERY).read_text("utf-8"))

    def values(self, split: str, metric: str) -> dict[str, float]:
        """One metric by query, as significance tests want it."""
        place = METRICS.index(metric)
        return {query: values[place] for query, values in self._per_query[split].items()}

    def run(self, split: str) -> Run:
        """The scores of every candidate of a split."""
        return read_run(self.folder / "runs" / f"{split}.run.gz")

    @property
    def ranker(self) -> Path | None:
        """The folder of the trained ranker, for ``Ranker.load``; none for other kinds."""
        place = self.folder / "ranker"
        return place if (place / "config.json").is_file() else None

    def curve(self) -> Records:
        """One record per epoch of training: loss, seconds, dev figures."""
        return _lines(self.folder / "ranker" / "metrics.jsonl")

    def pretraining(self) -> Records:
        """One record per epoch of pre-training: perplexity, dev figures of the encoders."""
        return [
            record
            for path in sorted((self.folder / "pretrained").glob("*.jsonl"))
            for record in _lines(path)
        ]


class Store:
    """A folder of finished cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._datasets: dict[tuple[str, str], Dataset] = {}  # many figures want the same texts
        path = self.folder / STORE
        if not path.is_file():
            raise AskonceError(
                f"{str(folder)!r} is no results store: it has no {STORE}; "
                f"`askonce bench … --out {folder}` makes one"
            )
        self.facts = _read(path)
        if self.facts.get("format") != FORMAT:
            found = self.facts.get("format")
            raise DataError(path, f"format {FORMAT}; a newer askonce may read it", found)

    @classmethod
    def make(cls, folder: Path, quick: bool) -> "Store":
        """Open a store, new or old; quick figures and full ones never share one."""
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
            held, told = ("quick", "without") if store.quick else ("full", "with")
            raise AskonceError(
                f"{str(folder)!r} holds {held} figures and this bench runs {told} --quick; "
                "name another store with --out"
            )
        return store

    @property
    def quick(self) -> bool:
        """Whether all figures are of short runs on few pools."""
        return bool(self.facts["quick"])

    def remember_data(self, dataset: str, folder: Path) -> None:
        """Note where the files of a dataset are, for figures that show texts."""
        self.facts = _read(self.folder / STORE)  # another bench may have written to it
        self.facts["data"][dataset] = str(Path(folder).resolve())
        write_json(self.folder / STORE, self.facts)

    def dataset(self, name: str) -> Dataset | None:
        """The dataset with its texts, from where the bench read it; none if it is gone."""
        place = self.facts["data"].get(name)
        if not place or not Path(place).is_dir():
            return None
        if (name, place) not in self._datasets:
            self._datasets[name, place] = load_dataset(name, place)
        return self._datasets[name, place]

    def datasets(self) -> list[str]:
        """Datasets with a finished cell."""
        return list(dict.fromkeys(cell.dataset for cell in self.cells()))

    def cells(self, dataset: str | None = None, model: str | None = None) -> Iterator[StoredCell]:
        """Finished cells, sorted by dataset, model and seed."""
        row = folder_name(model) if model else "*"
        for path in sorted(self.folder.glob(f"{dataset or '*'}/{row}/[0-9]*/{CELL}")):
            yield StoredCell(path.parent, _read(path))

    def cell(self, dataset: str, model: str, seed: int) -> StoredCell | None:
        """One finished cell, if it is there."""
        path = self.place(dataset, model, seed) / CELL
        return StoredCell(path.parent, _read(path)) if path.is_file() else None

    def place(self, dataset: str, model: str, seed: int) -> Path:
        """The folder of a cell."""
        return self.folder / dataset / folder_name(model) / str(seed)

    def qrels(self, dataset: str, split: str) -> Qrels:
        """The labels of a split."""
        return read_qrels(self.folder / dataset / f"{split}.qrels.gz")

    def work_folder(self, dataset: str, model: str, seed: int, settings: object) -> Path:
        """Where a cell is made; what a run with other settings left there is removed."""
        place = self.place(dataset, model, seed)
        part = place.with_name(f".{seed}.part")
        told = json.loads(json.dumps(settings))
        if not (part / SETTINGS).is_file() or _read(part / SETTINGS) != told:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            write_json(part / SETTINGS, told)
        return part

    def finish(self, part: Path, dataset: str, model: str, seed: int) -> StoredCell:
        """Put a cell that is whole in its place."""
        place = self.place(dataset, model, seed)
        old = place.with_name(f".{seed}.old")
        (part / SETTINGS).unlink()
        shutil.rmtree(old, ignore_errors=True)
        if place.exists():
            os.replace(place, old)
        os.replace(part, place)
        shutil.rmtree(old, ignore_errors=True)
        return StoredCell(place, _read(place / CELL))


def folder_name(model: str) -> str:
    """A row's name as a folder's."""
    return re.sub(r"[^\w.+@=-]", "_", model)


def write_json(path: Path, value: object, indent: int | None = 1) -> None:
    """Write or replace a JSON file as a whole."""
    write_atomic(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(path, "JSON", str(error)) from None


def _lines(path: Path) -> Records:
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
