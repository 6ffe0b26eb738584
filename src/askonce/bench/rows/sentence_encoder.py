"""Rows of sentence-transformers without any training: the modern baseline."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored
from askonce.bench.rows.checkpoints import MINILM, load_transformers, weights
from askonce.errors import AskonceError, MissingExtra
from askonce.types import Pool, Post

BATCH = 32


class SentenceRow(Row):
    """Cosine between the vectors of a sentence encoder."""

    kind = "transformer"
    seeded = False

    def __init__(self, label: str, name: str | None = None) -> None:
        self.label, self._name = label, name

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        """The checkpoint."""
        return {"sentence_encoder": self._name or MINILM}

    def run(self, task: Task) -> Outcome:
        """Encode each text once, then compare."""
        need_texts(self, task.data)
        model = self._load()
        encoder = _Encoder(model)
        runs, facts = scored(task, encoder.score)
        size = sum(weight.numel() for weight in model.parameters())
        speed = len(encoder.vectors) / max(facts["score_seconds"], 1e-9)
        facts |= {"parameters": size, "all_parameters": size, "texts_per_second": speed}
        return Outcome(runs, facts | {"train_seconds": 0.0})

    def _load(self) -> Any:  # noqa: ANN401 - an optional package
        checkpoint = weights(self._name, f"the row {self.label!r}")
        load_transformers(f"the row {self.label!r}")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtra("sentence-transformers", "minilm", self.label) from None
        try:
            return SentenceTransformer(checkpoint)
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise AskonceError(f"no sentence encoder at {checkpoint!r}: {reason}") from None


class _Encoder:
    """Encodes each text once."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - an optional package
        self._model = model
        self.vectors: dict[str, np.ndarray] = {}  # by text: posts and queries may share an id

    def score(self, pools: Sequence[Pool]) -> list[np.ndarray]:
        """Cosine of each query with its candidates."""
        self._encode([post for pool in pools for post in (pool.query, *pool.candidates)])
        return [
            np.stack([self.vectors[post.text] for post in pool.candidates])
            @ self.vectors[pool.query.text]
            for pool in pools
        ]

    def _encode(self, posts: Sequence[Post]) -> None:
        new = sorted({post.text for post in posts} - self.vectors.keys())
        vectors = self._model.encode(
            new, batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True
        )
        self.vectors.update(zip(new, np.asarray(vectors, dtype=np.float32), strict=True))
