"""A ranker in a PyTerrier pipeline. Java is not needed."""

from typing import TYPE_CHECKING

import numpy as np

from askonce.adapters.common import RankerOrFolder, as_ranker
from askonce.errors import needing
from askonce.types import Pool, Post

with needing("pyterrier", "a PyTerrier transformer"):
    import pyterrier as pt

if TYPE_CHECKING:
    import pandas as pd


class AskonceReranker(pt.Transformer):
    """Re-score results [qid, query, docno, text]: first_stage >> AskonceReranker(folder)."""

    def __init__(self, ranker: RankerOrFolder, batch_size: int = 128) -> None:
        self.ranker = as_ranker(ranker)
        self.batch_size = batch_size

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        pt.validate.result_frame(inp, extra_columns=["query", "text"], context=self)
        queries, texts = inp["query"].tolist(), inp["text"].fillna("").tolist()
        groups = list(inp.groupby("qid", sort=False).indices.values())
        pools = [_pool(queries[rows[0]], [texts[row] for row in rows]) for rows in groups]
        scores = np.empty(len(inp))
        for rows, values in zip(
            groups, self.ranker.score_pools(pools, self.batch_size), strict=True
        ):
            scores[rows] = values
        return pt.model.add_ranks(inp.assign(score=scores)).sort_values(["qid", "rank"])


def _pool(query: str, texts: list[str]) -> Pool:
    """The text is the id, so that a text found by several queries is read once."""
    candidates = tuple(Post(id=text, title=text) for text in texts)
    return Pool(Post(id="", title=query), candidates, (0,) * len(texts))
