"""The small table of a README: rows that people ask for, one column per test set."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from askonce.bench.setup import main_metric
from askonce.errors import AskonceError

# fixed, so that no row is shown because its test figure came out well
ROWS = (
    "bm25",
    "minilm",
    "cross-encoder",
    "hyperqa",
    "cosineqa",
    "ctrn",
    "qrnn",
    "qa-lstm",
    "attentive-lstm",
    "conv-pooling-lstm",
    "compare-aggregate",
    "cabin",
    "rcnn",
    "rcnn@pretrain=false",
    "lstm",
    "gru",
    "cnn",
)
PARTNERS = ("bm25", "minilm")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"

Entries = Iterable[Mapping[str, Any]]


def short_table(entries: Entries) -> str:
    """Means of ``summary.json`` by row and test set; in brackets fused with BM25, with MiniLM."""
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for entry in entries:
        if entry["metric"] == main_metric(entry["dataset"]):
            found.setdefault((entry["dataset"], entry["protocol"]), {})[entry["model"]] = entry
    names = [_column(*key, found) for key in found]
    lines = [_row(["", *names]), _row(["---", *("---:" for _ in names)])]
    for model in ROWS:
        cells = [_cell(model, rows) for rows in found.values()]
        if any(cells):
            lines.append(_row([model, *cells]))
    return "\n".join(lines)


def put_between_marks(table: str, path: Path) -> None:
    """Replace what stands between the two marks of a file."""
    text = path.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise AskonceError(f"{str(path)!r} has no lines {BEGIN} and {END} to put the table between")
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")


def _column(dataset: str, protocol: str, found: Iterable[tuple[str, str]]) -> str:
    """The dataset, and the protocol where that tells two columns apart, then the metric."""
    twice = sum(name == dataset for name, _ in found) > 1
    told = {"trec": "raw"}.get(protocol, protocol)
    return f"{dataset} {told if twice else ''}".strip() + f", {main_metric(dataset)}"


def _cell(model: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    if model not in rows:
        return ""
    partners = [name for name in PARTNERS if name != model]
    fused = [rows.get(f"{name}+{model}") for name in partners]
    told = ", ".join(f"{entry['mean']:.3f}" if entry else "–" for entry in fused)
    return f"{rows[model]['mean']:.3f}" + (f" ({told})" if any(fused) else "")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
