"""Measure rankings: trec_eval's metrics, three protocols, ties, significance."""

from askonce.evaluation.metrics import METRICS, Report, evaluate
from askonce.evaluation.significance import (
    Agreement,
    Comparison,
    Interval,
    Summary,
    bootstrap_interval,
    compare,
    order_agreement,
    summarise,
)
from askonce.evaluation.ties import TIE_RULES, TieRule
from askonce.evaluation.trec_files import (
    Qrels,
    Run,
    pools_to_qrels,
    pools_to_run,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)

__all__ = [
    "METRICS",
    "TIE_RULES",
    "Agreement",
    "Comparison",
    "Interval",
    "Qrels",
    "Report",
    "Run",
    "Summary",
    "TieRule",
    "bootstrap_interval",
    "compare",
    "evaluate",
    "order_agreement",
    "pools_to_qrels",
    "pools_to_run",
    "read_qrels",
    "read_run",
    "summarise",
    "write_qrels",
    "write_run",
]
