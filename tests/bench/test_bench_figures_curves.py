"""Tables and curves of a report, from stores written by hand with numbers worked out by hand."""

import json
import re
from pathlib import Path

import pytest

from askonce.bench.report.document import blocks, html_page, markdown_page
from askonce.bench.report.drawing import svg
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.costs import PRINTED, counted
from askonce.bench.report.figures.curves import curve
from askonce.bench.report.figures.settings import gain
from askonce.bench.report.figures.texts import (
    BOUNDS,
    bounds_of,
    bucket_means,
    right_lengths,
)
from askonce.bench.store import Store, write_json
from askonce.data.benchmarks import load_dataset
from askonce.evaluation import METRICS

SPLITS = {"train": [93, 4718], "train-all": [1229, 53417], "test": [30, 300]}
FACTS = {
    "parameters": 1000, "pairs_per_second": 500.0, "best_epoch": 2,
    "seconds": 700.0, "cpu_seconds": 600.0,
}  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return Store.make(tmp_path / "store", quick=False)


def row(name):
    """The settings that a bench stores for a trained row of this name."""
    recipe, *changes = name.split("@")
    actual = dict(change.split("=") for change in changes)
    options = {
        key.removeprefix("model."): json.loads(value) if value[0] in "tf0123456789" else value
        for key, value in actual.items()
        if key.startswith("model.") and value != "title"
    }
    if actual.get("model.fields"):
        options["fields"] = actual["model.fields"]
    pretrain = {"epochs": 6} if recipe in ("rcnn", "cabin") and "pretrain" not in actual else None
    train = {"split": actual.get("train.split")}
    return {"recipe": {"model": recipe, "options": options, "train": train}, "pretrain": pretrain}


def put(store, dataset, model, values, seed=1, kind="trained", seconds=(), before=(), **facts):
    """A cell in which all metrics of a question have its value."""
    folder = store.cell_folder(dataset, model, seed)
    (folder / "ranker").mkdir(parents=True)
    (folder / "pretrained").mkdir()
    queries = values if isinstance(values, dict) else {f"q{n}": v for n, v in enumerate(values)}
    mean = sum(queries.values()) / len(queries)
    protocol = "drop_no_pos" if dataset == "wikiqa" else "trec"
    figures = {"protocol": protocol, "dev": False, "queries": len(queries), "tied_positives": 0}
    record = {
        "dataset": dataset, "model": model, "seed": seed, "kind": kind,
        "settings": {"data": SPLITS, "row": row(model)},
        "figures": {"test": figures | {"metrics": dict.fromkeys(METRICS, mean)}},
        "facts": FACTS | facts, "versions": {"askonce": "0"}, "finished": f"2026-01-0{seed}",
    }  # fmt: skip
    write_json(folder / "cell.json", record)
    write_json(
        folder / "per_query.json", {"test": {q: [v] * len(METRICS) for q, v in queries.items()}}
    )
    epochs = [
        {"epoch": n, "seconds": s, "dev": dict.fromkeys(METRICS, n / 10)}
        for n, s in enumerate(seconds, start=1)
    ]
    _write(folder / "ranker" / "metrics.jsonl", epochs)
    _write(folder / "pretrained" / "pretraining.jsonl", before)


def _write(path: Path, records) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def rows_of(block):
    return {line[0]: list(line[1:]) for line in block.rows}


def wavy(mean, size=30):
    """Values that vary from question to question about a mean."""
    return [mean + 0.05 * (-1) ** n for n in range(size)]


def test_seconds_of_an_epoch_are_a_median_without_the_first(store):
    put(store, "trecqa", "ctrn", [0.5], 1, seconds=(90, 1, 2, 3))
    put(store, "trecqa", "ctrn", [0.5], 2, seconds=(90, 5, 6, 7))
    put(store, "trecqa", "qrnn@model.dim=800", [0.5], seconds=(8, 12))
    put(store, "trecqa", "lstm-mlp", [0.5], seconds=(8,))  # only a first epoch
    (block,) = FIGURES["runtime"](store)
    assert [bar[:3] for bar in block.chart.bars] == [
        ("ctrn", 4.0, "4.0 s"),
        ("qrnn@model.dim=800", 12.0, "12.0 s"),
    ]
    drawn = svg(block.chart, block.title)
    assert ">4.0 s<" in drawn
    assert ">12.0 s<" in drawn
    assert drawn.index(">ctrn<") < drawn.index(">qrnn@model.dim=800<")


