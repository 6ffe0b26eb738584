"""Select on dev which stages serve and how they are fused, with the pipeline that serves.

The base of every choice is the order that would serve without the stage. Lists are cut where the
engine cuts them, so a right post that no stage finds counts against all.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from askonce.evaluation import METRICS, bootstrap_interval, evaluate
from askonce.index.base import KeyEncoder
from askonce.ranker import Ranker
from askonce.ranking.fusion import Fusion, How, scores_of_each
from askonce.ranking.manifest import Serving
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import BM25, DEPTH, PAIR, VECTORS, Candidates, Ranked
from askonce.training.archive.selection.held_out import EncodedPosts, HeldOut, read_pairs
from askonce.training.archive.tasks.labels import LabelledQuery
from askonce.types import Post

WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)  # of a new stage beside those before it
HOW: tuple[How, ...] = ("zscore", "reciprocal")
BOTH = Serving(weights={BM25: 1.0, VECTORS: 1.0})  # so that each of them finds candidates
FEW = 25  # questions of dev: a lower MAP on fewer must exceed its standard error to count
BOOTSTRAP = 2000  # samples of the questions
ROUNDING = 1 + 1e-6  # where a single question rose, the rise and its error are equal

Splits = Mapping[str, HeldOut]  # "dev" and "test"
SplitMetrics = Mapping[str, Mapping[str, float]]  # of each split


@dataclass(frozen=True, eq=False)
class Measured:
    """A fusion, the order that it gives for every question, and how good that is."""

    fusion: Fusion
    rankings: Mapping[str, Sequence[Ranked]]  # of each split
    metrics: SplitMetrics

    @property
    def dev_map(self) -> float:
        return self.metrics["dev"]["MAP"]


@dataclass(frozen=True, eq=False)
class Selected:
    """The stages that serve a task, and every system that was tried."""

    served: Measured
    systems: Mapping[str, Measured]
    encoder: EncodedPosts | None = None
    pair: Ranker | None = None

    def pipeline(self, split: HeldOut) -> Search:
        fusion = self.served.fusion
        serving = Serving(how=fusion.how, weights=fusion.weights)
        return split.pipeline(serving, self.encoder, self.pair)

    def figures(self) -> dict[str, dict[str, Mapping[str, float]]]:
        """The metrics as a manifest has them: split, system, metric; what serves is last."""
        return {
            split: {name: one.metrics[split] for name, one in self._all().items()}
            for split in self.served.metrics
        }

    def intervals(self, splits: Splits) -> dict[str, dict[str, tuple[float, float]]]:
        """The 95 % interval of MAP over questions: split, system; none for a single question."""
        return {
            name: {
                system: _interval(split, one.rankings[name]) for system, one in self._all().items()
            }
            for name, split in splits.items()
            if len(split.queries) > 1
        }

    def _all(self) -> dict[str, Measured]:
        return {**self.systems, "fused": self.served}


def select_bm25(splits: Splits) -> Selected:
    """BM25 alone, which serves until something gains on it."""
    bm25 = Serving()
    served = _measure(splits, bm25.fusion, _find(splits, bm25))
    return Selected(served, {"bm25": served})


def select_encoder(splits: Splits, bm25: Selected, encoders: Iterable[EncodedPosts]) -> Selected:
    """BM25 alone, or an encoder alone or beside it; each must gain on what would serve without it.

    An encoder with a usual weight, which needs no labels, serves with it beside BM25 unless dev
    shows that it does harm, or that another fusion gains on it. Encoders are compared in their
    order, so an earlier one serves unless dev can tell them apart.
    """
    comparison = EncoderComparison(splits, bm25)
    for encoder in encoders:
        comparison.add(encoder)
    return comparison.selected


@dataclass
class EncoderComparison:
    """Encoders one by one, each against what would serve without it.

    With ``proxy``, the labels only stand in for marks, as titles and bodies do for duplicates. They
    flatter BM25, since a body repeats its title: they are no evidence against an encoder that
    needs no labels, and others must gain on BM25 as well.
    """

    splits: Splits
    bm25: Selected
    proxy: bool = False
    _tried: "dict[str, _Tried]" = field(default_factory=dict)

    def add(self, encoder: EncodedPosts) -> None:
        before = self._best
        tried = _try_encoder(self.splits, before, encoder, self.proxy)
        if self.proxy and before.encoder is not None and tried.gained:
            over_bm25 = _gains(self.splits["dev"].queries, tried.served, self.bm25.served)
            tried = replace(tried, gained=over_bm25)
        self._tried[encoder.name] = tried

    @property
    def best(self) -> EncodedPosts | None:
        return self._best.encoder

    @property
    def selected(self) -> Selected:
        if not self._tried:
            return self.bm25
        best = self._best
        systems = {**self.bm25.systems, **_systems(self._tried, best.encoder)}
        return Selected(best.served, systems, best.encoder)

    @property
    def _best(self) -> "Selected | _Tried":
        gained = [one for one in self._tried.values() if one.gained]
        return gained[-1] if gained else self.bm25


def while_typing(
    splits: Splits, selected: Selected, fast: KeyEncoder, proxy: bool = False
) -> Measured:
    """The order that is shown while a question is typed: its words read by a fast encoder.

    The posts have the keys of the encoder in service, which is in the same space. The vectors have
    the weight that is best on dev then, none if they lower it; that in service with ``proxy``
    (see ``EncoderComparison``).
    """
    if selected.encoder is None:
        raise ValueError("while_typing needs an encoder in service")
    candidates = _find(splits, BOTH, replace(selected.encoder, coder=fast))
    served = selected.served.fusion
    if proxy:
        weights = {name: weight for name, weight in served.weights.items() if name != PAIR}
        return _measure(splits, Fusion(served.how, weights), candidates)
    return _weigh_vectors(splits, served.how, candidates)[0]


def before_reading(
    splits: Splits, selected: Selected, fast: KeyEncoder, posts: Sequence[Post]
) -> Selected:
    """What serves of all posts while the encoder in service has read none, and ``fast`` all.

    The vectors have the weight that is best on dev then, none if they lower it; a pair model in
    service serves here too if it gains.
    """
    if selected.encoder is None:
        raise ValueError("before_reading needs an encoder in service")
    unread = replace(selected.encoder, keys=fast.candidate_keys(posts))
    candidates = _find(splits, BOTH, unread)
    served, bm25 = _weigh_vectors(splits, selected.served.fusion.how, candidates)
    first = Selected(served, {"bm25": bm25}, unread)
    return first if selected.pair is None else select_pair(splits, first, selected.pair)


def _weigh_vectors(
    splits: Splits, how: How, candidates: Mapping[str, Sequence[Candidates]]
) -> tuple[Measured, Measured]:
    """BM25 with the weight of the vectors beside it that is best on dev, and BM25 alone."""
    bm25, dev = _measure(splits, Fusion(how), candidates), splits["dev"].queries
    both = [Fusion(how, {BM25: 1.0, VECTORS: weight}) for weight in WEIGHTS]
    fusion, _ = select(dev, bm25.rankings["dev"], candidates["dev"], [bm25.fusion, *both])
    return _measure(splits, fusion, candidates), bm25


@dataclass(frozen=True, eq=False)
class _Tried:
    """An encoder used in the way that is best on dev."""

    encoder: EncodedPosts
    vectors: Measured  # alone
    served: Measured
    gained: bool  # on what would serve without it


def _systems(tried: Mapping[str, _Tried], selected: EncodedPosts | None) -> dict[str, Measured]:
    """As a manifest names them; "vectors" is the encoder in service, else the first one tried."""
    first = selected.name if selected else next(iter(tried))
    systems = {"vectors": tried[first].vectors}
    for name, one in tried.items():
        if name != first:
            systems[f"vectors {name}"] = one.vectors
        if one.encoder is not selected:
            systems[f"fused {name}"] = one.served
    return systems


def _try_encoder(
    splits: Splits, before: "Selected | _Tried", encoder: EncodedPosts, proxy: bool = False
) -> _Tried:
    candidates = _find(splits, BOTH, encoder)
    alone = Fusion(weights={VECTORS: 1.0})
    both = [Fusion(how, {BM25: 1.0, VECTORS: weight}) for how in HOW for weight in WEIGHTS]
    dev = splits["dev"].queries
    fusion, gained = select(dev, before.served.rankings["dev"], candidates["dev"], [alone, *both])
    vectors, served = (_measure(splits, one, candidates) for one in (alone, fusion))
    if encoder.usual_weight is not None and before.encoder is None:
        usual = Fusion(weights={BM25: 1.0, VECTORS: encoder.usual_weight})
        measured = _measure(splits, usual, candidates)
        if len(dev) < FEW:
            helps = not _gains(dev, before.served, measured)
        else:
            helps = measured.dev_map >= before.served.dev_map
        if (proxy or helps) and not (gained and _gains(dev, served, measured)):
            served, gained = measured, True
    return _Tried(encoder, vectors, served, gained)


def _gains(queries: Sequence[LabelledQuery], new: Measured, base: Measured) -> bool:
    """Whether one order gains on another, on dev."""
    return gains(*(precisions(queries, one.rankings["dev"]) for one in (new, base)))


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
    systems = {**first.systems, "pair": alone}
    before = first.served.fusion
    total = sum(before.weights.values())
    fusions = [Fusion(before.how, {**before.weights, PAIR: total * w}) for w in WEIGHTS]
    dev = splits["dev"].queries
    fusion, gained = select(dev, first.served.rankings["dev"], candidates["dev"], fusions)
    if not gained:
        return replace(first, systems=systems)
    if first.encoder is not None:  # else that is "bm25"
        systems["without pair"] = first.served
    return replace(with_pair, served=_measure(splits, fusion, candidates), systems=systems)


def _find(
    splits: Splits, serving: Serving, encoder: EncodedPosts | None = None
) -> dict[str, list[Candidates]]:
    """The candidates of each question of each split."""
    return {
        name: split.find(split.pipeline(serving, encoder), split.queries)
        for name, split in splits.items()
    }


def _measure(
    splits: Splits, fusion: Fusion, candidates: Mapping[str, Sequence[Candidates]]
) -> Measured:
    rankings = {name: [fusion.join(one) for one in lists] for name, lists in candidates.items()}
    metrics = {name: figures(split.queries, rankings[name]) for name, split in splits.items()}
    return Measured(fusion, rankings, metrics)


def select(
    queries: Sequence[LabelledQuery],
    base: Sequence[Ranked],
    candidates: Sequence[Candidates],
    fusions: Sequence[Fusion],
) -> tuple[Fusion, bool]:
    """The fusion with the highest MAP, and whether it gains on the order that serves without it."""
    pairs = zip(queries, candidates, strict=True)
    values = np.array(
        [_precisions_of_each(fusions, one, x.right_ids) for x, one in pairs]
    )  # (Q, F)
    best = int(values.mean(0).argmax())
    return fusions[best], gains(values[:, best], precisions(queries, base))


def _precisions_of_each(
    fusions: Sequence[Fusion], candidates: Candidates, right: Set[str]
) -> np.ndarray:
    """The ``average_precision`` (F,) of the order that each fusion gives."""
    if not right or not candidates.ids:
        return np.zeros(len(fusions))
    found = np.array([name in right for name in candidates.ids])  # (C,)
    scores = scores_of_each(fusions, candidates.stages)  # (F, C)
    hits = found[np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]]  # (F, D)
    precision = hits.cumsum(1) / np.arange(1, hits.shape[1] + 1)
    return np.asarray((precision * hits).sum(1) / len(right))


def precisions(queries: Sequence[LabelledQuery], rankings: Iterable[Ranked]) -> np.ndarray:
    pairs = zip(queries, rankings, strict=True)
    return np.array([average_precision(ranked, query.right_ids) for query, ranked in pairs])  # (Q,)


def average_precision(ranked: Ranked, right: Set[str]) -> float:
    """AP of the candidates that are shown; right posts that are missing count."""
    hits = np.flatnonzero([name in right for name in ranked.ids[:DEPTH]])
    return float(((np.arange(len(hits)) + 1) / (hits + 1)).sum() / len(right)) if right else 0.0


def _interval(split: HeldOut, rankings: Sequence[Ranked]) -> tuple[float, float]:
    interval = bootstrap_interval(precisions(split.queries, rankings), samples=BOOTSTRAP)
    return round(interval.low, 4), round(interval.high, 4)


def gains(values: np.ndarray, base: np.ndarray) -> bool:
    """Whether the mean rose by more than its standard error: chance on a small dev is no gain."""
    rise = values - base
    error = rise.std(ddof=1) / np.sqrt(len(rise)) if len(rise) > 1 else np.inf
    return bool(rise.mean() > ROUNDING * error)


def figures(queries: Sequence[LabelledQuery], rankings: Sequence[Ranked]) -> dict[str, float]:
    """The metrics of the order that is shown."""
    qrels = {one.query.id: dict.fromkeys(one.right_ids, 1) for one in queries}
    run = {
        one.query.id: {name: -float(rank) for rank, name in enumerate(ranked.ids[:DEPTH])}
        for one, ranked in zip(queries, rankings, strict=True)
    }
    if not any(run.values()):  # BM25 may find nothing at all
        return dict.fromkeys(METRICS, 0.0)
    return evaluate(qrels, run).metrics
