"""Which queries count: the three conventions under which papers print their figures."""

from collections.abc import Callable, Iterable

from askonce.errors import AskonceError, UnknownName
from askonce.evaluation.trec_files import Qrels
from askonce.registry import nearest
from askonce.types import ProtocolName


def counted_queries(qrels: Qrels, protocol: ProtocolName = "trec") -> list[str]:
    """The queries whose values enter the mean, in the order of the qrels.

    A query without any judged candidate is none of them: a qrels file could not even name it.
    """
    if protocol not in _KEEPS:
        raise UnknownName(f"no protocol is called {protocol!r}; {nearest(protocol, _KEEPS)}")
    keeps = _KEEPS[protocol]
    queries = [query for query, labels in qrels.items() if labels and keeps(labels.values())]
    if not queries:
        raise AskonceError(f"none of {len(qrels)} queries counts under protocol {protocol!r}")
    return queries


def _any_relevant(labels: Iterable[int]) -> bool:
    return any(label > 0 for label in labels)


def _both_kinds(labels: Iterable[int]) -> bool:
    return len({label > 0 for label in labels}) == 2


def _all(_: Iterable[int]) -> bool:
    return True


_KEEPS: dict[ProtocolName, Callable[[Iterable[int]], bool]] = {
    "trec": _all,  # a query without a relevant candidate counts, as 0
    "clean": _both_kinds,
    "drop_no_pos": _any_relevant,
}
