"""The README's small table comes from summary.json and goes between two marks."""

import pytest

from askonce.bench.report.table import put_between_marks, short_table
from askonce.errors import AskonceError


def entry(model, mean, dataset="wikiqa", protocol="drop_no_pos", metric="MAP"):
    return {
        "dataset": dataset,
        "protocol": protocol,
        "model": model,
        "metric": metric,
        "mean": mean,
    }


def test_rows_columns_and_fusions():
    table = short_table(
        [
            entry("bm25+hyperqa", 0.7204),
            entry("hyperqa", 0.7),
            entry("hyperqa", 0.5, metric="P@1"),
            entry("hyperqa@model.dim=50", 0.99),
            entry("bm25", 0.6),
            entry("minilm", 0.71),
            entry("bm25+minilm", 0.722),
            entry("minilm+ctrn", 0.74),
            entry("ctrn", 0.69),
            entry("bm25", 0.23, dataset="insuranceqa", metric="P@1"),
            entry("hyperqa", 0.73, dataset="trecqa", protocol="trec"),
            entry("hyperqa", 0.72, dataset="trecqa", protocol="clean"),
        ]
    )
    assert table.splitlines() == [
        "|  | wikiqa, MAP | insuranceqa, P@1 | trecqa raw, MAP | trecqa clean, MAP |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| bm25 | 0.600 | 0.230 |  |  |",
        "| minilm | 0.710 (0.722) |  |  |  |",
        "| hyperqa | 0.700 (0.720, –) |  | 0.730 | 0.720 |",
        "| ctrn | 0.690 (–, 0.740) |  |  |  |",
    ]


def test_the_table_replaces_what_stands_between_the_marks(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("a\n<!-- results -->\nold\n<!-- end of results -->\nb\n")
    put_between_marks("new", path)
    assert path.read_text() == "a\n<!-- results -->\nnew\n<!-- end of results -->\nb\n"
    path.write_text("a\n")
    with pytest.raises(AskonceError, match="no lines"):
        put_between_marks("new", path)
