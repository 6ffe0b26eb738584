"""Which questions of an archive are the same question, and which split each belongs to.

Questions marked as duplicates of each other, directly or through others, form a cluster. A cluster
is never divided, so that what was learnt from one of its questions is not tested on another.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from askonce.archive import Snapshot
from askonce.data.benchmarks.pools import stable_hash
from askonce.errors import AskonceError
from askonce.types import Post

SPLITS = ("train", "dev", "test")
SHARE, MOST = 0.1, 1000  # of the labelled questions in dev and in test; what is over trains
LEAST = 4  # clusters: two to train, so that each has a wrong candidate in the other, then 1 and 1

Clusters = dict[str, int]  # the number of each question's cluster


def find_clusters(archive: Snapshot) -> Clusters:
    """The cluster of each question; marks to or from unknown questions are ignored."""
    place = {name: n for n, name in enumerate(archive.questions)}
    ends = [
        (place[link.source], place[link.target])
        for link in archive.links
        if link.kind == "duplicate" and link.source in place and link.target in place
    ]
    rows, columns = np.array(ends, dtype=np.int64).reshape(-1, 2).T  # (L,)
    graph = coo_array((np.ones(len(ends)), (rows, columns)), shape=(len(place), len(place)))
    numbers = connected_components(graph, directed=False)[1] if place else ()
    return {name: int(number) for name, number in zip(place, numbers, strict=True)}


def split_by_time(
    questions: Mapping[str, Post], cluster_of: Clusters, labelled: Iterable[str]
) -> dict[str, str]:
    """The split of each question: the oldest 80 % train, the next 10 % choose, the newest test.

    Clusters stand in the order of their newest question, by a hash of its id where dates are equal
    or missing. Shares are of ``labelled``, the questions that have a pool, and at most about 1000
    for dev and test, which tells rankers apart; all other questions go where they stand in time.
    """
    newest: dict[int, tuple[str, str]] = {}
    for name, post in questions.items():
        key = (post.created or "", stable_hash(name))
        newest[cluster_of[name]] = max(newest.get(cluster_of[name], key), key)
    order = sorted(newest, key=newest.__getitem__)
    weight = Counter(cluster_of[name] for name in labelled)
    dev, test = _borders([(cluster, weight[cluster]) for cluster in order if weight[cluster]])
    found, split = {}, 0
    for cluster in order:
        split += cluster in (dev, test)
        found[cluster] = SPLITS[split]
    return {name: found[cluster_of[name]] for name in questions}


def _borders(weighed: list[tuple[int, int]]) -> tuple[int, int]:
    """The first cluster of dev and the first of test; no split is empty."""
    if len(weighed) < LEAST:
        raise AskonceError(
            f"the labels are of {len(weighed)} different questions; at least {LEAST} are needed to "
            "train, to choose and to test, so add posts or marks"
        )
    weights = np.array([weight for _, weight in weighed])
    middles = (weights.cumsum() - weights / 2) / weights.sum()  # (N,)
    share = min(SHARE, MOST / weights.sum())
    dev, test = np.searchsorted(middles, (1 - 2 * share, 1 - share))
    test = np.clip(test, LEAST - 1, len(weighed) - 1)
    dev = np.clip(dev, LEAST - 2, test - 1)
    return weighed[dev][0], weighed[test][0]
