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
SHARE, MAX_HELD_OUT = 0.1, 1000  # of the labelled questions, each of dev and test; the rest trains
MIN_CLUSTERS = 4  # two in train, so that each has a wrong candidate in the other; dev; test

Clusters = dict[str, int]  # the number of each question's cluster


def find_clusters(archive: Snapshot) -> Clusters:
    """The cluster of each question; marks to or from unknown questions are ignored."""
    row_of = {name: n for n, name in enumerate(archive.questions)}
    ends = [
        (row_of[link.source], row_of[link.target])
        for link in archive.links
        if link.kind == "duplicate" and link.source in row_of and link.target in row_of
    ]
    rows, columns = np.array(ends, dtype=np.int64).reshape(-1, 2).T  # (L,)
    graph = coo_array((np.ones(len(ends)), (rows, columns)), shape=(len(row_of), len(row_of)))
    numbers = connected_components(graph, directed=False)[1] if row_of else ()
    return {name: int(number) for name, number in zip(row_of, numbers, strict=True)}


def split_by_time(
    questions: Mapping[str, Post], cluster_of: Clusters, labelled: Iterable[str]
) -> dict[str, str]:
    """The split of each question: the oldest 80 % are train, the next 10 % dev, the newest test.

    Clusters are ordered by their newest question, by a hash of its id where dates are equal or
    missing. Shares are of ``labelled``, the questions that have a pool; dev and test get at most
    about 1000, enough to compare rankers. All other questions follow their place in time.
    """
    newest: dict[int, tuple[str, str]] = {}
    for name, post in questions.items():
        key = (post.created or "", stable_hash(name))
        newest[cluster_of[name]] = max(newest.get(cluster_of[name], key), key)
    order = sorted(newest, key=newest.__getitem__)
    weight = Counter(cluster_of[name] for name in labelled)
    dev, test = _borders([(cluster, weight[cluster]) for cluster in order if weight[cluster]])
    split_of, split = {}, 0
    for cluster in order:
        split += cluster in (dev, test)
        split_of[cluster] = SPLITS[split]
    return {name: split_of[cluster_of[name]] for name in questions}


def _borders(weighed: list[tuple[int, int]]) -> tuple[int, int]:
    """The first cluster of dev and the first of test; no split is empty."""
    if len(weighed) < MIN_CLUSTERS:
        raise AskonceError(
            f"the labels are of {len(weighed)} different questions; at least {MIN_CLUSTERS} are "
            "needed for train, dev and test, so add posts or marks"
        )
    weights = np.array([weight for _, weight in weighed])
    middles = (weights.cumsum() - weights / 2) / weights.sum()  # (N,)
    share = min(SHARE, MAX_HELD_OUT / weights.sum())
    dev, test = np.searchsorted(middles, (1 - 2 * share, 1 - share))
    test = np.clip(test, MIN_CLUSTERS - 1, len(weighed) - 1)
    dev = np.clip(dev, MIN_CLUSTERS - 2, test - 1)
    return weighed[dev][0], weighed[test][0]
