"""A transformer that reads both texts at once, fine-tuned on labelled pools."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from askonce.config import as_dict
from askonce.errors import AskonceError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.teachers.checkpoints import load_transformers, local_only, weights
from askonce.teachers.precision import Precision, fastest
from askonce.teachers.teacher import OnProgress
from askonce.training.batches import slices
from askonce.training.checkpoint import EpochRecord, Progress, load_weights, save_weights
from askonce.training.epochs import EpochSettings, Learner, Loss, Measurement, run_epochs
from askonce.training.events import OnEvent, ignore
from askonce.training.processes import ALONE
from askonce.training.recipe import Negatives
from askonce.training.sampling import Group, GroupSampler
from askonce.types import Dataset, Pool, TextPair

BATCH = 32  # pairs that are scored at once
BEST = "best.safetensors"


@dataclass(frozen=True)
class CrossSettings:
    """Fine-tuning of the transformer: few steps, since a CPU reads about twenty pairs a second."""

    epochs: int = 3
    examples: int = 1_500  # right answers of an epoch, each with its negatives
    negatives: int = 3  # drawn from the question's own pool
    batch_size: int = 8  # examples
    rate: float = 5e-5  # AdamW; rises over the first tenth of the steps, then falls to 0
    clip: float = 1.0
    max_tokens: int = 160  # of both texts together
    dev_pools: int = 200  # by which the best epoch is chosen
    whole_pools: int = 100  # larger pools are not scored in full:
    rerank: int = 10  # only BM25's best, the others follow in BM25's order
    seed: int = 1


class CrossEncoder:
    """A tokeniser and a transformer with one output, in bfloat16 where that is fast."""

    def __init__(self, tokeniser: Any, model: Any, max_tokens: int) -> None:  # noqa: ANN401
        self._tokeniser, self.model, self._max_tokens = tokeniser, model, max_tokens
        self._half = fastest(Precision.FLOAT32, Precision.BFLOAT16) == Precision.BFLOAT16

    @classmethod
    def load(cls, name: str | None, config: CrossSettings, purpose: str) -> "CrossEncoder":
        """A checkpoint by folder or name, None for MiniLM; the new head depends on the seed."""
        source, local = weights(name, purpose), {"local_files_only": local_only()}
        transformers = load_transformers(purpose)
        torch.manual_seed(config.seed)
        try:
            tokeniser = transformers.AutoTokenizer.from_pretrained(source, **local)
            kind = transformers.AutoModelForSequenceClassification
            model = kind.from_pretrained(source, num_labels=1, **local)
            return cls(tokeniser, model, config.max_tokens)
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise AskonceError(f"no transformer checkpoint at {source!r}: {reason}") from None

    def __call__(self, pairs: Sequence[TextPair]) -> Tensor:
        tokens = self._tokeniser(
            [query for query, _ in pairs],
            [candidate for _, candidate in pairs],
            truncation="longest_first",
            max_length=self._max_tokens,
            padding=True,
            return_tensors="pt",
        )
        with torch.autocast("cpu", torch.bfloat16, enabled=self._half):
            logits: Tensor = self.model(**tokens).logits
        return logits.squeeze(-1).float()  # (B,)

    def score(self, pairs: Sequence[TextPair], on_progress: OnProgress | None = None) -> np.ndarray:
        """Scores without gradients; pairs of similar length are read together."""
        order = np.argsort([-len(a) - len(b) for a, b in pairs], kind="stable")
        scores = np.empty(len(pairs), dtype=np.float32)
        self.model.eval()
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                scores[rows] = self([pairs[row] for row in rows]).numpy()
                if on_progress is not None:
                    on_progress(start + len(rows), len(order))
        return scores


def tune_cross_encoder(
    encoder: CrossEncoder,
    dataset: Dataset,
    config: CrossSettings,
    watch: str,
    folder: Path,
    on_event: OnEvent = ignore,
) -> Progress:
    """Fine-tune on the training pools and load the best epoch by ``watch`` on dev. Resumes."""
    learner = _Tuning(encoder, dataset, config, watch, folder)
    progress = run_epochs(learner, on_event)
    load_weights(folder / BEST, encoder.model)
    return progress


class _Tuning(Learner[Group]):
    """Softmax over each right answer and its negatives."""

    def __init__(
        self,
        encoder: CrossEncoder,
        dataset: Dataset,
        config: CrossSettings,
        watch: str,
        folder: Path,
    ) -> None:
        self._encoder, self._config, self._watch, self.folder = encoder, config, watch, folder
        self.module, self.processes, self.identity = encoder.model, ALONE, as_dict(config)
        self.settings = EpochSettings(config.epochs, config.epochs, config.seed, config.clip)
        self.optimizer = torch.optim.AdamW(
            self.module.parameters(), lr=config.rate, weight_decay=0.01
        )
        self._scorer = PoolScorer(encoder, dataset, config)
        self._dev = _dev(dataset, config.dev_pools)
        negatives = Negatives("pool", config.negatives)
        self._sampler = GroupSampler(dataset, dataset.train, negatives, config.seed)
        self._size = min(config.examples, len(self._sampler.epoch(1)))

    def batches(self, epoch: int) -> Sequence[Sequence[Group]]:
        """A sample of the groups, drawn anew for each epoch."""
        rng = Random(f"{self._config.seed}/{epoch}")
        return slices(rng.sample(self._sampler.epoch(epoch), self._size), self._config.batch_size)

    def rate(self, epoch: int, step: int) -> float:
        """Linear rise, then linear fall over all epochs."""
        steps = -(-self._size // self._config.batch_size)  # of an epoch
        done, total = (epoch - 1) * steps + step, self._config.epochs * steps
        rise = max(1, total // 10)
        fall = max(0.0, (total - done) / max(1, total - rise))
        return self._config.rate * min((done + 1) / rise, fall)

    def step(self, own: Sequence[Group], batch: Sequence[Group]) -> Loss:
        """-ln p of the right answer, which is the first of its group."""
        pairs = [(group.query.text, post.text) for group in own for post in group.candidates]
        parts = torch.split(self._encoder(pairs), [len(group.candidates) for group in own])
        loss = torch.stack([-part.log_softmax(0)[0] for part in parts]).sum()
        return Loss(loss / len(batch), float(loss.detach()), len(own))

    def measure(self) -> Measurement:
        run = pools_to_run(self._dev, self._scorer.score(self._dev))
        metrics = evaluate(pools_to_qrels(self._dev), run, "drop_no_pos").metrics
        return Measurement(metrics[self._watch], {"dev": metrics})

    def save(self, record: EpochRecord) -> None:
        save_weights(self.folder / BEST, self.module)


def _dev(dataset: Dataset, count: int) -> list[Pool]:
    """Dev pools with a right candidate, spread evenly."""
    pools = [pool for pool in dataset.splits.get(dataset.dev, ()) if pool.positives]
    if not pools:
        raise AskonceError(f"{dataset.name!r} has no dev split to choose the epoch on")
    return pools[:: max(1, len(pools) // count)][:count]


class PoolScorer:
    """Scores pools; of large ones only BM25's best."""

    def __init__(self, encoder: CrossEncoder, dataset: Dataset, config: CrossSettings) -> None:
        self._encoder, self._config, self._dataset = encoder, config, dataset

    def score(self, pools: Sequence[Pool]) -> list[np.ndarray]:
        """One score per candidate; pairs of all pools are read together."""
        orders = [self._order(pool) for pool in pools]
        tops = [order[: self._read_of(len(order))] for order in orders]
        pairs = [
            (pool.query.text, pool.candidates[row].text)
            for pool, top in zip(pools, tops, strict=True)
            for row in top
        ]
        ends = np.cumsum([len(top) for top in tops])
        parts = np.split(self._encoder.score(pairs), ends[:-1])
        return [_placed(order, scores) for order, scores in zip(orders, parts, strict=True)]

    def _read_of(self, size: int) -> int:
        return size if size <= self._config.whole_pools else self._config.rerank

    def _order(self, pool: Pool) -> np.ndarray:
        """The rows of candidates; in a large pool by BM25, best first."""
        if self._read_of(len(pool.candidates)) == len(pool.candidates):
            return np.arange(len(pool.candidates))
        return np.argsort(-self._bm25.scores(pool), kind="stable")

    @cached_property
    def _bm25(self) -> LexicalIndex:
        return LexicalIndex.of(self._dataset.posts.values(), self._dataset.tokeniser)


def _placed(order: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Scores by row: of the first rows as given, of the others below these, in their order."""
    placed = np.empty(len(order), dtype=np.float32)
    placed[order[: len(scores)]] = scores
    below = order[len(scores) :]
    placed[below] = scores.min(initial=0.0) - 1 - np.arange(len(below))
    return placed
