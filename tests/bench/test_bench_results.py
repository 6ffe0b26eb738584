"""What tables say, from stores written by hand."""

import json
from xml.etree import ElementTree

import pytest

from askonce.bench.report.blocks import Plot, Span, Table
from askonce.bench.report.charts import Bar, BarChart, Dot, ScatterChart
from askonce.bench.report.document import block_html, block_markdown
from askonce.bench.report.drawing import svg
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.rankings import average_rank
from askonce.bench.report.results import public_split, summary_entries, tables, with_earlier
from askonce.bench.report.table import result_table
from askonce.bench.store import Store, write_json
from askonce.errors import AskonceError, DataError
from askonce.evaluation import METRICS

QUERIES = 40
FACTS = {"pairs_per_second": 100.0, "train_seconds": 61.0, "seconds": 70.0, "cpu_seconds": 60.0}


def put(store, dataset, model, values, seed=1, kind="baseline", split="test", setting=1, **facts):
    """A cell whose metrics all have these values, one per query."""
    folder = store.cell_folder(dataset, model, seed)
    folder.mkdir(parents=True)
    rows = {f"q{n}": [value] * len(METRICS) for n, value in enumerate(values)}
    mean = sum(values) / len(values)
    protocol = "drop_no_pos" if dataset == "wikiqa" else "trec"
    figures = {"protocol": protocol, "dev": False, "queries": len(values), "tied_positives": 0}
    figures["metrics"] = dict.fromkeys(METRICS, mean)
    record = {
        "dataset": dataset, "model": model, "seed": seed, "kind": kind, "settings": {"a": setting},
        "figures": {split: figures}, "facts": FACTS | facts,
        "versions": {"askonce": "0"}, "finished": f"2026-01-01T00:00:0{seed}",
    }  # fmt: skip
    write_json(folder / "cell.json", record)
    write_json(folder / "per_query.json", {split: rows})


@pytest.fixture
def store(tmp_path):
    return Store.make(tmp_path / "store", quick=False)


def test_the_command_of_a_row_gives_all_its_seeds(store):
    slow = {"seconds": 700.0, "cpu_seconds": 660.0}
    for seed in (1, 2):
        put(store, "wikiqa", "hyperqa", [0.5], seed, "trained")
        put(store, "wikiqa", "cabin", [0.5], seed, "trained", **slow)
        put(store, "wikiqa", "bm25+cabin", [0.5], seed, "fusion")
        put(store, "wikiqa", "ctrn", [0.5], seed, "trained", seconds=900.0)  # a busy machine
    put(store, "wikiqa", "lstm-mlp", [0.5], 1, "trained", **slow)
    actual = {entry["model"]: entry["command"] for entry in summary_entries(tables(store), store)}
    ends = {model: setting.partition("--seeds ")[2] for model, setting in actual.items()}
    assert ends == {
        "hyperqa": "2 --out store",
        "ctrn": "2 --out store",
        "cabin": "2 --out store --longest 11",
        "bm25+cabin": "2 --out store --longest 11",
        "lstm-mlp": "1 --out store",
    }


def test_means_marks_and_papers(store):
    base = [0.5] * QUERIES
    put(store, "wikiqa", "bm25", base)
    put(store, "wikiqa", "minilm", [0.9] * QUERIES, kind="transformer")
    put(store, "wikiqa", "hyperqa", [0.7] * QUERIES, 1, "trained")
    put(store, "wikiqa", "hyperqa", [0.8] * QUERIES, 2, "trained")
    put(store, "wikiqa", "random", [0.4 + 0.2 * (n % 2) for n in range(QUERIES)])
    (table,) = tables(store)
    assert [result.model for result in table.results] == ["bm25", "random", "minilm", "hyperqa"]
    line = table.results[3]
    assert line.estimates["MAP"].mean == pytest.approx(0.75)
    assert line.estimates["MAP"].deviation == pytest.approx(0.0707, abs=1e-3)
    assert (table.mark(line, "bm25"), table.mark(line, "minilm")) == (1, -1)
    assert table.mark(table.results[1], "bm25") == 0
    shown = {row[0]: row for row in result_table(table).rows}
    assert shown["hyperqa"][1] == "0.750 [0.750–0.750] ▲▽"
    assert shown["hyperqa"][2] == "0.712"
    assert shown["minilm"][1] == [Span("0.900 [0.900–0.900] ▲", "bold")]
    assert shown["bm25"][9] == "1.0 min"
    entry = next(
        e
        for e in summary_entries([table], store)
        if (e["model"], e["metric"]) == ("hyperqa", "MRR")
    )
    assert entry["paper"] == 0.727
    assert entry["seeds"] == 2


