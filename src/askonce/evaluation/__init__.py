"""Measure rankings: trec_eval's metrics, three protocols, ties, significance."""

from askonce.evaluation.metrics import METRICS, Report, evaluate
from askonce.evaluation.significance import (
    Comparison,
    Estimate,
    bootstrap_interval,
    compare,
    estimate,
    order_agreement,
)
from askonce.evaluation.ties import TieRule
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
    "Comparison",
    "Estimate",
    "Qrels",
    "Report",
    "Run",
    "TieRule",
    "bootstrap_interval",
    "compare",
    "estimate",
    "evaluate",
    "order_agreement",
    "pools_to_qrels",
    "pools_to_run",
    "read_qrels",
    "read_run",
    "write_qrels",
    "write_run",
]
