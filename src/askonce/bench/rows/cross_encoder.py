"""The BERT row: a transformer that reads both texts at once, fine-tuned on the training pools."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored
from askonce.bench.rows.checkpoints import MINILM, load_transformers, weights
from askonce.config import as_dict
from askonce.errors import AskonceError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.training.batches import slices
from askonce.training.checkpoint import Record, load_weights, save_weights
from askonce.training.epochs import EpochSettings, Learner, Loss, Measurement, run_epochs
from askonce.training.processes import alone
from askonce.training.recipe import Negatives
from askonce.training.sampling import Group, GroupSampler
from askonce.types import Dataset, Pool

BATCH = 32  # pairs that are scored at once
WORK = "tuning"  # folder of the history and, while it runs, of checkpoints
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


QUICK = CrossSettings(epochs=1, examples=60, dev_pools=30)


class CrossEncoderRow(Row):
    """A fine-tuned cross-encoder from any transformer checkpoint."""

    kind = "transformer"

    def __init__(self, label: str, name: str | None = None) -> None:
        self.label, self._name = label, name

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        tuning = as_dict(QUICK if quick else CrossSettings())
        return {"checkpoint": self._name or MINILM, "tuning": tuning}

    def run(self, task: Task) -> Outcome:
        need_texts(self, task.data)
        config = replace(QUICK if task.quick else CrossSettings(), seed=task.seed)
        torch.manual_seed(task.seed)  # of the new head
        reader = _Reader(*_load(self._name, self.label), config.max_tokens)
        folder = task.folder / WORK
        learner = _CrossEncoder(reader, task, config, folder)
        loop = EpochSettings(config.epochs, config.epochs, config.seed, config.clip)
        progress = run_epochs(learner, loop, folder, task.on_event)
        load_weights(folder / BEST, reader.model)
        runs, speed = scored(task, learner.scorer.score)
        size = sum(weight.numel() for weight in reader.model.parameters())
        facts = {
            "epochs": progress.epoch,
            "best_epoch": progress.best_epoch,
            "train_seconds": sum(record["seconds"] for record in progress.history),
            "parameters": size,
            "all_parameters": size,
        }
        return Outcome(runs, facts | speed)

    def tidy(self, folder: Path) -> None:
        """Keep the history only."""
        shutil.rmtree(folder / WORK / "checkpoint", ignore_errors=True)
        (folder / WORK / BEST).unlink(missing_ok=True)


def _load(name: str | None, label: str) -> tuple[Any, Any]:
    source = weights(name, f"the row {label!r}")
    transformers = load_transformers(f"the row {label!r}")
    try:
        tokeniser = transformers.AutoTokenizer.from_pretrained(source)
        kind = transformers.AutoModelForSequenceClassification
        return tokeniser, kind.from_pretrained(source, num_labels=1)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise AskonceError(f"no transformer checkpoint at {source!r}: {reason}") from None


class _Reader:
    """A tokeniser and a transformer with one output."""

    def __init__(self, tokeniser: Any, model: Any, max_tokens: int) -> None:  # noqa: ANN401
        self._tokeniser, self.model, self._max_tokens = tokeniser, model, max_tokens

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """One score per pair (B,)."""
        tokens = self._tokeniser(
            [query for query, _ in pairs],
            [candidate for _, candidate in pairs],
            truncation="longest_first",
            max_length=self._max_tokens,
            padding=True,
            return_tensors="pt",
        )
        return self.model(**tokens).logits.squeeze(-1)  # (B,)

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Scores without gradients; pairs of similar length are read together."""
        order = np.argsort([len(a) + len(b) for a, b in pairs], kind="stable")
        scores = np.empty(len(pairs), dtype=np.float32)
        self.model.eval()
        with torch.inference_mode():
            for rows in np.split(order, range(BATCH, len(order), BATCH)):
                scores[rows] = self([pairs[row] for row in rows]).numpy()
        return scores


class _CrossEncoder(Learner[Group]):
    """Softmax over each right answer and its negatives."""

    def __init__(self, reader: _Reader, task: Task, config: CrossSettings, folder: Path) -> None:
        dataset = task.data.dataset
        self._reader, self._task, self._config, self._folder = reader, task, config, folder
        self.module, self.fabric, self.identity = reader.model, alone(), as_dict(config)
        self.optimizer = torch.optim.AdamW(
            self.module.parameters(), lr=config.rate, weight_decay=0.01
        )
        self.scorer = _PoolScorer(reader, dataset, config)
        self._dev = _dev(task, config.dev_pools)
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
        share = _rise_and_fall((epoch - 1) * steps + step, self._config.epochs * steps)
        return self._config.rate * share

    def step(self, own: Sequence[Group], batch: Sequence[Group]) -> Loss:
        """-ln p of the right answer, which is the first of its group."""
        pairs = [(group.query.text, post.text) for group in own for post in group.candidates]
        parts = torch.split(self._reader(pairs), [len(group.candidates) for group in own])
        loss = torch.stack([-part.log_softmax(0)[0] for part in parts]).sum()
        return Loss(loss / len(batch), float(loss.detach()), len(own))

    def measure(self) -> Measurement:
        run = pools_to_run(self._dev, self.scorer.score(self._dev))
        metrics = evaluate(pools_to_qrels(self._dev), run, "drop_no_pos").metrics
        return Measurement(metrics[self._task.data.watch], {"dev": metrics})

    def save(self, record: Record) -> None:
        save_weights(self._folder / BEST, self.module)


def _rise_and_fall(step: int, total: int) -> float:
    rise = max(1, total // 10)
    return min((step + 1) / rise, max(0.0, (total - step) / max(1, total - rise)))


def _dev(task: Task, count: int) -> list[Pool]:
    """Dev pools with a right candidate, spread evenly."""
    if task.data.dev is None:
        raise AskonceError(f"{task.data.dataset.name!r} has no dev split to choose the epoch on")
    pools = [pool for pool in task.data.dataset.splits[task.data.dev] if pool.positives]
    return pools[:: max(1, len(pools) // count)][:count]


class _PoolScorer:
    """Scores pools; of large ones only BM25's best."""

    def __init__(self, reader: _Reader, dataset: Dataset, config: CrossSettings) -> None:
        self._reader, self._config, self._dataset = reader, config, dataset
        self._index: LexicalIndex | None = None

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
        parts = np.split(self._reader.score(pairs), ends[:-1])
        return [_placed(order, scores) for order, scores in zip(orders, parts, strict=True)]

    def _read_of(self, size: int) -> int:
        return size if size <= self._config.whole_pools else self._config.rerank

    def _order(self, pool: Pool) -> np.ndarray:
        """The rows of candidates; in a large pool by BM25, best first."""
        if self._read_of(len(pool.candidates)) == len(pool.candidates):
            return np.arange(len(pool.candidates))
        return np.argsort(-self._bm25.scores(pool), kind="stable")

    @property
    def _bm25(self) -> LexicalIndex:
        if self._index is None:
            self._index = LexicalIndex(tokeniser=self._dataset.tokeniser)
            self._index.add(self._dataset.posts.values())
        return self._index


def _placed(order: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Scores by row: of the first rows as given, of the others below these, in their order."""
    placed = np.empty(len(order), dtype=np.float32)
    placed[order[: len(scores)]] = scores
    below = order[len(scores) :]
    placed[below] = scores.min(initial=0.0) - 1 - np.arange(len(below))
    return placed