def test_seeds_of_older_settings_are_left_out(store):
    put(store, "wikiqa", "hyperqa", [0.1, 0.2], 1, "trained", setting=1)
    put(store, "wikiqa", "hyperqa", [0.5, 0.7], 2, "trained", setting=2)
    (table,) = tables(store)
    assert table.results[0].seeds == 1
    assert table.results[0].mean("MAP") == pytest.approx(0.6)
    assert table.notes == ("hyperqa: seeds 1 are left out, run with other settings",)


def test_numbers_from_elsewhere_are_in_brackets_and_not_in_the_summary(store):
    put(store, "travel", "rcnn", [0.2, 0.4], kind="trained")
    (table,) = tables(store)
    assert result_table(table).rows[0][2] == "(0.623)"
    assert any("AskUbuntu" in note for note in result_table(table).notes)
    assert {entry["paper"] for entry in summary_entries([table], store)} == {None}


def test_a_kept_store_has_the_same_tables_without_scores(store, tmp_path):
    put(store, "wikiqa", "bm25", [0.5, 0.25])
    put(store, "wikiqa", "hyperqa", [1 / 3, 1.0], 1, "trained")
    curve = store.cell_folder("wikiqa", "hyperqa", 1) / "ranker" / "metrics.jsonl"
    curve.parent.mkdir()
    curve.write_text('{"epoch": 0, "seconds": 1.0, "dev": {"MAP": 0.5}}\n')
    (curve.parent / "weights.safetensors").write_bytes(b"large")
    store.remember_data("wikiqa", tmp_path)
    write_json(store.folder / "wikiqa" / "speeds.json", {"posts": {"number": 3.0}})
    other = Store.make(tmp_path / "kept", quick=False)
    put(other, "wikiqa", "hyperqa", [0.0, 0.0], 1, "trained")  # an older figure
    put(other, "trecqa", "bm25", [0.1])
    assert store.keep(other.folder) == 2
    (old, kept), (made,) = tables(other), tables(store)
    assert result_table(kept).rows == result_table(made).rows
    assert old.dataset == "trecqa"
    assert kept.results[1].by_query("MAP") == {"q0": 0.3333, "q1": 1.0}
    assert kept.results[1].first.curve() == made.results[1].first.curve()
    assert other.speeds("wikiqa") == store.speeds("wikiqa")
    assert not list(other.folder.rglob("*.safetensors"))
    assert str(tmp_path) not in (other.folder / "store.json").read_text()
    with pytest.raises(AskonceError, match="figures but no scores in this store; delete"):
        kept.results[0].first.run("test")


def test_splits_of_summaries():
    assert public_split("test-clean") == "test"
    assert public_split("test-raw") == "test"
    assert public_split("test") == "test"
    assert public_split("test-100") == "test-100"


def test_average_ranks_over_the_datasets_that_share_most(store):
    for dataset, order in (("wikiqa", "abc"), ("trecqa", "bac"), ("travel", "a")):
        for workspace, model in enumerate(order):
            put(store, dataset, model, [0.9 - 0.1 * workspace] * 2)
    (table,) = average_rank(store)
    assert set(table.header) == {"model", "wikiqa", "trecqa", "average"}
    assert {row[0]: row[-1] for row in table.rows} == {"a": "1.50", "b": "1.50", "c": "3.00"}


def test_equal_models_share_their_rank(store):
    for dataset in ("wikiqa", "trecqa"):
        for model, value in (("a", 0.5), ("b", 0.5), ("c", 0.1)):
            put(store, dataset, model, [value] * 2)
    (table,) = average_rank(store)
    assert {row[0]: row[-1] for row in table.rows} == {"a": "1.50", "b": "1.50", "c": "3.00"}


