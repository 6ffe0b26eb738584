"""Does the order of the papers' systems reproduce? Kendall's τ, for each dataset and each table.

    python benchmarks/order.py docs/results/summary.json --json FILE --into docs/findings.md

τ of a dataset counts each two systems once that a paper has in one table, so that figures of two
papers are never compared with each other; of a pair in several tables, their mean difference.

A store gives τ with an interval over questions (`askonce report`); a summary has rows of many
stores, but no values of single questions. So the interval draws the mean of each row anew, from a
normal distribution as wide as its 95 % interval. Rows of one dataset are measured on the same
questions, which errs on the safe side: their differences are less uncertain than that.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askonce.bench.report.published import PublishedTable, plain_name, published_tables
from askonce.bench.report.table import put_between_marks
from askonce.evaluation import METRICS

LEAST = 4  # rows that make an order, as in the report
DRAWS = 2000
WIDTH = 2 * 1.96  # standard deviations in a 95 % interval
HEADS = ("ours", "papers")
SPLIT = "train.split="  # a change of the training set, in the name of a row
RECIPES_TRAIN_ON = {"trecqa": "train-all", "semeval-a": "train-all"}

Entry = Mapping[str, Any]


class Order(NamedTuple):
    """Systems of one published table that we have rows of too."""

    table: PublishedTable
    metric: str
    published: dict[str, float]
    means: dict[str, float]  # ours
    drawn: dict[str, np.ndarray]  # (DRAWS,) each


def main() -> None:
    """Compute, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("summary", type=Path, help="written by askonce report --out")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--into", type=Path, help="put tables between the marks of this file")
    options = parser.parse_args()
    entries = json.loads(options.summary.read_text("utf-8"))
    each = (order(table, entries) for table in published_tables())
    orders = [one for one in each if one is not None]
    by_dataset: dict[str, list[Order]] = defaultdict(list)
    for one in orders:
        by_dataset[one.table.dataset].append(one)
    result = {
        "datasets": [agreement(some) for some in by_dataset.values()],
        "tables": [agreement([one]) for one in orders if len(one.published) >= LEAST],
    }
    text = json.dumps(result, indent=2, ensure_ascii=False)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", "utf-8")
    if options.into:
        put_between_marks(order_table(result["datasets"]), options.into, "order")
        for dataset, some in by_dataset.items():
            put_between_marks(rows_table(some), options.into, f"rows of {dataset}")


def order_table(datasets: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| dataset | systems | pairs | τ [95 %] |", "|---|---|---|---|"]
    for one in datasets:
        low, high = one["interval"]
        tau = f"{one['tau']:.2f} [{low:.2f}, {high:.2f}]"
        lines.append(f"| {one['dataset']} | {len(one['systems'])} | {one['pairs']} | {tau} |")
    return "\n".join(lines)


def rows_table(orders: Sequence[Order]) -> str:
    """Our rows of one dataset beside the papers' figures, by protocol; the best first."""
    best: dict[str, float] = {}
    shown: dict[tuple[str, str | None], tuple[str, list[str]]] = {}
    for one in orders:
        for name, mean in one.means.items():
            best[name] = max(mean, best.get(name, 0))
            cell = shown.setdefault((name, one.table.protocol), (f"{mean:.3f}", []))
            cell[1].append(f"{one.published[name]:.3f}")
    protocols = list(dict.fromkeys(one.table.protocol for one in orders))
    several = len(protocols) > 1
    heads = [f"{head} ({name})" if several else head for name in protocols for head in HEADS]
    lines = ["| system | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for name in sorted(best, key=best.__getitem__, reverse=True):
        cells = [shown.get((name, protocol), ("", [])) for protocol in protocols]
        texts = (f"{ours} | {', '.join(dict.fromkeys(papers))}" for ours, papers in cells)
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def order(table: PublishedTable, entries: Sequence[Entry]) -> Order | None:
    """One table of a paper beside our rows of the same names; None with less than two of them."""
    metric = "MAP" if "MAP" in table.metrics else table.metrics[-1]
    if metric not in METRICS:
        return None
    ours = rows(table, entries, metric)
    names = [name for name in table.rows if name in ours and name != "random"]
    if len(names) < 2:
        return None
    column, random = table.metrics.index(metric), np.random.default_rng(0)
    return Order(
        table,
        metric,
        {name: table.rows[name][column] for name in names},
        {name: ours[name]["mean"] for name in names},
        {
            name: random.normal(
                ours[name]["mean"], (ours[name]["high"] - ours[name]["low"]) / WIDTH, DRAWS
            )
            for name in names
        },
    )


def agreement(orders: Sequence[Order]) -> dict[str, Any]:
    """Kendall's τ over the pairs of systems of one or several tables, with its interval."""
    published: dict[frozenset[str], list[float]] = defaultdict(list)
    ours: dict[frozenset[str], list[np.ndarray]] = defaultdict(list)
    for one in orders:
        for a, b in combinations(sorted(one.published), 2):
            pair = frozenset((a, b))
            published[pair].append(one.published[a] - one.published[b])
            drawn = one.drawn[a] - one.drawn[b]  # (DRAWS,)
            ours[pair].append(np.append(one.means[a] - one.means[b], drawn))
    expected = np.sign([np.mean(each) for each in published.values()])  # (P,)
    seen = np.sign([np.mean(each, axis=0) for each in ours.values()])  # (P, 1 + DRAWS)
    tau, *drawn_taus = (expected @ seen / len(expected)).tolist()
    first = orders[0]
    return {
        "source": ", ".join(dict.fromkeys(one.table.source for one in orders)),
        "dataset": first.table.dataset,
        "train": first.table.train if len(orders) == 1 else None,
        "metric": first.metric,
        "systems": list(dict.fromkeys(name for one in orders for name in one.published)),
        "pairs": len(expected),
        "tau": round(tau, 3),
        "interval": [round(float(x), 3) for x in np.quantile(drawn_taus, (0.025, 0.975))],
    }


def rows(table: PublishedTable, entries: Sequence[Entry], metric: str) -> dict[str, Entry]:
    """Our rows by the names of published ones; of several, the first with the fewest changes."""
    own = [
        entry
        for entry in entries
        if entry["dataset"] == table.dataset
        and entry["metric"] == metric
        and table.protocol in (None, entry["protocol"])
        and table.train in (None, trained_on(entry))
    ]
    own.sort(key=lambda entry: entry["model"].count("@"), reverse=True)
    return {plain_name(entry["model"]): entry for entry in own}


def trained_on(entry: Entry) -> str:
    """The training set of a row: its own, else that of the dataset's recipes."""
    changes = entry["model"].split("@")[1:]
    named = [one.removeprefix(SPLIT) for one in changes if one.startswith(SPLIT)]
    return named[0] if named else RECIPES_TRAIN_ON.get(entry["dataset"], "train")


if __name__ == "__main__":
    main()
