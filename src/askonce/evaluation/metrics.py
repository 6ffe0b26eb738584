"""MAP, MRR, P@1, P@5 and nDCG@10 as trec_eval computes them, for a run against qrels."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from askonce.errors import AskonceError, UnknownName
from askonce.evaluation.ties import TIE_RULES, Ranking, TieRule, expected_values
from askonce.evaluation.trec_files import Qrels, Run
from askonce.registry import nearest
from askonce.types import ProtocolName

METRICS = ("MAP", "MRR", "P@1", "P@5", "nDCG@10")


@dataclass(frozen=True)
class Report:
    """The quality of a run: the mean of each metric, and its value for each query that counts."""

    queries: int
    metrics: dict[str, float]
    per_query: dict[str, dict[str, float]]  # query -> metric -> value
    tied_positives: int  # relevant candidates that tie with an irrelevant one
    unanswered: int  # queries that the run lacks; they count as 0
    ignored: int  # queries of the run that the qrels lack


def evaluate(
    qrels: Qrels, run: Run, protocol: ProtocolName = "trec", ties: TieRule = "trec"
) -> Report:
    """Measure a run. P@k divides by k; relevant documents that the run lacks count as missed."""
    if ties not in TIE_RULES:
        raise UnknownName(f"no tie rule is called {ties!r}; {nearest(ties, TIE_RULES)}")
    queries = counted_queries(qrels, protocol)
    rankings = {q: Ranking.of(q, run[q], qrels[q]) for q in queries if run.get(q)}
    if not rankings:
        raise AskonceError(
            f"the run answers none of the {len(queries)} queries that count: it holds "
            f"{next(iter(run), 'nothing')!r}, the qrels {queries[0]!r}"
        )
    if ties == "expected":
        values = {query: expected_values(ranking) for query, ranking in rankings.items()}
    else:
        values = _trec_eval(qrels, {q: ranking.settled(ties) for q, ranking in rankings.items()})
    per_query = {query: values.get(query) or dict.fromkeys(METRICS, 0.0) for query in queries}
    return Report(
        queries=len(queries),
        metrics={m: fmean(query[m] for query in per_query.values()) for m in METRICS},
        per_query=per_query,
        tied_positives=sum(ranking.tied_positives() for ranking in rankings.values()),
        unanswered=len(queries) - len(rankings),
        ignored=sum(query not in qrels for query in run),
    )


def _trec_eval(qrels: Qrels, run: Run) -> dict[str, dict[str, float]]:
    """Every metric of every query of the run, by trec_eval's own code."""
    import ir_measures
    from ir_measures import AP, RR, P, nDCG

    measures = dict(zip((AP, RR, P @ 1, P @ 5, nDCG @ 10), METRICS, strict=True))
    judged = {query: dict(qrels[query]) for query in run}
    values: dict[str, dict[str, float]] = {query: dict.fromkeys(METRICS, 0.0) for query in run}
    for metric in ir_measures.pytrec_eval.iter_calc(list(measures), judged, run):
        values[metric.query_id][measures[metric.measure]] = metric.value
    return values


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