@pytest.mark.parametrize("name", FIGURES.names())
def test_a_figure_of_an_empty_store_is_none(store, name):
    assert FIGURES[name](store) == []


def test_a_store_is_recognised(tmp_path):
    with pytest.raises(AskonceError, match="is no results store"):
        Store(tmp_path)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(AskonceError, match="not empty"):
        Store.make(tmp_path, quick=False)
    store = Store.make(tmp_path / "new", quick=True)
    with pytest.raises(AskonceError, match="holds quick figures"):
        Store.make(store.folder, quick=False)
    facts = json.loads((store.folder / "store.json").read_text()) | {"format": 99}
    write_json(store.folder / "store.json", facts)
    with pytest.raises(DataError, match="format 1"):
        Store(store.folder)


def test_tables_in_both_forms(tmp_path):
    table = Table("t", "about", ["a", "b"], [["x<y", [Span("1", "bold")]]], ["note"])
    assert "<td>x&lt;y</td><td><b>1</b></td>" in block_html(table)
    assert '<p class="note">note</p>' in block_html(table)
    assert block_markdown(table, tmp_path).splitlines() == [
        "| a | b |", "|---|---:|", "| x<y | **1** |", "", "note",
    ]  # fmt: skip


def test_plots_in_both_forms(tmp_path):
    block = Plot("p: q", "about", BarChart([Bar("a", 1.0, "1 s")], "seconds"))
    assert '<svg role="img" aria-label="p: q"' in block_html(block)
    assert block_markdown(block, tmp_path / "figures") == "![p: q](figures/p-q.svg)"
    written = (tmp_path / "figures" / "p-q.svg").read_text()
    assert ElementTree.fromstring(written).attrib["aria-label"] == "p: q"
    assert "prefers-color-scheme:dark" in written


def test_a_plot_names_its_dots():
    dots = [Dot("a<b", 10.0, 0.5, "trained"), Dot("c", 1000.0, 0.6, "fusion")]
    drawn = svg(ScatterChart({"x": dots}, "y"), "t")
    assert ">a&lt;b</text>" in drawn
    assert "<title>a&lt;b: 0.5000 at 10</title>" in drawn
    assert all(f">{kind}</text>" in drawn for kind in ("trained", "fusion"))
    assert drawn.count("<use ") == 4  # two dots, two entries of the legend
    assert "nan" not in drawn


def test_an_earlier_summary_keeps_rows_that_the_store_lacks():
    def entry(dataset, protocol, model, mean, seeds=1):
        return {
            "dataset": dataset, "protocol": protocol, "split": "test", "model": model,
            "metric": "MAP", "mean": mean, "seeds": seeds,
        }  # fmt: skip

    earlier = [entry("trecqa", "trec", "bm25", 0.1), entry("trecqa", "trec", "ctrn", 0.2)]
    earlier += [entry("trecqa", "trec", "bm25+ctrn", 0.3)]  # of another BM25
    earlier += [entry("trecqa", "trec", "qrnn", 0.5, 3), entry("trecqa", "trec", "bow", 0.6, 3)]
    new = [entry("trecqa", "clean", "bm25", 0.3), entry("trecqa", "trec", "bm25", 0.4)]
    new += [entry("trecqa", "trec", "qrnn", 0.7, 1), entry("trecqa", "trec", "bow", 0.8, 3)]
    merged = with_earlier([*new, entry("beir", "trec", "bm25", 0.5)], earlier)
    assert [(e["dataset"], e["protocol"], e["model"], e["mean"]) for e in merged] == [
        ("beir", "trec", "bm25", 0.5),
        ("trecqa", "trec", "bm25", 0.4),
        ("trecqa", "trec", "ctrn", 0.2),
        ("trecqa", "trec", "qrnn", 0.5),  # of three seeds, now one
        ("trecqa", "trec", "bow", 0.8),
        ("trecqa", "clean", "bm25", 0.3),
    ]
