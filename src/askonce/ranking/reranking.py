"""Score documents that are not in the archive, as re-ranking services do."""

from collections.abc import Sequence

import numpy as np

from askonce.index.lexical import LexicalIndex
from askonce.ranking.fusion import fuse
from askonce.ranking.pipeline import Search
from askonce.types import Post


def rerank(search: Search, query: str, documents: Sequence[str]) -> list[float]:
    """A score for each document by the stages in service; higher is better."""
    posts = [Post(str(place), title=text) for place, text in enumerate(documents)]
    if not posts:
        return []
    scores: dict[str, np.ndarray] = {}
    if search.vectors is not None:
        coder = search.vectors.coder
        scores["vectors"] = coder.candidate_keys(posts) @ coder.query_keys([query])[0]  # (n,)
    if search.pair is not None:
        pairs = [(query, text) for text in documents]
        scores["pair"] = np.asarray(search.pair.predict(pairs), dtype=float)  # (n,)
    weights = search.serving.weights
    if not scores or weights.get("bm25", 0.0) != 0:
        lexical = LexicalIndex()
        lexical.add(posts)
        scores["bm25"] = lexical.score(query, [post.id for post in posts])  # (n,)
    if len(scores) == 1:
        return next(iter(scores.values())).tolist()
    chosen = {name: float(weights.get(name, 0.0)) for name in scores}
    return fuse(scores, chosen, search.serving.how).tolist()
