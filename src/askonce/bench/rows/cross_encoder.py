"""The BERT row: a transformer that reads both texts at once, fine-tuned on the training pools.

No checkpoint is kept: a run that was stopped starts anew.
"""

import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from askonce.bench.rows.base import Outcome, Row, Task, need_texts, scored
from askonce.bench.rows.checkpoints import MINILM, load_transformers, weights
from askonce.bench.store import Facts
from askonce.config import as_dict
from askonce.errors import AskonceError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.index.lexical import LexicalIndex
from askonce.training.events import Epoch
from askonce.training.recipe import Negatives
from askonce.training.sampling import Group, GroupSampler
from askonce.types import Dataset, Pool

BATCH = 32  # pairs that are scored at once


@dataclass(frozen=True)
class CrossSettings:
    """How the transformer is tuned: few steps, since a CPU does about twenty pairs a second."""

    epochs: int = 3
    examples: int = 1_500  # right answers of an epoch, each beside its wrong ones
    negatives: int = 3  # drawn from the question's own pool
    batch_size: int = 8  # examples
    rate: float = 5e-5  # AdamW; rises over the first tenth of the steps, then falls to 0
    clip: float = 1.0
    max_tokens: int = 160  # of both texts together
    dev_pools: int = 200  # by which the best epoch is chosen
    whole_pools: int = 100  # larger pools are not scored in full:
    rerank: int = 10  # only what BM25 puts on top, the others follow in its order
    seed: int = 1


QUICK = CrossSettings(epochs=1, examples=60, dev_pools=30)


class CrossEncoderRow(Row):
    """A fine-tuned cross-encoder from any transformer checkpoint."""

    kind = "transformer"

    def __init__(self, label: str, name: str | None = None) -> None:
        self.label, self._name = label, name

    def settings(self, vectors: Path | None, quick: bool) -> dict[str, Any]:
        """Which weights, and how they are tuned."""
        told = as_dict(QUICK if quick else CrossSettings())
        return {"checkpoint": self._name or MINILM, "tuning": told}

    def run(self, task: Task) -> Outcome:
        """Tune on the training pools, keep the epoch that is best on dev, then score."""
        need_texts(self, task.data)
        config = replace(QUICK if task.quick else CrossSettings(), seed=task.seed)
        torch.manual_seed(task.seed)
        reader = _Reader(*_load(self._name, self.label), config.max_tokens)
        begin = time.perf_counter()
        facts = _tune(reader, task, config)
        seconds = time.perf_counter() - begin
        scorer = _PoolScorer(reader, task.data.dataset, config)
        runs, speed = scored(task, scorer.score)
        size = sum(weight.numel() for weight in reader.model.parameters())
        facts |= {"train_seconds": seconds, "parameters": size, "all_parameters": size}
        return Outcome(runs, facts | speed)


def _load(name: str | None, label: str) -> tuple[Any, Any]:
    place = weights(name, f"the row {label!r}")
    transformers = load_transformers(f"the row {label!r}")
    try:
        tokeniser = transformers.AutoTokenizer.from_pretrained(place)
        kind = transformers.AutoModelForSequenceClassification
        return tokeniser, kind.from_pretrained(place, num_labels=1)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise AskonceError(f"no transformer checkpoint at {place!r}: {reason}") from None


