"""Search by the keys of an encoder: exact while that is fast, by a graph beyond."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from askonce.errors import AskonceError
from askonce.index import position
from askonce.index.base import Hit, IndexState, KeyEncoder, batches, finite_keys
from askonce.index.key_search import Graph, KeySnapshot, no_keys
from askonce.index.vector_files import (
    KeyRows,
    Loaded,
    Logged,
    Saved,
    VectorFiles,
    added,
    marked,
    removed,
)
from askonce.types import Post

BATCH = 2048  # posts encoded at a time
EXACT_VALUES = 10_000_000  # numbers in all keys: 33,000 rows of 300, 4 ms on one core
FEW_DEAD = 1000  # rows of replaced or removed posts that do not justify new files


@dataclass
class IndexedRows:
    store: KeyRows | None = None  # made with the first post, when the length of keys is known
    ids: list[str] = field(default_factory=list)  # by row
    rows: dict[str, int] = field(default_factory=dict)  # of living posts
    # living posts by a fast reader whose keys a slow one will replace, the oldest first
    unread: dict[str, None] = field(default_factory=dict)
    unsaved: list[bytes] = field(default_factory=list)  # log lines
    published: int = 0  # of these lines, those that other processes can read
    published_bytes: int = 0


class VectorIndex:
    """Posts by their keys: in a folder, or in memory without one.

    Up to ``exact_values`` numbers every search scans all keys; above, ``save`` builds a graph. With
    ``writer=False`` it only searches; ``reload`` shows what another process has saved.
    """

    lock_name = None  # the lock on the folder of all indexes is enough
    cheap_to_save = False  # it syncs whole files

    def __init__(
        self,
        folder: Path | None,
        coder: KeyEncoder,
        writer: bool = True,
        exact_values: int = EXACT_VALUES,
    ) -> None:
        self.coder, self.position = coder, 0
        self._two_readers = coder.slow is not None
        self._writable, self._exact_values = writer, exact_values
        self._files = VectorFiles(folder, coder.name) if folder is not None else None
        self._saved, self._contents, self._snapshot = Saved(), IndexedRows(), no_keys()
        self._writing = threading.Lock()  # one change at a time
        self._publishing = threading.Lock()  # rows by id and snapshot change together
        if folder is not None:
            self._open(folder)

    def __len__(self) -> int:
        return self._snapshot.living

    def add(self, posts: Iterable[Post]) -> None:
        self._need_writer()
        for batch in batches(posts, BATCH):
            latest = {post.id: post for post in batch}
            self.add_keys(list(latest), *self.coder.first_keys(list(latest.values())))

    def add_keys(
        self, ids: Sequence[str], keys: np.ndarray, read: np.ndarray | None = None
    ) -> None:
        self._need_writer()
        keys = self._checked(ids, finite_keys(self.coder, ids, keys))  # (n, K)
        final = [True] * len(ids) if read is None else read.tolist()
        with self._writing:
            self._append(list(ids), keys)
            if self._two_readers:
                self._mark(ids, final)

    def unread(self, count: int | None = None) -> list[str]:
        with self._publishing:
            return list(islice(self._contents.unread, count))

    def unread_count(self) -> int:
        return len(self._contents.unread)

    def read_share(self) -> float:
        return 1 - self.unread_count() / max(1, len(self))

    def remove(self, ids: Iterable[str]) -> None:
        self._need_writer()
        with self._writing:
            contents, snapshot = self._contents, self._snapshot
            gone = [post_id for post_id in dict.fromkeys(ids) if post_id in contents.rows]
            if not gone:
                return
            alive = snapshot.alive.copy()  # (n,)
            contents.unsaved.append(removed(gone))
            with self._publishing:
                alive[[contents.rows.pop(post_id) for post_id in gone]] = False
                for post_id in gone:
                    contents.unread.pop(post_id, None)
                self._snapshot = replace(snapshot, alive=alive, living=snapshot.living - len(gone))

    def search_key(self, key: np.ndarray, k: int = 10) -> list[Hit]:
        return self._snapshot.best(key, k)

    def search_keys(self, keys: np.ndarray, k: int = 10) -> list[list[Hit]]:
        return self._snapshot.best_many(keys, k)

    def score_key(self, key: np.ndarray, ids: Sequence[str]) -> np.ndarray:
        with self._publishing:
            snapshot, rows = self._snapshot, self._contents.rows
            positions = np.array([rows.get(post_id, -1) for post_id in ids], dtype=np.int64)  # (c,)
        known = positions >= 0
        scores = np.zeros(len(ids))
        if known.any():
            scores[known] = snapshot.products(positions[known], key)
            scores[~known] = scores[known].min()
        return scores

    def save(self) -> None:
        """Write everything, the position last; build the graph if searches need one."""
        self._need_writer()
        with self._writing, self._disk_errors():
            self._compact()
            self._grow_graph()
            if self._files is not None:
                contents = self._contents
                log = b"".join(contents.unsaved)
                self._saved = self._files.write(
                    self._saved,
                    self.position,
                    self._snapshot,
                    contents.store,
                    log,
                    len(contents.unread),
                )
                contents.unsaved.clear()
                contents.published = contents.published_bytes = 0

    def reload(self) -> None:
        if self._files is not None:
            self._show(self._files.load())

    def publish(self) -> IndexState:
        """Write the log without waiting for the disk; keys are in their file since they were added.

        After a crash, ``position.json`` says that these changes are not saved.
        """
        with self._writing, self._disk_errors():
            contents, saved = self._contents, self._saved
            log = b"".join(contents.unsaved[contents.published :])
            if log and self._files is not None:
                start = saved.log_bytes + contents.published_bytes
                self._files.write_log(saved, start, log)
                contents.published = len(contents.unsaved)
                contents.published_bytes += len(log)
            keys = self._snapshot.keys
            end = saved.log_bytes + contents.published_bytes
            rows, dim = keys.shape
            return asdict(replace(saved, change=self.position, dim=dim, rows=rows, log_bytes=end))

    def follow(self, state: IndexState) -> None:
        published = Saved(**state)  # type: ignore[arg-type]
        if self._files is None or published == self._saved:
            return
        old = self._saved
        same = (old.generation, old.graph_rows) == (published.generation, published.graph_rows)
        if same and 0 < old.rows <= published.rows and old.log_bytes <= published.log_bytes:
            self._advance(self._files, published)
        else:
            self._show(self._files.load(published))

    def _advance(self, files: VectorFiles, published: Saved) -> None:
        """Read only the changes since the last state."""
        contents, snapshot = self._contents, self._snapshot
        store = files.rows(published)
        if store is None:
            return
        new = len(store.keys) - len(snapshot.keys)
        alive = np.append(snapshot.alive, np.ones(new, dtype=bool))  # (n + m,)
        with self._publishing:
            logged = Logged(contents.ids, contents.rows, contents.unread)
            alive[files.read_log(published, self._saved.log_bytes, logged)] = False
            if not self._two_readers:
                contents.unread.clear()
            contents.store = store
            living = len(contents.rows)
            self._snapshot = replace(
                snapshot, keys=store.keys, alive=alive, living=living, ids=contents.ids
            )
        self.position, self._saved = published.change, published

    def _show(self, loaded: Loaded) -> None:
        self.position, self._saved = loaded.saved.change, loaded.saved
        with self._publishing:
            unread = loaded.unread if self._two_readers else {}
            self._contents = IndexedRows(loaded.store, loaded.ids, loaded.rows, unread)
            self._snapshot = loaded.snapshot

    def close(self) -> None:
        """Nothing is held open; searching still works."""

    def _open(self, folder: Path) -> None:
        if self._files is not None and self._files.exist:
            self.reload()
        elif not self._writable:
            raise position.damaged(folder, "holds no posts yet")
        else:
            position.make_folder(folder)
            self.save()

    def _need_writer(self) -> None:
        if not self._writable:
            raise position.read_only(self._files.folder if self._files else None)

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            folder = self._files.folder if self._files else Path()
            if isinstance(error, FileNotFoundError):
                raise position.damaged(folder, "is gone") from None
            raise position.not_writable(folder, error) from None

    def _checked(self, ids: Sequence[str], keys: np.ndarray) -> np.ndarray:
        dim = self._snapshot.keys.shape[1] or keys.shape[1]
        if keys.shape != (len(ids), dim):
            raise AskonceError(
                f"{self.coder.name!r} gave keys of shape {keys.shape}, not {(len(ids), dim)}"
            )
        return keys

    def _append(self, ids: list[str], keys: np.ndarray) -> None:
        contents, snapshot = self._contents, self._snapshot
        start = len(snapshot.keys)
        if contents.store is None:
            contents.store = self._new_store(self._saved.generation, keys.shape[1])
        with self._disk_errors():
            contents.store.append(keys)
        replaced = [contents.rows[post_id] for post_id in ids if post_id in contents.rows]
        alive = np.append(snapshot.alive, np.ones(len(ids), dtype=bool))  # (n + m,)
        alive[replaced] = False
        contents.ids += ids
        contents.unsaved.append(added(ids))
        living = snapshot.living + len(ids) - len(replaced)
        with self._publishing:
            contents.rows.update(zip(ids, range(start, start + len(ids)), strict=True))
            self._snapshot = replace(
                snapshot, keys=contents.store.keys, alive=alive, living=living, ids=contents.ids
            )

    def _mark(self, ids: Sequence[str], final: Sequence[bool]) -> None:
        """Record which of these new keys are the slow reader's."""
        contents = self._contents
        read = [post_id for post_id, done in zip(ids, final, strict=True) if done]
        if read:
            contents.unsaved.append(marked(read))
        with self._publishing:
            contents.unread.update(dict.fromkeys(ids))
            for post_id in read:
                del contents.unread[post_id]

    def _compact(self) -> None:
        """Copy the living rows into new files when a third of all rows is dead."""
        snapshot = self._snapshot
        dead = len(snapshot.keys) - snapshot.living
        if dead <= FEW_DEAD or 3 * dead <= len(snapshot.keys):
            return
        generation = self._saved.generation + 1
        store = self._new_store(generation, snapshot.keys.shape[1])
        rows = np.flatnonzero(snapshot.alive)  # (m,)
        for start in range(0, len(rows), BATCH):
            store.append(snapshot.keys[rows[start : start + BATCH]])
        ids = [snapshot.ids[row] for row in rows.tolist()]
        by_id = {post_id: row for row, post_id in enumerate(ids)}
        self._saved = Saved(generation=generation)
        with self._publishing:
            unread = self._contents.unread
            log = [added(ids)]
            if self._two_readers:
                log.append(marked([post_id for post_id in ids if post_id not in unread]))
            self._contents = IndexedRows(store, ids, by_id, unread, log)
            self._snapshot = KeySnapshot(store.keys, np.ones(len(ids), dtype=bool), len(ids), ids)

    def _grow_graph(self) -> None:
        """Add new rows to the graph when they are too many to scan in every search."""
        snapshot = self._snapshot
        outside = snapshot.keys.size - (
            snapshot.graph.rows * snapshot.keys.shape[1] if snapshot.graph else 0
        )
        if snapshot.keys.size > self._exact_values and 4 * outside > self._exact_values:
            self._snapshot = replace(snapshot, graph=Graph.grown(snapshot.graph, snapshot.keys))

    def _new_store(self, generation: int, dim: int) -> KeyRows:
        return KeyRows(self._files.keys(generation) if self._files else None, dim)
