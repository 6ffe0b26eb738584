"""BM25 search by Milvus, over words of our own tokeniser."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from askonce.index.base import Hit, best_first
from askonce.index.lexical import MAX_QUERY_WORDS
from askonce.index.milvus.client import MAX_RESULTS, WRITE_SECONDS
from askonce.index.milvus.collection import BATCH, TIES, MilvusCollection, as_id, as_key, one_of
from askonce.index.stems import Stems
from askonce.types import Post

FORMAT = 1
K1, B = 1.2, 0.75  # as in the embedded index
LONGEST = 65_535  # bytes of a text, a limit of Milvus; the rest is not searched
NONE = "zq"  # stands for a post without words
_PLAIN = re.compile("[a-z0-9]+")


class MilvusWords(MilvusCollection):
    """Posts by their words, which our tokeniser chooses and Milvus weights by BM25."""

    def __init__(self, address: str, name: str, writer: bool = True) -> None:
        self.terms = Stems()
        made = {"kind": "words", "format": FORMAT, "tokeniser": "words"}
        super().__init__(address, name, made, writer)

    def search(self, text: str, k: int = 10) -> list[Hit]:
        query = self._query(text)
        if not query or k < 1:
            return []
        hits = self._hits(query, k + 1)
        if len(hits) > k and hits[k].score == hits[k - 1].score:
            hits = self._hits(query, k + TIES)
        return hits[:k]

    def score(self, text: str, ids: Sequence[str]) -> np.ndarray:
        """BM25 of each of these posts; 0 where no word is shared."""
        query = self._query(text)
        scores: dict[str, float] = {}
        if query and ids:
            # milvus-lite computes word statistics over the filtered posts alone
            if self._milvus.is_lite:
                scores = dict(self._hits(query, MAX_RESULTS))
            else:
                scores = dict(self._hits(query, len(ids), filter=one_of(ids)))
        return np.array([scores.get(post_id, 0.0) for post_id in ids])

    def _create(self) -> None:
        from pymilvus import DataType, Function, FunctionType

        schema = self._schema()
        # analysers leave words of plain letters and digits unchanged; "standard" exists everywhere
        schema.add_field(
            "text",
            DataType.VARCHAR,
            max_length=LONGEST,
            enable_analyzer=True,
            analyzer_params={"tokenizer": "standard"},
        )
        schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function(
                name="bm25",
                function_type=FunctionType.BM25,
                input_field_names=["text"],
                output_field_names=["words"],
            )
        )
        weights = {"bm25_k1": K1, "bm25_b": B}
        kind = {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25"}
        # "params" twice: pymilvus unwraps one, and milvus-lite reads the other
        self._milvus.create(self.name, schema, "words", **kind, params={"params": weights})

    def _open(self) -> None:
        super()._open()
        if self._milvus.is_file and self._writable:
            self._rewrite()

    def _rewrite(self) -> None:
        """Write all posts again, into one file.

        milvus-lite computes word statistics for each of its files, and starts a file whenever it is
        opened: a new post would be weighted as if there were no others.
        """
        client = self._milvus.client
        rows = client.query_iterator(self.name, output_fields=["id", "text"], batch_size=BATCH)
        while batch := rows.next():
            client.upsert(self.name, batch, timeout=WRITE_SECONDS)
        rows.close()

    def _rows(self, posts: Sequence[Post]) -> list[dict[str, Any]]:
        return [{"id": as_key(post.id), "text": self._text(post.text)} for post in posts]

    def _text(self, text: str) -> str:
        words = " ".join(map(_plain, self.terms(text))) or NONE
        return words if len(words) <= LONGEST else words[:LONGEST].rpartition(" ")[0] or NONE

    def _query(self, text: str) -> str:
        return " ".join(map(_plain, self.terms(text)[:MAX_QUERY_WORDS]))

    def _hits(self, query: str, limit: int, **options: Any) -> list[Hit]:  # noqa: ANN401
        results = self._search(query, "words", limit, **options)
        # milvus-lite reports the score as a negative distance
        return best_first(Hit(as_id(hit["id"]), abs(float(hit["distance"]))) for hit in results)


def _plain(word: str) -> str:
    """A word of letters and digits alone, which every analyser leaves unchanged."""
    return word if _PLAIN.fullmatch(word) else f"{NONE}{word.encode().hex()}"