class _Reader:
    """A tokeniser and a transformer with one output."""

    def __init__(self, tokeniser: Any, model: Any, max_tokens: int) -> None:  # noqa: ANN401
        self._tokeniser, self.model, self._max_tokens = tokeniser, model, max_tokens

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """One score per pair (B,)."""
        told = self._tokeniser(
            [query for query, _ in pairs],
            [candidate for _, candidate in pairs],
            truncation="longest_first",
            max_length=self._max_tokens,
            padding=True,
            return_tensors="pt",
        )
        return self.model(**told).logits.squeeze(-1)  # (B,)

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Scores without gradients, pairs of like length together."""
        order = np.argsort([len(a) + len(b) for a, b in pairs], kind="stable")
        scores = np.empty(len(pairs), dtype=np.float32)
        self.model.eval()
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                scores[rows] = self([pairs[row] for row in rows]).numpy()
        return scores


def _tune(reader: _Reader, task: Task, config: CrossSettings) -> Facts:
    """Softmax over each right answer and its wrong ones."""
    dataset, model = task.data.dataset, reader.model
    source = Negatives("pool", config.negatives)
    sampler = GroupSampler(dataset, dataset.train, source, task.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.rate, weight_decay=0.01)
    size = min(config.examples, len(sampler.epoch(1)))
    total = config.epochs * -(-size // config.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: _rise_and_fall(step, total)
    )
    best, kept, best_epoch = -1.0, deepcopy(model.state_dict()), 0
    for epoch in range(1, config.epochs + 1):
        groups = Random(f"{task.seed}/{epoch}").sample(sampler.epoch(epoch), size)
        model.train()
        losses = []
        for start in range(0, size, config.batch_size):
            loss = _loss(reader, groups[start : start + config.batch_size])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), config.clip)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        found = _dev(reader, task, config)
        record = {"epoch": epoch, "loss": float(np.mean(losses)), "dev": found}
        task.on_event(Epoch.of(record, found[task.data.watch] > best))
        if found[task.data.watch] > best:
            best, kept, best_epoch = found[task.data.watch], deepcopy(model.state_dict()), epoch
    model.load_state_dict(kept)
    return {"epochs": config.epochs, "best_epoch": best_epoch}


def _rise_and_fall(step: int, total: int) -> float:
    rise = max(1, total // 10)
    return min((step + 1) / rise, max(0.0, (total - step) / max(1, total - rise)))


def _loss(reader: _Reader, groups: Sequence[Group]) -> Tensor:
    pairs = [(group.query.text, post.text) for group in groups for post in group.candidates]
    parts = torch.split(reader(pairs), [len(group.candidates) for group in groups])
    # the right answer stands first in each group
    return torch.stack([-part.log_softmax(0)[0] for part in parts]).mean()


def _dev(reader: _Reader, task: Task, config: CrossSettings) -> dict[str, float]:
    if task.data.dev is None:
        raise AskonceError(f"{task.data.dataset.name!r} has no dev split to choose the epoch on")
    pools = [pool for pool in task.data.dataset.splits[task.data.dev] if pool.positives]
    step = max(1, len(pools) // config.dev_pools)
    some = pools[::step][: config.dev_pools]
    scores = _PoolScorer(reader, task.data.dataset, config).score(some)
    return evaluate(pools_to_qrels(some), pools_to_run(some, scores), "drop_no_pos").metrics


class _PoolScorer:
    """Scores pools; of large ones only what BM25 puts on top."""

    def __init__(self, reader: _Reader, dataset: Dataset, config: CrossSettings) -> None:
        self._reader, self._config, self._dataset = reader, config, dataset
        self._index: LexicalIndex | None = None

    def score(self, pools: Sequence[Pool]) -> list[np.ndarray]:
        """One score per candidate; pairs of all pools are read together."""
        orders = [self._order(pool) for pool in pools]
        tops = [order[: self._read_of(len(order))] for order in orders]
        pairs = [
            (pool.query.text, pool.candidates[place].text)
            for pool, top in zip(pools, tops, strict=True)
            for place in top
        ]
        ends = np.cumsum([len(top) for top in tops])
        found = np.split(self._reader.score(pairs), ends[:-1])
        return [_placed(order, scores) for order, scores in zip(orders, found, strict=True)]

    def _read_of(self, size: int) -> int:
        return size if size <= self._config.whole_pools else self._config.rerank

    def _order(self, pool: Pool) -> np.ndarray:
        """The places of candidates; in a large pool those that BM25 likes best come first."""
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
    """The scores of what was read in its places, and all others below, in their order."""
    found = np.empty(len(order), dtype=np.float32)
    found[order[: len(scores)]] = scores
    below = order[len(scores) :]
    found[below] = scores.min(initial=0.0) - 1 - np.arange(len(below))
    return found
