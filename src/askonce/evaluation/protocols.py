"""Which queries count: the three conventions of the literature."""

from collections.abc import Callable, Iterable

from askonce.errors import AskonceError, UnknownName
from askonce.evaluation.trec_files import Qrels
from askonce.registry import nearest
from askonce.types import ProtocolName


def counted_queries(qrels: Qrels, protocol: ProtocolName = "trec") -> list[str]:
    """The queries whose values enter the mean, in the order of the qrels.

    Queries without a judged candidate never count: a qrels file could not even name them.
    """
    if protocol not in _KEEPS:
        raise UnknownName(f"no protocol is called {protocol!r}; {nearest(protocol, _KEEPS)}")
    keeps = _KEEPS[protocol]
    queries = [query for query, labels in qrels.items() if labels and keeps(labels.values())]
    if not queries:
        raise AskonceError(f"none of {len(qrels)} queries counts under protocol {protocol!r}")
    return queries


_KEEPS: dict[ProtocolName, Callable[[Iterable[int]], bool]] = {
    "trec": lambda labels: True,  # a query without a relevant candidate counts, as 0
    "clean": lambda labels: len({label > 0 for label in labels}) == 2,
    "drop_no_pos": lambda labels: any(label > 0 for label in labels),
}
