"""The folder of a vector index: keys in a memory-mapped file, ids in a log, the graph.

``keys-N.f32`` and ``log-N.jsonl`` are append-only; ``position.json`` records how much of them is
valid, so a reader ignores what a crash left behind, and the next writer overwrites it.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from askonce.files import flush_to_disk
from askonce.index import position
from askonce.index.key_search import Graph, KeySnapshot

FORMAT = 1
KEY = np.dtype("<f4")


class KeyRows:
    """Keys by row, in memory or in a file. Arrays handed out never change."""

    def __init__(self, path: Path | None, dim: int, rows: int = 0) -> None:
        self._path, self._dim = path, dim
        self._buffer = np.empty((0, dim), dtype=KEY)
        self.keys = self._buffer  # (n, K)
        if rows:
            self.keys = self._mapped(rows)

    def append(self, new: np.ndarray) -> None:
        rows = len(self.keys) + len(new)
        if self._path is None:
            if rows > len(self._buffer):
                self._buffer = np.empty((max(2 * len(self._buffer), rows), self._dim), dtype=KEY)
                self._buffer[: len(self.keys)] = self.keys
            self._buffer[len(self.keys) : rows] = new
            self.keys = self._buffer[:rows]
            return
        # written, not stored through the map: on a full disk that would kill the process
        write_at(self._path, self.keys.nbytes, np.ascontiguousarray(new, dtype=KEY).data)
        self.keys = self._mapped(rows)

    def flush(self) -> None:
        if self._path is not None and self._path.exists():
            flush_to_disk(self._path)

    def _mapped(self, rows: int) -> np.ndarray:
        mapped = np.memmap(self._path, dtype=KEY, mode="c", shape=(rows, self._dim))  # type: ignore[call-overload]
        return np.asarray(mapped)  # a plain array: every slice of a memmap does more work


def write_at(path: Path, offset: int, content: "bytes | memoryview") -> None:
    """Write into a file at an offset; offset 0 creates a missing file."""
    with _opened(path, create=offset == 0) as stream:
        stream.seek(offset)
        stream.write(content)


def _opened(path: Path, create: bool) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644), "r+b")


def added(ids: Iterable[str]) -> bytes:
    """Log lines for new rows."""
    return "".join(f"{json.dumps(post_id)}\n" for post_id in ids).encode()


def removed(ids: Sequence[str]) -> bytes:
    return f"{json.dumps(ids)}\n".encode()


def marked(ids: Sequence[str]) -> bytes:
    """A log line for posts whose rows so far have the keys of the slow one of two readers."""
    return f"{json.dumps({'read': ids})}\n".encode()


@dataclass(frozen=True)
class Logged:
    """What a log says."""

    ids: list[str] = field(default_factory=list)  # of every row
    rows: dict[str, int] = field(default_factory=dict)  # of posts that were not removed later
    unread: dict[str, None] = field(default_factory=dict)  # of these, those that are not marked

    def replay(self, log: bytes) -> list[int]:
        """Follow the lines of a log; the rows of posts that they replace or remove."""
        entries = json.loads(b"[%s]" % log.rstrip(b"\n").replace(b"\n", b","))
        return [row for entry in entries for row in self.add(entry)]

    def add(self, entry: Any) -> list[int]:  # noqa: ANN401 - JSON
        """Follow one entry; the rows of posts that it replaces or removes."""
        if isinstance(entry, str):
            dead = [self.rows[entry]] if entry in self.rows else []
            self.rows[entry] = len(self.ids)
            self.ids.append(entry)
            self.unread[entry] = None
            return dead
        if isinstance(entry, dict):
            for post_id in entry["read"]:
                self.unread.pop(post_id, None)
            return []
        for post_id in entry:
            self.unread.pop(post_id, None)
        return [self.rows.pop(post_id) for post_id in entry if post_id in self.rows]


@dataclass(frozen=True)
class Saved:
    """What ``position.json`` records about the other files."""

    change: int = 0
    dim: int = 0
    generation: int = 1  # number in the file names; compaction starts a new one
    rows: int = 0
    log_bytes: int = 0
    graph_rows: int = 0
    graph_scale: float = 1.0


@dataclass(frozen=True)
class Loaded:
    saved: Saved
    store: KeyRows | None
    ids: list[str]
    rows: dict[str, int]
    unread: dict[str, None]
    snapshot: KeySnapshot


class VectorFiles:
    """Reads and writes the files of one index, made by one encoder."""

    def __init__(self, folder: Path, coder: str) -> None:
        self.folder, self._coder = folder, coder
        self._made_with = {"kind": "vectors", "format": FORMAT}

    @property
    def exist(self) -> bool:
        """Whether there is an index, complete or not."""
        return (self.folder / position.FILE).exists() or any(self.folder.glob("keys-*.f32"))

    def keys(self, generation: int) -> Path:
        return self.folder / f"keys-{generation}.f32"

    def load(self, published: Saved | None = None) -> Loaded:
        """Everything saved, or published; an error if it is incomplete or of another encoder."""
        content = position.read(self.folder, self._made_with)
        if (made := content.get("coder")) != self._coder:
            reason = f"was made by another model ({made!r}, not {self._coder!r})"
            raise position.damaged(self.folder, reason)
        saved = published or _saved(self.folder, content)
        logged = Logged()
        self.read_log(saved, 0, logged)
        ids, rows = logged.ids, logged.rows
        store = self.rows(saved)
        keys = store.keys if store is not None else np.empty((0, saved.dim), dtype=np.float32)
        graph = None
        if saved.graph_rows:
            graph = Graph.load(self._graph(saved), saved.dim, saved.graph_rows, saved.graph_scale)
        alive = np.zeros(saved.rows, dtype=bool)  # (n,)
        alive[list(rows.values())] = True
        snapshot = KeySnapshot(keys, alive, len(rows), ids, graph)
        return Loaded(saved, store, ids, rows, logged.unread, snapshot)

    def rows(self, saved: Saved) -> KeyRows | None:
        """The keys of all rows; None before the first."""
        if not saved.rows:
            return None
        _need(self.keys(saved.generation), 4 * saved.rows * saved.dim)
        return KeyRows(self.keys(saved.generation), saved.dim, saved.rows)

    def read_log(self, saved: Saved, start: int, logged: Logged) -> list[int]:
        """Follow the log from a byte on; the rows of posts that were replaced or removed."""
        _need(self._log(saved), saved.log_bytes)
        with self._log(saved).open("rb") as stream:
            stream.seek(start)
            log = stream.read(saved.log_bytes - start)
        try:
            dead = logged.replay(log)
        except (ValueError, TypeError, KeyError) as error:
            reason = f"has a log that cannot be read ({error})"
            raise position.damaged(self.folder, reason) from None
        if len(logged.ids) != saved.rows:
            count = len(logged.ids)
            raise position.damaged(self.folder, f"has {count} ids for {saved.rows} keys")
        return dead

    def write_log(self, saved: Saved, start: int, log: bytes) -> None:
        """Write lines for processes that follow; they are valid once they are saved."""
        write_at(self._log(saved), start, log)

    def write(
        self,
        before: Saved,
        change: int,
        snapshot: KeySnapshot,
        store: KeyRows | None,
        log: bytes,
        unread: int = 0,
    ) -> Saved:
        """Write the new rows; they are valid once ``position.json`` is replaced."""
        graph = snapshot.graph
        saved = replace(
            before,
            change=change,
            dim=snapshot.keys.shape[1],
            rows=len(snapshot.keys),
            log_bytes=before.log_bytes + len(log),
            graph_rows=graph.rows if graph else 0,
            graph_scale=graph.scale if graph else 1.0,
        )
        if store is not None:
            store.flush()
        write_at(self._log(saved), before.log_bytes, log)
        flush_to_disk(self._log(saved))
        if graph is not None and graph.rows != before.graph_rows:
            graph.save(self._graph(saved))
            flush_to_disk(self._graph(saved))
        counts = {"posts": snapshot.living, "unread": unread}  # for people
        made = self._made_with | {"coder": self._coder}
        position.write(self.folder, made | asdict(saved) | counts)
        self._remove_others(saved)
        return saved

    def _log(self, saved: Saved) -> Path:
        return self.folder / f"log-{saved.generation}.jsonl"

    def _graph(self, saved: Saved) -> Path:
        return self.folder / f"graph-{saved.generation}-{saved.graph_rows}.usearch"

    def _remove_others(self, saved: Saved) -> None:
        keep = {self.keys(saved.generation), self._log(saved), self._graph(saved)}
        for pattern in ("keys-*.f32", "log-*.jsonl", "graph-*.usearch"):
            for path in self.folder.glob(pattern):
                if path not in keep:
                    path.unlink(missing_ok=True)


def _need(path: Path, size: int) -> None:
    if not path.is_file() or path.stat().st_size < size:
        raise position.damaged(path.parent, f"has no complete {path.name}")


def _saved(folder: Path, content: Mapping[str, Any]) -> Saved:
    try:
        values = {field.name: content[field.name] for field in fields(Saved)}
    except KeyError as error:
        raise position.damaged(folder, f"has a {position.FILE} without {error}") from None
    if not all(isinstance(value, int | float) and value >= 0 for value in values.values()):
        raise position.damaged(folder, f"has a {position.FILE} with impossible numbers")
    return Saved(**values)
