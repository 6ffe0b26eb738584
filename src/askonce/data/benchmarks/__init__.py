"""Readers of benchmark data: each a pure function from a published folder to a Dataset."""

from collections.abc import Callable
from pathlib import Path

from askonce.registry import Registry
from askonce.types import Dataset

DatasetReader = Callable[[Path], Dataset]
DATASETS: Registry[DatasetReader] = Registry("dataset", "askonce.data.benchmarks")


def load_dataset(name: str, folder: Path | str) -> Dataset:
    """Read a dataset from its own folder, or from the folder that contains it.

    A damaged line is an error, unless it is read inside ``askonce.files.skipping_damaged``.
    """
    return DATASETS[name](Path(folder))
