"""Search by the keys of an encoder: exact while that is quick, then through a graph."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np

from askonce.errors import AskonceError
from askonce.index import position
from askonce.index.base import Hit, KeyEncoder
from askonce.index.graph import Graph
from askonce.index.key_rows import KeyRows, added, removed
from askonce.index.key_search import NOTHING, Seen
from askonce.index.vector_files import Saved, VectorFiles
from askonce.types import Post

BATCH = 2048  # posts encoded at a time
EXACT_VALUES = 10_000_000  # numbers in all keys: 33,000 rows of 300, 4 ms on one core
FEW_DEAD = 1000  # rows of replaced or removed posts that are not worth new files
REMEMBERED = 128  # queries whose keys are kept


@dataclass
class Contents:
    """What a writer knows beside what is seen."""

    store: KeyRows | None = None  # from the first post on, when the length of keys is known
    ids: list[str] = field(default_factory=list)  # by row
    rows: dict[str, int] = field(default_factory=dict)  # of the living
    unsaved: list[bytes] = field(default_factory=list)  # lines of the log


class VectorIndex:
    """Posts by their keys: in memory, or in a folder when one is named.

    Up to ``exact_values`` numbers every search looks at all keys; above, ``save`` puts them into a
    graph. With ``writer=False`` it only searches; ``reload`` shows what another process has saved.
    """

    def __init__(
        self,
        folder: Path | None,
        coder: KeyEncoder,
        writer: bool = True,
        exact_values: int = EXACT_VALUES,
    ) -> None:
        self.coder, self.position = coder, 0
        self._writable, self._exact_values = writer, exact_values
        self._files = VectorFiles(folder, coder.name) if folder is not None else None
        self._saved, self._contents, self._seen = Saved(), Contents(), NOTHING
        self._writing = threading.Lock()  # one change at a time
        self._showing = threading.Lock()  # of rows by id together with what is seen
        self._query_key = lru_cache(REMEMBERED)(self._encode_query)
        if folder is not None:
            self._open(folder)

    def __len__(self) -> int:
        return self._seen.living

    def add(self, posts: Iterable[Post]) -> None:
        """Make these posts findable; a post with a known id takes the place of the old one."""
        self._need_writer()
        for batch in _batches(posts):
            latest = {post.id: post for post in batch}
            self.add_keys(list(latest), self.coder.candidate_keys(list(latest.values())))

    def add_keys(self, ids: Sequence[str], keys: np.ndarray) -> None:
        """Make posts findable by keys (n, K) that the coder gave them; each id stands once."""
        self._need_writer()
        keys = self._checked(ids, np.asarray(keys, dtype=np.float32))  # (n, K)
        with self._writing:
            self._append(list(ids), keys)

    def remove(self, ids: Iterable[str]) -> None:
        """Forget the posts with these ids; unknown ids are no error."""
        self._need_writer()
        with self._writing:
            contents, seen = self._contents, self._seen
            gone = [post_id for post_id in dict.fromkeys(ids) if post_id in contents.rows]
            if not gone:
                return
            alive = seen.alive.copy()  # (n,)
            contents.unsaved.append(removed(gone))
            with self._showing:
                alive[[contents.rows.pop(post_id) for post_id in gone]] = False
                self._seen = replace(seen, alive=alive, living=seen.living - len(gone))

    def search(self, text: str, k: int = 10) -> list[Hit]:
        """The k posts that match best, best first; equal scores come in the order of ids."""
        return self.search_key(self._query_key(text), k) if k > 0 and text.strip() else []

    def search_key(self, key: np.ndarray, k: int = 10) -> list[Hit]:
        """The k posts that match a query's key best."""
        return self._seen.best(key, k)

    def score(self, text: str, ids: Sequence[str]) -> np.ndarray:
        """The inner product of each of these posts; an unknown one counts as the worst of them."""
        return self.score_key(self._query_key(text), ids)

    def score_key(self, key: np.ndarray, ids: Sequence[str]) -> np.ndarray:
        """The inner product of each of these posts with a query's key."""
        with self._showing:
            seen, rows = self._seen, self._contents.rows
            places = np.array([rows.get(post_id, -1) for post_id in ids], dtype=np.int64)  # (c,)
        known = places >= 0
        scores = np.zeros(len(ids))
        if known.any():
            scores[known] = seen.products(places[known], key)
            scores[~known] = scores[known].min()
        return scores

    def save(self) -> None:
        """Put everything on the disk, the position last; make the graph if searches need one."""
        self._need_writer()
        with self._writing, self._disk_errors():
            self._leave_out_dead()
            self._grow_graph()
            if self._files is not None:
                contents = self._contents
                log = b"".join(contents.unsaved)
                self._saved = self._files.write(
                    self._saved, self.position, self._seen, contents.store, log
                )
                contents.unsaved.clear()

    def reload(self) -> None:
        """See what another process has saved."""
        if self._files is None:
            return
        loaded = self._files.load()
        self.position, self._saved = loaded.saved.change, loaded.saved
        with self._showing:
            self._contents = Contents(loaded.store, loaded.ids, loaded.rows)
            self._seen = loaded.seen

    def close(self) -> None:
        """Nothing is held open; searching goes on."""

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

    def _encode_query(self, text: str) -> np.ndarray:
        return self.coder.query_keys([text])[0]  # (K,)

    def _checked(self, ids: Sequence[str], keys: np.ndarray) -> np.ndarray:
        dim = self._seen.keys.shape[1] or keys.shape[1]
        if keys.shape != (len(ids), dim):
            raise AskonceError(
                f"{self.coder.name!r} gave keys of shape {keys.shape}, not {(len(ids), dim)}"
            )
        wrong = ~np.isfinite(keys).all(axis=1)  # (n,)
        if wrong.any():
            first = ids[int(wrong.argmax())]
            raise AskonceError(f"{self.coder.name!r} gave post {first!r} a key that is not finite")
        return keys

    def _append(self, ids: list[str], keys: np.ndarray) -> None:
        contents, seen = self._contents, self._seen
        start = len(seen.keys)
        if contents.store is None:
            contents.store = self._new_store(self._saved.generation, keys.shape[1])
        with self._disk_errors():
            contents.store.append(keys)
        replaced = [contents.rows[post_id] for post_id in ids if post_id in contents.rows]
        alive = np.append(seen.alive, np.ones(len(ids), dtype=bool))  # (n + m,)
        alive[replaced] = False
        contents.ids += ids
        contents.unsaved.append(added(ids))
        living = seen.living + len(ids) - len(replaced)
        with self._showing:
            contents.rows.update(zip(ids, range(start, start + len(ids)), strict=True))
            self._seen = Seen(contents.store.keys, alive, living, contents.ids, seen.graph)

    def _leave_out_dead(self) -> None:
        """Copy the living into new files when a third of the rows is dead."""
        seen = self._seen
        dead = len(seen.keys) - seen.living
        if dead <= FEW_DEAD or 3 * dead <= len(seen.keys):
            return
        generation = self._saved.generation + 1
        store = self._new_store(generation, seen.keys.shape[1])
        rows = np.flatnonzero(seen.alive)  # (m,)
        for start in range(0, len(rows), BATCH):
            store.append(seen.keys[rows[start : start + BATCH]])
        ids = [seen.ids[row] for row in rows.tolist()]
        by_id = {post_id: row for row, post_id in enumerate(ids)}
        self._saved = Saved(generation=generation)
        with self._showing:
            self._contents = Contents(store, ids, by_id, [added(ids)])
            self._seen = Seen(store.keys, np.ones(len(ids), dtype=bool), len(ids), ids)

    def _grow_graph(self) -> None:
        """Put into the graph what came since, when it is too much to look at in every search."""
        seen = self._seen
        outside = seen.keys.size - (seen.graph.rows * seen.keys.shape[1] if seen.graph else 0)
        if seen.keys.size > self._exact_values and 4 * outside > self._exact_values:
            self._seen = replace(seen, graph=Graph.grown(seen.graph, seen.keys))

    def _new_store(self, generation: int, dim: int) -> KeyRows:
        return KeyRows(self._files.keys(generation) if self._files else None, dim)


def _batches(posts: Iterable[Post]) -> Iterator[list[Post]]:
    stream = iter(posts)
    while batch := list(islice(stream, BATCH)):
        yield batch
