"""The folder of a vector index.

``keys-N.f32`` and ``log-N.jsonl`` only grow; ``position.json`` says how much of them counts, so
what a crash left behind their ends is not seen, and the next writer writes over it.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from askonce.index import position
from askonce.index.graph import Graph
from askonce.index.key_rows import KeyRows, replay, write_at
from askonce.index.key_search import Seen

FORMAT = 1


@dataclass(frozen=True)
class Saved:
    """What ``position.json`` says of the other files."""

    change: int = 0
    dim: int = 0
    generation: int = 1  # of files; one that leaves the dead out gets new names
    rows: int = 0
    log_bytes: int = 0
    graph_rows: int = 0
    graph_scale: float = 1.0


@dataclass(frozen=True)
class Loaded:
    """What the files hold."""

    saved: Saved
    store: KeyRows | None
    ids: list[str]
    rows: dict[str, int]
    seen: Seen


class VectorFiles:
    """Reads and writes the files of one index, made by one coder."""

    def __init__(self, folder: Path, coder: str) -> None:
        self.folder, self._coder = folder, coder
        self._made_with = {"kind": "vectors", "format": FORMAT}

    @property
    def exist(self) -> bool:
        """Whether there is an index, whole or not."""
        return (self.folder / position.FILE).exists() or any(self.folder.glob("keys-*.f32"))

    def keys(self, generation: int) -> Path:
        """The file of keys."""
        return self.folder / f"keys-{generation}.f32"

    def load(self) -> Loaded:
        """All that was saved; an error if it is not whole or another coder made it."""
        content = position.read(self.folder, self._made_with)
        if (made := content.get("coder")) != self._coder:
            reason = f"was made by another model ({made!r}, not {self._coder!r})"
            raise position.damaged(self.folder, reason)
        saved = _saved(self.folder, content)
        ids, rows = self._ids(saved)
        keys = np.empty((0, saved.dim), dtype=np.float32)  # (n, K)
        store = None
        if saved.rows:
            _need(self.keys(saved.generation), 4 * saved.rows * saved.dim)
            store = KeyRows(self.keys(saved.generation), saved.dim, saved.rows)
            keys = store.keys
        graph = None
        if saved.graph_rows:
            graph = Graph.load(self._graph(saved), saved.dim, saved.graph_rows, saved.graph_scale)
        alive = np.zeros(saved.rows, dtype=bool)  # (n,)
        alive[list(rows.values())] = True
        return Loaded(saved, store, ids, rows, Seen(keys, alive, len(rows), ids, graph))

    def write(
        self, before: Saved, change: int, seen: Seen, store: KeyRows | None, log: bytes
    ) -> Saved:
        """Put what is new on the disk; it counts from the moment the position is replaced."""
        graph = seen.graph
        saved = replace(
            before,
            change=change,
            dim=seen.keys.shape[1],
            rows=len(seen.keys),
            log_bytes=before.log_bytes + len(log),
            graph_rows=graph.rows if graph else 0,
            graph_scale=graph.scale if graph else 1.0,
        )
        if store is not None:
            store.flush()
        write_at(self._log(saved), before.log_bytes, log, sync=True)
        if graph is not None and graph.rows != before.graph_rows:
            graph.save(self._graph(saved))
            with self._graph(saved).open("rb") as stream:
                os.fsync(stream.fileno())
        position.write(self.folder, self._made_with | {"coder": self._coder} | asdict(saved))
        self._forget_others(saved)
        return saved

    def _ids(self, saved: Saved) -> tuple[list[str], dict[str, int]]:
        _need(self._log(saved), saved.log_bytes)
        with self._log(saved).open("rb") as stream:
            log = stream.read(saved.log_bytes)
        try:
            ids, rows = replay(log)
        except (ValueError, TypeError) as error:
            reason = f"has a log that cannot be read ({error})"
            raise position.damaged(self.folder, reason) from None
        if len(ids) != saved.rows:
            raise position.damaged(self.folder, f"has {len(ids)} ids for {saved.rows} keys")
        return ids, rows

    def _log(self, saved: Saved) -> Path:
        return self.folder / f"log-{saved.generation}.jsonl"

    def _graph(self, saved: Saved) -> Path:
        return self.folder / f"graph-{saved.generation}-{saved.graph_rows}.usearch"

    def _forget_others(self, saved: Saved) -> None:
        keep = {self.keys(saved.generation), self._log(saved), self._graph(saved)}
        for pattern in ("keys-*.f32", "log-*.jsonl", "graph-*.usearch"):
            for path in self.folder.glob(pattern):
                if path not in keep:
                    path.unlink(missing_ok=True)


def _need(path: Path, size: int) -> None:
    if not path.is_file() or path.stat().st_size < size:
        raise position.damaged(path.parent, f"has no whole {path.name}")


def _saved(folder: Path, content: Mapping[str, Any]) -> Saved:
    try:
        values = {one.name: content[one.name] for one in fields(Saved)}
    except KeyError as error:
        raise position.damaged(folder, f"has a {position.FILE} without {error}") from None
    if not all(isinstance(value, int | float) and value >= 0 for value in values.values()):
        raise position.damaged(folder, f"has a {position.FILE} with impossible numbers")
    return Saved(**values)