def test_training_sets_stand_beside_each_other(store):
    for seed, value in ((1, 0.70), (2, 0.80)):
        put(store, "trecqa", "ctrn", wavy(value), seed)
    put(store, "trecqa", "ctrn@train.split=train", wavy(0.6))
    put(store, "trecqa", "qrnn", wavy(0.6))
    (block,) = FIGURES["train-split"](store)
    assert block.header == ["model", "train MAP", "train MRR", "train-all MAP", "train-all MRR"]
    assert rows_of(block) == {
        "ctrn": ["0.600, paper (0.758)", "0.600, paper (0.823)"]
        + [f"0.750 ± 0.071 *, paper ({paper})" for paper in ("0.771", "0.838")]
    }
    assert "train: 93 questions, 4,718 pairs; train-all: 1,229 questions, 53,417 pairs" in str(
        block.notes
    )


def test_buckets_of_answer_lengths():
    lengths = {"a": 50.0, "b": 50.5, "c": 55.0, "d": 170.0}
    bounds = bounds_of("insuranceqa", list(lengths.values()))
    assert bounds == list(BOUNDS)
    actual = bucket_means({"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.5}, lengths, bounds)
    assert actual == [1.0, 0.5, *[None] * 8, 0.5]
    assert bounds_of("wikiqa", [float(n) for n in range(1, 61)]) == [21.0, 41.0]
    assert bounds_of("wikiqa", [1.0] * 39) == []
    assert len(bounds_of("wikiqa", [float(n) for n in range(2000)])) == 10


def test_accuracy_by_answer_length(store, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    lines = ["question,answer,label"]
    for n in range(40):
        answer = "a short one" if n < 20 else "an answer of many more words than the others"
        lines += [f"why is part {n} so,{answer} {n},1", f"why is part {n} so,no {n},0"]
    for split in ("train", "dev", "test"):
        (folder / f"{split}.csv").write_text("\n".join(lines))
    dataset = load_dataset("csv", folder)
    lengths = right_lengths(dataset, "test")
    assert sorted(set(lengths.values())) == [4.0, 10.0]
    first = {query: float(length < 5) for query, length in lengths.items()}
    put(store, "csv", "hyperqa", first)
    put(store, "csv", "hyperqa@model.dim=9", first)
    put(store, "csv", "bm25", {query: 0.5 for query in lengths}, kind="baseline")
    assert FIGURES["answer-length"](store) == []  # nobody knows where its texts are
    store.remember_data("csv", folder)
    plot, table = FIGURES["answer-length"](store)
    assert table.header == ["model", "≤7 (20)", ">7 (20)"]
    assert rows_of(table) == {"hyperqa": ["1.000", "0.000"], "bm25": ["0.500", "0.500"]}
    assert [(line.name, line.points) for line in plot.chart.series] == [
        ("bm25", [(0.0, 0.5), (1.0, 0.5)]),
        ("hyperqa", [(0.0, 1.0), (1.0, 0.0)]),
    ]
    assert svg(plot.chart, "").count("<use ") == 4


def test_pooling_and_pretraining(store):
    for seed, value in ((1, 0.7), (2, 0.8)):
        put(store, "travel", "rcnn", wavy(value), seed)
    put(store, "travel", "rcnn@pretrain=false", wavy(0.5))
    put(store, "travel", "rcnn@model.pooling=mean", wavy(0.6))
    put(store, "travel", "rcnn@train.rate=0.1", wavy(0.9))  # of another question
    put(store, "travel", "cnn", wavy(0.4))  # one way only
    (block,) = FIGURES["pooling-pretraining"](store)
    assert [row[:5] for row in block.rows] == [
        ["rcnn", "last", "no", "1", "0.500"],
        ["rcnn", "last", "yes", "2", "0.750 ± 0.071 * †"],
        ["rcnn", "mean", "yes", "1", "0.600"],
    ]
    assert [row[-1] for row in block.rows] == ["(0.607)", "(0.623)", "(0.589)"]
    assert FIGURES["title-body"](store) == []


def test_title_and_body(store):
    put(store, "travel", "rcnn@pretrain=false", wavy(0.5))
    put(store, "travel", "rcnn@pretrain=false@model.fields=title", wavy(0.3))
    put(store, "travel", "rcnn@model.fields=title", wavy(0.3))
    (block,) = FIGURES["title-body"](store)
    assert [row[:6] for row in block.rows] == [
        ["rcnn", "last", "no", "both", "1", "0.500 *"],
        ["rcnn", "last", "no", "title", "1", "0.300"],
    ]
    assert block.rows[1][-1] == "(0.582)"


def test_pretraining_by_epoch(store):
    def history(*values):
        return [
            {"epoch": n, "perplexity": v, "unigram_perplexity": 300.0, "dev": {"MRR": v / 1000}}
            for n, v in enumerate(values)
        ]

    put(store, "travel", "rcnn", [0.5], 1, before=history(900, 100, 50))
    put(store, "travel", "rcnn", [0.5], 2, before=history(900, 200))
    put(store, "travel", "rcnn@model.pooling=mean", [0.5], before=history(900, 100))
    put(store, "travel", "gru@train.rate=0.1", [0.5], before=history(900, 100))
    put(store, "travel", "cabin", [0.5], before=[{"epoch": 1, "rightward_perplexity": 9.0}])
    perplexity, ranking = FIGURES["pretraining-curves"](store)
    # the epochs that all seeds of a row have; of RCNN the recipe without changes was run too
    assert {line.name: len(line.points) for line in ranking.chart.series} == {
        "rcnn": 2,
        "gru@train.rate=0.1": 2,
    }
    assert [len(line.points) for line in perplexity.chart.series] == [1, 1]  # without epoch 0
    assert perplexity.chart.references == {"unigram": 300.0}
    assert ">unigram<" in svg(perplexity.chart, "")
    assert svg(ranking.chart, "").count("<use ") == 4
    points, errors = curve(
        [history(900, 100, 50), history(900, 200)], lambda record: record["perplexity"]
    )
    assert points == [(0.0, 900.0), (1.0, 150.0)]
    assert errors == pytest.approx([0.0, 70.7107], abs=1e-4)


def test_quality_by_dimension(store):
    for size in (50, 100):
        put(store, "wikiqa", f"hyperqa@model.dim={size}", [size / 200])
        put(store, "wikiqa", f"cosineqa@model.dim={size}", [0.4])
    put(store, "wikiqa", "bm25", [0.3], kind="baseline")
    assert FIGURES["dimensions"](store) == []
    put(store, "wikiqa", "hyperqa", [0.7], 1)  # of 300, by its own settings
    put(store, "wikiqa", "hyperqa", [0.5], 2)
    (block,) = FIGURES["dimensions"](store)
    (line,) = block.chart.series
    assert line.name == "hyperqa"
    assert dict(line.points) == pytest.approx({50.0: 0.25, 100.0: 0.5, 300.0: 0.6})
    assert line.errors == pytest.approx([0.0, 0.0, 0.1414], abs=1e-4)
    drawn = svg(block.chart, block.title)
    assert drawn.count("<use ") == 3
    assert ">bm25<" in drawn
    assert ">MP-CNN (paper)<" in drawn
    assert ">300<" in drawn


def test_parameters_in_the_papers_sizes(store):
    actual = {
        (model, printed.number): counted(model, printed)
        for model, every in PRINTED.items()
        for printed in every
    }
    assert actual["hyperqa", "90K"] == 90_302
    assert actual["ctrn", "1.05M"] == actual["qrnn", "1.05M"] == 1_052_800 + 90_000 + 258
    assert actual["rcnn", "401K"] == 400_800
    assert actual["mp-cnn", "10.0M"] == 9_611_552
    for (model, number), count in actual.items():
        printed = float(number[:-1]) * {"K": 1e3, "M": 1e6}[number[-1]]
        near = abs(count / printed - 1) < 0.1
        assert near != (number == "5.86M" or model == "rank-mp-cnn"), (model, count)
    put(store, "wikiqa", "hyperqa", [0.5], parameters=30_302)
    put(store, "wikiqa", "minilm", [0.5], kind="transformer", parameters=22_713_216)
    put(store, "trecqa", "hyperqa@model.dim=9", [0.5], parameters=911)
    put(store, "wikiqa", "hyperqa@train.rate=9", [0.5], parameters=30_302)
    put(store, "trecqa", "svm", [0.5], kind="baseline")
    (block,) = FIGURES["parameters"](store)
    assert block.header == ["model", "trecqa", "wikiqa", "in the paper's size", "paper"]
    assert rows_of(block) == {
        "hyperqa@model.dim=9": ["911", "–", "–", "–"],
        "minilm": ["–", "22,713,216", "–", "–"],
        "hyperqa": ["–", "30,302", "90,302 / 45,152", "90K / 45K"],
    }


def test_statistics_of_a_dataset(store, workspace):
    put(store, "csv", "hyperqa", [0.5])
    (block,) = FIGURES["dataset-statistics"](store)
    assert rows_of(block)["train-all"] == ["1,229", "–", "53,417", "43.5", "–", "–", "–"]
    store.remember_data("csv", workspace / "data")
    (block,) = FIGURES["dataset-statistics"](store)
    # of each question 5 words; of its answers 3, 4, 6 and 5
    assert rows_of(block)["test"] == ["10", "0", "40", "4.0", "25.0 %", "5.0", "4.5"]


def test_time_of_the_bench(store):
    assert FIGURES["bench-time"](store) == []
    put(store, "wikiqa", "hyperqa", [0.5], train_seconds=100.0)  # the machine was busy
    put(store, "wikiqa", "cabin", [0.5], train_seconds=60.0, pretrain_seconds=1740.0)  # stopped
    put(store, "wikiqa", "bm25+cabin", [0.5], kind="fusion", train_seconds=1800.0, cpu_seconds=60.0)
    (block,) = FIGURES["bench-time"](store)
    assert rows_of(block) == {"wikiqa": ["3", "30", "41", "20"]}


def test_quality_and_cost_of_all_recipes_in_one_picture(store):
    put(store, "wikiqa", "hyperqa", [0.5], parameters=100, seconds=(9, 2))
    assert FIGURES["quality-cost"](store) == []  # one point compares nothing
    put(store, "wikiqa", "ctrn", [0.6], parameters=450, seconds=(9, 8))
    put(store, "wikiqa", "cabin", [0.7], parameters=900)
    put(store, "wikiqa", "ctrn@model.dim=9", [0.6], seconds=(1, 1))
    put(store, "wikiqa", "bm25", [0.4], kind="baseline")
    (block,) = FIGURES["quality-cost"](store)
    plots = block.chart.dots.values()
    sizes, seconds = ({dot.name: (dot.x, dot.y) for dot in dots} for dots in plots)
    assert sizes == {"hyperqa": (100, 0.5), "ctrn": (450, 0.6), "cabin": (900, 0.7)}
    assert seconds == {"hyperqa": (2, 0.5), "ctrn": (8, 0.6)}  # CABIN had one epoch
    drawn = svg(block.chart, block.title)
    assert drawn.count(">hyperqa<") == 2 and "seconds per epoch" in drawn


def test_ratios(store):
    put(store, "wikiqa", "hyperqa", [0.5], parameters=100, seconds=(9, 2), pairs_per_second=50.0)
    put(store, "wikiqa", "ctrn", [0.6], parameters=450, seconds=(9, 8), pairs_per_second=25.0)
    put(store, "wikiqa", "minilm", [0.4], kind="transformer", parameters=1000)
    put(store, "wikiqa", "ctrn@model.dim=9", [0.6])  # tables of models, not of their settings
    (block,) = FIGURES["ratios"](store)
    assert rows_of(block) == {
        "ctrn": ["+20.0 %", "4.5×", "4×", "2×"],
        "minilm": ["-20.0 %", "10×", "–", "0.1×"],
    }
    put(store, "trecqa", "ctrn", [0.6], parameters=450)
    put(store, "trecqa", "qrnn", [0.3], parameters=45)
    small, _ = FIGURES["ratios"](store)
    assert small.title == "Relative to qrnn: trecqa test"
    assert rows_of(small) == {"ctrn": ["+100.0 %", "10×", "–", "1×"]}


def test_gains_of_cabin(store):
    put(store, "wikiqa", "cabin", wavy(0.66))
    assert FIGURES["cabin-variants"](store) == []
    put(store, "wikiqa", "cabin@model.jump=false", wavy(0.60))
    put(store, "wikiqa", "cabin@pretrain=false@model.freeze_lm=false", wavy(0.66))
    put(store, "wikiqa", "cabin@model.hidden=50", wavy(0.55))
    plot, table = FIGURES["cabin-variants"](store)
    assert rows_of(table) == {
        "cabin@model.hidden=50": ["0.550", "+20.00 % *", "–"],
        "CABIN-J, no context jump": ["0.600", "+10.00 % *", "+3.21 %"],
        "CABIN-P, no pre-training": ["0.660", "+0.00 %", "+4.55 %"],
    }
    assert [bar.name for bar in plot.chart.bars if bar.highlighted] == ["CABIN"]
    assert svg(plot.chart, "").count("<title>") == 4  # one per bar
    assert gain(0.8845, 0.8450) == pytest.approx(4.67, abs=0.01)


def test_learning_curves_have_a_line_for_each_seed(store):
    put(store, "wikiqa", "hyperqa", [0.5], 1, seconds=(1, 1, 1))
    put(store, "wikiqa", "hyperqa", [0.5], 2, seconds=(1, 1))
    put(store, "wikiqa", "ctrn", [0.5], seconds=(1, 1))
    (block,) = FIGURES["learning-curves"](store)
    assert {panel.name: len(panel.lines) for panel in block.chart.panels} == {
        "ctrn": 1,
        "hyperqa": 2,
    }
    marked = [point for panel in block.chart.panels for point in panel.marked]
    assert marked == [(2.0, 0.2)] * 3
    drawn = svg(block.chart, block.title)
    assert drawn.count("stroke-width: 1.5") == 3
    assert drawn.count("<use ") == 3  # epoch 2 of each
    assert drawn.count("<title>") == 2


def test_a_report_without_the_data(store, tmp_path):
    put(store, "wikiqa", "hyperqa", wavy(0.5), seconds=(1, 2))
    put(store, "wikiqa", "cabin", wavy(0.6), seconds=(1, 2))
    put(store, "wikiqa", "cabin@model.jump=false", wavy(0.5), seconds=(1, 2))
    store.remember_data("wikiqa", tmp_path / "gone")
    page = html_page(store, blocks(store))
    assert "Seconds per epoch: wikiqa" in page
    assert "Accuracy by answer length" not in page
    text = markdown_page(store, blocks(store), tmp_path / "results.md")
    assert all((tmp_path / name).is_file() for name in _linked(text))


def test_the_page_begins_with_a_line_for_each_kind_of_figure(store):
    for name in ("trecqa", "wikiqa"):
        put(store, name, "hyperqa", wavy(0.5), seconds=(1, 2))
    parts = blocks(store)
    page = html_page(store, parts)
    contents = page.partition("<nav>")[2].partition("</nav>")[0]
    lines = [re.sub("<[^>]+>", "", line) for line in contents.split("</p>")]
    assert "Seconds per epoch: trecqa · wikiqa" in lines
    linked = re.findall('href="#([^"]+)"', contents)
    assert sorted(linked) == sorted(re.findall(r'section id="(b\d+)"', page))
    assert len(linked) == len(parts)


def _linked(text):
    return [part.partition(")")[0] for part in text.split("](")[1:]]
