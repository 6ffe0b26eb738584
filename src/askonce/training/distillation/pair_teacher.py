"""Cross-encoders as teachers of pair models: tuned once per dataset, their scores cached.

The name of a teacher depends on its weights, its settings and the labels that it learnt from:
students of one dataset share a teacher, and nothing is tuned or scored twice.
"""

import hashlib
import shutil
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from askonce.config import as_dict
from askonce.teachers.cache import VectorCache, cache_folder, text_key
from askonce.teachers.teacher import OnProgress
from askonce.training.checkpoint import load_weights
from askonce.training.cross_encoder import BEST, CrossEncoder, CrossSettings, tune_cross_encoder
from askonce.training.events import OnEvent, ignore
from askonce.training.processes import core_seconds
from askonce.types import Dataset, Pool, TextPair

TUNED = "tuned.safetensors"
PURPOSE = "a cross-encoder as teacher"


class PairTeacher:
    """A cross-encoder tuned on the training labels of a dataset."""

    def __init__(
        self,
        source: str | None,
        dataset: Dataset,
        config: CrossSettings,
        watch: str = "MAP",
        cache: Path | None = None,
        on_event: OnEvent = ignore,
    ) -> None:
        self._dataset, self.config, self._watch, self._on_event = dataset, config, watch, on_event
        self._untuned = CrossEncoder.load(source, config, PURPOSE)
        self.name = f"cross-encoder-{self._fingerprint()}"
        self.folder = (cache or cache_folder()) / self.name
        self._scores = VectorCache(self.name, 1, cache)  # of one number

    @cached_property
    def encoder(self) -> CrossEncoder:
        """The tuned cross-encoder; the first use tunes it, and an interrupted tuning resumes."""
        from filelock import FileLock

        encoder, folder = self._untuned, self.folder
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):  # other students of this teacher wait
            if not (folder / TUNED).is_file():
                tune_cross_encoder(
                    encoder, self._dataset, self.config, self._watch, folder, self._on_event
                )
                (folder / BEST).replace(folder / TUNED)
                shutil.rmtree(folder / "checkpoint", ignore_errors=True)
            load_weights(folder / TUNED, encoder.model)
        return encoder

    def seconds_per_pair(self, pairs: Sequence[TextPair]) -> float:
        """Seconds of one core for scoring a pair like these, however busy the machine is."""
        return core_seconds(lambda: self._untuned.score(pairs)) / max(1, len(pairs))

    def score(self, pairs: Sequence[TextPair], on_progress: OnProgress | None = None) -> np.ndarray:
        """One score per pair (n,); what the cache lacks is read now and kept."""
        keys = [text_key(f"{query}\0{candidate}") for query, candidate in pairs]
        scores = self._scores.read(
            dict(zip(keys, pairs, strict=True)),
            lambda pair: len(pair[0]) + len(pair[1]),
            lambda chunk: self.encoder.score(chunk)[:, None],  # (n, 1)
            on_progress,
        )
        return np.array([scores[key][0] for key in keys], dtype=np.float32)

    def _fingerprint(self) -> str:
        """Letters that differ for other weights, settings or labels."""
        settings = repr((sorted(as_dict(self.config).items()), self._watch))
        digest = hashlib.blake2b(settings.encode(), digest_size=6)
        for name, tensor in sorted(self._untuned.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.numpy().data)
        for role in ("train", "dev"):
            for part in _labelled(self._dataset.role(role)):
                digest.update(part.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _labelled(pools: Iterable[Pool]) -> Iterable[str]:
    for pool in pools:
        yield f"\1{pool.query.text}"
        for post, label in pool.pairs:
            yield f"\0{label}\0{post.text}"
