"""The state of a run after an epoch, so that it can go on as if it had never stopped. No pickle."""

import hashlib
import json
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

FORMAT = 1
STATE, TENSORS = "state.json", "tensors.safetensors"


@dataclass
class Progress:
    """How far a run has come."""

    epoch: int = 0
    best_epoch: int = 0
    best_value: float = -1.0
    done: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)  # one record per epoch


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell in one line that the disk is full, or whatever else keeps us from writing there."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise AskonceError(
            f"could not write {str(path)!r} ({error}); the checkpoint before is whole: "
            "make room and run the same command to go on"
        ) from None


def save(
    folder: Path,
    progress: Progress,
    recipe: Mapping[str, Any],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Write a checkpoint beside the last one, then put it in its place."""
    aside, old = _aside(folder, "new"), _aside(folder, "old")
    state = {"format": FORMAT, "recipe": dict(recipe), "progress": vars(progress)}
    with writing(folder):
        try:
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            save_file(_tensors(model, optimizer), aside / TENSORS)
            (aside / STATE).write_text(json.dumps(state), "utf-8")
            for name in (TENSORS, STATE):
                _to_disk(aside / name)
            if folder.exists():
                shutil.rmtree(old, ignore_errors=True)
                os.replace(folder, old)
            os.replace(aside, folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def load(
    folder: Path, recipe: Mapping[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Put model and optimiser where the checkpoint left them; a fresh start without one."""
    old = _aside(folder, "old")
    place = old if old.is_dir() and not folder.is_dir() else folder  # stopped between two renames
    if not place.is_dir():
        return Progress()
    state, tensors = _read(place)
    changed = ", ".join(_differences(json.loads(json.dumps(recipe)), state["recipe"]))
    if changed:
        raise AskonceError(
            f"{str(folder.parent)!r} holds a run with other settings ({changed}); "
            "name another folder, or remove this one to start anew"
        )
    try:
        model.load_state_dict({k[6:]: v for k, v in tensors.items() if k.startswith("model.")})
    except RuntimeError:  # names or shapes of weights differ
        raise AskonceError(
            f"{str(folder.parent)!r} holds a run on other words, vectors or weights to start from; "
            "name another folder, or remove this one to start anew"
        ) from None
    _restore(optimizer, tensors)
    return Progress(**state["progress"])


def fingerprint(model: nn.Module) -> str:
    """A short name for all weights of a model, so that a run is not resumed from others."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]


def _aside(folder: Path, what: str) -> Path:
    return folder.with_name(f".{folder.name}.{what}")


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    try:
        state = json.loads((folder / STATE).read_text("utf-8"))
        tensors = load_file(folder / TENSORS)
    except (ValueError, SafetensorError, OSError) as error:
        raise DataError(folder, "a whole checkpoint; remove it to start anew", str(error)) from None
    wanted = {"recipe", "progress"}
    if not isinstance(state, dict) or state.get("format") != FORMAT or not wanted <= state.keys():
        found = state.get("format") if isinstance(state, dict) else state
        raise DataError(folder, f"checkpoint format {FORMAT}; remove it to start anew", found)
    return state, tensors


def _differences(one: Any, other: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - from JSON
    """The dotted names of settings that differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one | other:
            yield from _differences(one.get(key), other.get(key), f"{name}.{key}" if name else key)
    elif one != other:
        yield name


def _tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    found = {f"model.{key}": value.contiguous() for key, value in model.state_dict().items()}
    for place, entries in optimizer.state_dict()["state"].items():
        for key, value in entries.items():
            found[f"optimizer.{place}.{key}"] = torch.as_tensor(value).clone().contiguous()
    return found


def _restore(optimizer: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, place, name = key.split(".", 2)
            state.setdefault(int(place), {})[name] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _to_disk(path: Path) -> None:
    """A rename may reach the disk before what it names, unless that is there already."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
