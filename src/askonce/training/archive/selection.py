"""Which stages serve and how their scores are joined: chosen on dev, measured on dev and test.

Lists are cut where an engine cuts them, so a right post that no stage finds counts against all.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from askonce.evaluation import evaluate, pools_to_qrels
from askonce.ranking.fusion import fuse
from askonce.ranking.manifest import How
from askonce.training.archive.search import CANDIDATES, Found, best_places

# of the vectors and of the pair model beside what was there before them
WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
Score = Callable[[Found], np.ndarray]


@dataclass(frozen=True)
class Join:
    """A way to join the scores of the stages."""

    how: How = "zscore"
    weights: dict[str, float] = field(default_factory=lambda: {"bm25": 1.0})

    def __call__(self, found: Found) -> np.ndarray:
        """One score per candidate."""
        scores = {stage: found.scores[stage] for stage in self.weights}
        return fuse(scores, self.weights, self.how)


def alone(stage: str) -> Join:
    """The order of one stage."""
    return Join(weights={stage: 1.0})


def choose_vectors(dev: Sequence[Found]) -> Join:
    """BM25 alone, vectors alone or both, whichever is best on dev."""
    return _better(dev, alone("bm25"), _with_vectors())


def choose_pair(dev: Sequence[Found], before: Join) -> Join:
    """The join as it was, or with a pair model's scores on top, whichever is best on dev.

    ``dev`` holds only candidates that a pair model sees, see :meth:`Found.first`.
    """
    size = sum(before.weights.values())
    joins = (Join(before.how, before.weights | {"pair": size * w}) for w in WEIGHTS)
    return _better(dev, before, joins)


def figures(found: Sequence[Found], score: Score) -> dict[str, float]:
    """The metrics of one order of the candidates."""
    run = {}
    for one in found:
        scores = score(one)
        places = best_places(scores, CANDIDATES).tolist()
        ids = [one.pool.candidates[place].id for place in places]
        run[one.pool.query.id] = dict(zip(ids, scores[places].tolist(), strict=True))
    return evaluate(pools_to_qrels(one.pool for one in found), run).metrics


def average_precision(found: Found, scores: np.ndarray) -> float:
    """AP of the first candidates by these scores; right posts that were missed count."""
    labels = np.asarray(found.pool.labels)[best_places(scores, CANDIDATES)] > 0
    right = np.flatnonzero(labels)
    total = len(found.pool.positives)
    return float(((np.arange(len(right)) + 1) / (right + 1)).sum() / total) if total else 0.0


def gains(better: np.ndarray, than: np.ndarray) -> bool:
    """Whether the mean rose by more than its standard error: chance on a small dev is no gain."""
    rise = better - than
    error = rise.std(ddof=1) / np.sqrt(len(rise)) if len(rise) > 1 else np.inf
    return bool(rise.mean() > error)


def _with_vectors() -> Iterator[Join]:
    yield alone("vectors")
    for how in ("zscore", "reciprocal"):
        for weight in WEIGHTS:
            yield Join(how, {"bm25": 1.0, "vectors": weight})


def _better(dev: Sequence[Found], before: Join, joins: Iterator[Join]) -> Join:
    """The best of the joins if it gains on the one before, else that one."""

    def precision(join: Join) -> np.ndarray:
        return np.array([average_precision(one, join(one)) for one in dev])  # (Q,)

    base = precision(before)
    best = max(((join, precision(join)) for join in joins), key=lambda pair: pair[1].mean())
    return best[0] if gains(best[1], base) else before
