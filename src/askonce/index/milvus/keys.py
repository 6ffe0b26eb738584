"""Search in Milvus by the keys of an encoder, by inner product."""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from askonce.index.base import Hit, KeyEncoder, best_first, finite_keys
from askonce.index.milvus.collection import BATCH, TIES, MilvusCollection, as_id, as_key, one_of
from askonce.types import Post

FORMAT = 1
SPARE = 10  # extra hits, as rounding may have changed the order
ROUNDING = 1e-5  # of single precision, relative to the largest score
UNREAD = "read == false"
SHARE_SECONDS = 5.0


class MilvusKeys(MilvusCollection):
    """Posts by their keys. Milvus finds hits; they are scored here, in float64.

    So a post gets exactly the score that the embedded index gives it.
    """

    def __init__(self, address: str, name: str, coder: KeyEncoder, writer: bool = True) -> None:
        self.coder = coder
        self._share, self._share_until = 1.0, -math.inf
        made = {"kind": "keys", "format": FORMAT, "coder": coder.name}
        super().__init__(address, name, made, writer)

    def add_keys(
        self, ids: Sequence[str], keys: np.ndarray, read: np.ndarray | None = None
    ) -> None:
        self._need_writer()
        final = np.ones(len(ids), dtype=bool) if read is None else read  # (n,)
        for start in range(0, len(ids), BATCH):
            batch = slice(start, start + BATCH)
            self._put(self._key_rows(ids[batch], keys[batch], final[batch]))

    def unread(self, count: int | None = None) -> list[str]:
        if self.coder.slow is None:
            return []
        ids: list[str] = []
        with self._errors():
            rows = self._milvus.client.query_iterator(
                self.name,
                batch_size=min(BATCH, count or BATCH),
                limit=-1 if count is None else count,
                filter=UNREAD,
                output_fields=["id"],
            )
            while batch := rows.next():
                ids += (as_id(row["id"]) for row in batch)
            rows.close()
        return ids

    def unread_count(self) -> int:
        if self.coder.slow is None:
            return 0
        with self._errors():
            rows = self._milvus.client.query(
                self.name,
                filter=UNREAD,
                output_fields=["count(*)"],
                timeout=self._milvus.seconds,
            )
        return int(rows[0]["count(*)"])

    def read_share(self) -> float:
        """Of at most ``SHARE_SECONDS`` ago: counting takes a request."""
        now = time.monotonic()
        if now >= self._share_until:
            self._share = 1 - self.unread_count() / max(1, len(self))
            self._share_until = now + SHARE_SECONDS
        return self._share

    def search_key(self, key: np.ndarray, k: int = 10) -> list[Hit]:
        if k < 1:
            return []
        hits = self._hits(key, k + SPARE)
        if len(hits) == k + SPARE:
            slack = ROUNDING * max(abs(hits[0].score), abs(hits[-1].score))
            if hits[k - 1].score - hits[-1].score <= slack:
                hits = self._hits(key, k + TIES)
        return hits[:k]

    def search_keys(self, keys: np.ndarray, k: int = 10) -> list[list[Hit]]:
        return [self.search_key(key, k) for key in keys]

    def score_key(self, key: np.ndarray, ids: Sequence[str]) -> np.ndarray:
        if not ids:
            return np.empty(0)
        with self._errors():
            rows = self._milvus.client.query(
                self.name, filter=one_of(ids), output_fields=["key"], timeout=self._milvus.seconds
            )
        scores = dict(zip((as_id(row["id"]) for row in rows), _products(rows, key), strict=True))
        worst = min(scores.values(), default=0.0)
        return np.array([scores.get(post_id, worst) for post_id in ids])

    def _create(self) -> None:
        from pymilvus import DataType

        schema = self._schema()
        dim = self.coder.query_keys(["a word"]).shape[1]
        schema.add_field("key", DataType.FLOAT_VECTOR, dim=dim)
        if self.coder.slow is not None:
            schema.add_field("read", DataType.BOOL)  # whether the key is the slow reader's
        # exact; for more speed, replace the index with the tools of Milvus
        self._milvus.create(self.name, schema, "key", index_type="FLAT", metric_type="IP")

    def _rows(self, posts: Sequence[Post]) -> list[dict[str, Any]]:
        return self._key_rows([post.id for post in posts], *self.coder.first_keys(posts))

    def _key_rows(
        self, ids: Sequence[str], keys: np.ndarray, read: np.ndarray
    ) -> list[dict[str, Any]]:
        keys = finite_keys(self.coder, ids, keys)  # (n, K)
        rows = [{"id": as_key(name), "key": key} for name, key in zip(ids, keys, strict=True)]
        if self.coder.slow is not None:
            rows = [row | {"read": bool(done)} for row, done in zip(rows, read, strict=True)]
        return rows

    def _hits(self, key: np.ndarray, limit: int) -> list[Hit]:
        results = self._search(key, "key", limit, output_fields=["key"])
        products = _products([result["entity"] for result in results], key)
        pairs = zip(results, products, strict=True)
        return best_first(Hit(as_id(result["id"]), score) for result, score in pairs)


def _products(rows: Sequence[Any], key: np.ndarray) -> list[float]:
    if not rows:
        return []
    keys = np.array([row["key"] for row in rows], dtype=np.float32)  # (c, K)
    return (keys.astype(np.float64) * key).sum(axis=1).tolist()
