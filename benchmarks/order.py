"""Does the order of the papers' systems reproduce? Kendall's τ for each table of a paper.

    python benchmarks/order.py docs/results/summary.json --json docs/results/order.json

A store gives τ with an interval over questions (`askonce report`); a summary has rows of many
stores, but no values of single questions. So the interval draws the mean of each row anew, from a
normal distribution as wide as its 95 % interval. Rows of one dataset are measured on the same
questions, which errs on the safe side: their differences are less uncertain than that.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from askonce.bench.report.published import PublishedTable, plain_name, published_tables
from askonce.evaluation import METRICS

LEAST = 4  # rows that make an order, as in the report
DRAWS = 2000
WIDTH = 2 * 1.96  # standard deviations in a 95 % interval

Entry = Mapping[str, Any]


def main() -> None:
    """Compute, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("summary", type=Path, help="written by askonce report --out")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    entries = json.loads(options.summary.read_text("utf-8"))
    found = (agreement(table, entries) for table in published_tables())
    text = json.dumps([one for one in found if one is not None], indent=2, ensure_ascii=False)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", "utf-8")


def agreement(table: PublishedTable, entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Of one table of a paper and our rows of the same name; None with too few of them."""
    metric = "MAP" if "MAP" in table.metrics else table.metrics[-1]
    if metric not in METRICS:
        return None
    ours = rows(table, entries, metric)
    names = [name for name in table.rows if name in ours and name != "random"]
    if len(names) < LEAST:
        return None
    published = np.array([table.rows[name][table.metrics.index(metric)] for name in names])  # (S,)
    means = np.array([ours[name]["mean"] for name in names])
    widths = np.array([(ours[name]["high"] - ours[name]["low"]) / WIDTH for name in names])
    drawn = np.random.default_rng(0).normal(means, widths, (DRAWS, len(names)))  # (D, S)
    taus = [stats.kendalltau(published, one).statistic for one in drawn]
    tau = stats.kendalltau(published, means)
    return {
        "source": table.source,
        "dataset": table.dataset,
        "metric": metric,
        "systems": names,
        "tau": round(float(tau.statistic), 3),
        "interval": [round(float(x), 3) for x in np.quantile(taus, (0.025, 0.975))],
        "p": round(float(tau.pvalue), 4),
    }


def rows(table: PublishedTable, entries: Sequence[Entry], metric: str) -> dict[str, Entry]:
    """Our rows by the names of published ones; of several, the first with the fewest changes."""
    protocol = table.protocol
    own = [
        entry
        for entry in entries
        if entry["dataset"] == table.dataset
        and entry["metric"] == metric
        and protocol in (None, entry["protocol"])
    ]
    own.sort(key=lambda entry: entry["model"].count("@"), reverse=True)
    return {plain_name(entry["model"]): entry for entry in own}


if __name__ == "__main__":
    main()
