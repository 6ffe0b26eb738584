"""The state of a training after an epoch, from which it resumes exactly; no pickle."""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from askonce.errors import AskonceError, DataError
from askonce.files import flush_to_disk, replacing

FORMAT = 1
STATE, TENSORS = "state.json", "tensors.safetensors"
REMEDY = "remove it to start again"
START = "weights to start from"  # the setting that holds their fingerprint
EpochRecord = dict[str, Any]  # one epoch of the history


@dataclass
class Progress:
    epoch: int = 0  # the last one finished
    best_epoch: int = 0
    best_value: float = -math.inf
    done: bool = False
    history: list[EpochRecord] = field(default_factory=list)  # one record per epoch, from epoch 0
    values: list[float] = field(default_factory=list)  # what decides, per epoch

    @property
    def seconds(self) -> float:
        return float(sum(record["seconds"] for record in self.history))

    @property
    def waiting(self) -> int:
        """Epochs since the best one of training, which epoch 0 is not part of."""
        trained = self.values[1:]
        return len(trained) - 1 - trained.index(max(trained)) if trained else 0

    def add(self, record: EpochRecord, value: float) -> bool:
        self.epoch = record["epoch"]
        self.history.append(record)
        self.values.append(value)
        if best := value > self.best_value:
            self.best_epoch, self.best_value = self.epoch, value
        return best


@contextmanager
def one_line_errors(path: Path) -> Iterator[None]:
    """Report a full disk, or any other failure to write, in one line that says how to resume."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise AskonceError(
            f"could not write {str(path)!r} ({error}); the last checkpoint is intact: "
            "make room and run the same command to resume"
        ) from None


def save_weights(path: Path, model: nn.Module) -> None:
    with one_line_errors(path), replacing(path) as part:
        save_file(_weights(model), part)


def load_weights(path: Path, model: nn.Module) -> None:
    model.load_state_dict(load_file(path))


def save(
    folder: Path,
    progress: Progress,
    settings: Mapping[str, Any],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Write a checkpoint beside the last one, then rename it into place."""
    new, old = _beside(folder, "new"), _beside(folder, "old")
    state = {"format": FORMAT, "recipe": dict(settings), "progress": vars(progress)}
    with one_line_errors(folder):
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
            save_file(_tensors(model, optimizer), new / TENSORS)
            (new / STATE).write_text(json.dumps(state), "utf-8")
            for name in (TENSORS, STATE):
                flush_to_disk(new / name)
            if folder.exists():
                shutil.rmtree(old, ignore_errors=True)
                os.replace(folder, old)
            os.replace(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def load(
    folder: Path, settings: Mapping[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Restore model and optimiser from the checkpoint; without one, leave them as they are."""
    old = _beside(folder, "old")
    path = old if old.is_dir() and not folder.is_dir() else folder  # stopped between two renames
    if not path.is_dir():
        return Progress()
    state, tensors = _read(path)
    names = list(_differences(json.loads(json.dumps(settings)), state["recipe"]))
    if names:
        changed = ", ".join(name for name in names if name != START) or START
        raise AskonceError(
            f"{str(folder.parent)!r} holds a run with other settings ({changed}); "
            "choose another folder, or remove this one to start again"
        )
    try:
        model.load_state_dict({k[6:]: v for k, v in tensors.items() if k.startswith("model.")})
    except RuntimeError:  # names or shapes of weights differ
        raise AskonceError(
            f"{str(folder.parent)!r} holds a run on other words, vectors or weights to start from; "
            "choose another folder, or remove this one to start again"
        ) from None
    states: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, index, name = key.split(".", 2)
            states.setdefault(int(index), {})[name] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": states, "param_groups": groups})
    return Progress(**state["progress"])


def fingerprint(model: nn.Module) -> str:
    """A short hash of all weights of a model, so that a run is not resumed from others."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(f".{folder.name}.{suffix}")


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    try:
        state = json.loads((folder / STATE).read_text("utf-8"))
        tensors = load_file(folder / TENSORS)
    except (ValueError, SafetensorError, OSError) as error:
        raise DataError(folder, f"an intact checkpoint; {REMEDY}", str(error)) from None
    required = {"recipe", "progress"}
    if not isinstance(state, dict) or state.get("format") != FORMAT or not required <= state.keys():
        value = state.get("format") if isinstance(state, dict) else state
        raise DataError(folder, f"checkpoint format {FORMAT}; {REMEDY}", value)
    return state, tensors


def _differences(one: Any, other: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - from JSON
    """The dotted names of settings that differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one | other:
            yield from _differences(one.get(key), other.get(key), f"{name}.{key}" if name else key)
    elif one != other:
        yield name


def _weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {key: value.contiguous() for key, value in model.state_dict().items()}


def _tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    tensors = {f"model.{key}": value for key, value in _weights(model).items()}
    for index, entries in optimizer.state_dict()["state"].items():
        for key, value in entries.items():
            tensors[f"optimizer.{index}.{key}"] = torch.as_tensor(value).clone().contiguous()
    return tensors
