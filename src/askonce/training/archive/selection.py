"""Select on dev which stages serve and how they are fused, with the pipeline that serves.

The base of every choice is the order that would serve without the stage. Lists are cut where the
engine cuts them, so a right post that no stage finds counts against all.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from askonce.evaluation import evaluate
from askonce.ranker import Ranker
from askonce.ranking.fusion import Fusion, How
from askonce.ranking.manifest import Serving
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import BM25, DEPTH, PAIR, VECTORS, Candidates, Ranked
from askonce.training.archive.held_out import EncodedPosts, HeldOut, read_pairs
from askonce.training.archive.labels import LabelledQuery
from askonce.types import Post

WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)  # of a new stage beside those before it
HOW: tuple[How, ...] = ("zscore", "reciprocal")

Splits = Mapping[str, HeldOut]  # "dev" and "test"
Metrics = Mapping[str, Mapping[str, float]]  # of each split


@dataclass(frozen=True, eq=False)
class Measured:
    """A fusion, the order that it gives for every question, and how good that is."""

    fusion: Fusion
    rankings: Mapping[str, Sequence[Ranked]]  # of each split
    metrics: Metrics


@dataclass(frozen=True, eq=False)
class Selected:
    """The stages that serve a task, and the metrics of every system that was tried."""

    served: Measured
    systems: Mapping[str, Metrics]
    encoder: EncodedPosts | None = None
    pair: Ranker | None = None

    def pipeline(self, split: HeldOut) -> Search:
        """The pipeline that serves, over the posts of a split."""
        fusion = self.served.fusion
        serving = Serving(how=fusion.how, weights=fusion.weights)
        return split.pipeline(serving, self.encoder, self.pair)

    def figures(self) -> dict[str, dict[str, Mapping[str, float]]]:
        """The metrics as a manifest has them: split, system, metric; what serves is last."""
        systems = {**self.systems, "fused": self.served.metrics}
        return {
            split: {name: metrics[split] for name, metrics in systems.items()}
            for split in self.served.metrics
        }


def select_bm25(splits: Splits) -> Selected:
    """BM25 alone, which serves until something gains on it."""
    bm25 = Serving()
    candidates = {
        name: split.find(split.pipeline(bm25), split.queries) for name, split in splits.items()
    }
    served = _measure(splits, bm25.fusion, candidates)
    return Selected(served, {"bm25": served.metrics})


def select_encoder(splits: Splits, bm25: Selected, encoders: Sequence[EncodedPosts]) -> Selected:
    """The encoder with the highest dev MAP, alone or beside BM25, if it gains on BM25 alone."""
    tried = [_try_encoder(splits, bm25, encoder) for encoder in encoders]
    best = max(tried, key=lambda one: one.served.metrics["dev"]["MAP"])
    systems = dict(best.systems)
    for encoder, one in zip(encoders, tried, strict=True):
        if one is not best:
            systems[f"vectors {encoder.name}"] = one.systems["vectors"]
            systems[f"fused {encoder.name}"] = one.served.metrics
    return replace(best, systems=systems)


def _try_encoder(splits: Splits, bm25: Selected, encoder: EncodedPosts) -> Selected:
    """BM25 alone, or with the encoder used in the best way if that gains."""
    serving = Serving(weights={BM25: 1.0, VECTORS: 1.0})
    candidates = {
        name: split.find(split.pipeline(serving, encoder), split.queries)
        for name, split in splits.items()
    }
    alone = Fusion(weights={VECTORS: 1.0})
    both = [Fusion(how, {BM25: 1.0, VECTORS: weight}) for how in HOW for weight in WEIGHTS]
    systems = {**bm25.systems, "vectors": _measure(splits, alone, candidates).metrics}
    dev = splits["dev"].queries
    fusion = select(dev, bm25.served.rankings["dev"], candidates["dev"], [alone, *both])
    if fusion is None:
        return replace(bm25, systems=systems)
    return Selected(_measure(splits, fusion, candidates), systems, encoder)


def longest_list(dev: HeldOut, first: Selected) -> tuple[str, list[Post]]:
    """The question of dev with most candidates, and those that a pair model would read."""
    pairs = zip(dev.queries, first.served.rankings["dev"], strict=True)
    query, ranked = max(pairs, key=lambda pair: len(pair[1].ids))
    return query.query.text, [dev.by_id[name] for name in ranked.ids[:DEPTH]]


def select_pair(splits: Splits, first: Selected, pair: Ranker) -> Selected:
    """The first stages alone, or with a pair model on top if that gains on them."""
    with_pair = replace(first, pair=pair)
    candidates = {
        name: read_pairs(with_pair.pipeline(split), split.queries, first.served.rankings[name])
        for name, split in splits.items()
    }
    alone = _measure(splits, Fusion(weights={PAIR: 1.0}), candidates)
    systems = {**first.systems, "pair": alone.metrics}
    before = first.served.fusion
    total = sum(before.weights.values())
    fusions = [Fusion(before.how, {**before.weights, PAIR: total * w}) for w in WEIGHTS]
    dev = splits["dev"].queries
    fusion = select(dev, first.served.rankings["dev"], candidates["dev"], fusions)
    if fusion is None:
        return replace(first, systems=systems)
    if first.encoder is not None:  # else that is "bm25"
        systems["without pair"] = first.served.metrics
    return replace(with_pair, served=_measure(splits, fusion, candidates), systems=systems)


def _measure(
    splits: Splits, fusion: Fusion, candidates: Mapping[str, Sequence[Candidates]]
) -> Measured:
    rankings = {name: [fusion.join(one) for one in found] for name, found in candidates.items()}
    metrics = {name: figures(split.queries, rankings[name]) for name, split in splits.items()}
    return Measured(fusion, rankings, metrics)


def select(
    queries: Sequence[LabelledQuery],
    base: Sequence[Ranked],
    candidates: Sequence[Candidates],
    fusions: Iterable[Fusion],
) -> Fusion | None:
    """The fusion with the highest MAP, if it gains on the order that serves without the stage."""
    right = [query.right_ids for query in queries]

    def precision(rankings: Iterable[Ranked]) -> np.ndarray:
        return np.array(list(map(average_precision, rankings, right)))  # (Q,)

    tried = [(fusion, precision(map(fusion.join, candidates))) for fusion in fusions]
    best, values = max(tried, key=lambda one: one[1].mean())
    return best if gains(values, precision(base)) else None


def average_precision(ranked: Ranked, right: Set[str]) -> float:
    """AP of the candidates that are shown; right posts that are missing count."""
    hits = np.flatnonzero([name in right for name in ranked.ids[:DEPTH]])
    return float(((np.arange(len(hits)) + 1) / (hits + 1)).sum() / len(right)) if right else 0.0


def gains(values: np.ndarray, base: np.ndarray) -> bool:
    """Whether the mean rose by more than its standard error: chance on a small dev is no gain."""
    rise = values - base
    error = rise.std(ddof=1) / np.sqrt(len(rise)) if len(rise) > 1 else np.inf
    return bool(rise.mean() > error)


def figures(queries: Sequence[LabelledQuery], rankings: Sequence[Ranked]) -> dict[str, float]:
    """The metrics of the order that is shown."""
    qrels = {one.query.id: dict.fromkeys(one.right_ids, 1) for one in queries}
    run = {
        one.query.id: {name: -float(rank) for rank, name in enumerate(ranked.ids[:DEPTH])}
        for one, ranked in zip(queries, rankings, strict=True)
    }
    return evaluate(qrels, run).metrics
