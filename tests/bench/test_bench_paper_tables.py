"""The papers' tables beside our rows, from a store written by hand."""

import pytest

from askonce.bench.report.figures import FIGURES
from askonce.bench.report.published import published_tables
from askonce.bench.store import Store, write_json
from askonce.evaluation import METRICS
from askonce.models import MODELS

CTRN = "Tay et al., AAAI 2018, table 6, trained on train-all: MAP"


def put(store: Store, model: str, values: list[float], split: str = "") -> None:
    """A row of TrecQA, trained on TRAIN-ALL unless a split is given."""
    folder = store.cell_folder("trecqa", model, 1)
    folder.mkdir(parents=True)
    recipe = {"options": {"overlap": True}, "train": {"split": split or None}}
    figures = {"protocol": "trec", "dev": False, "queries": len(values), "tied_positives": 0}
    metrics = dict.fromkeys(METRICS, sum(values) / len(values))
    data = {"train": [93, 4718], "train-all": [1229, 53417], "test": [95, 1517]}
    record = {
        "dataset": "trecqa", "model": model, "seed": 1, "kind": "trained",
        "settings": {"data": data, "row": {"recipe": recipe}},
        "figures": {"test": figures | {"metrics": metrics}},
        "facts": {}, "versions": {}, "finished": "2026",
    }  # fmt: skip
    write_json(folder / "cell.json", record)
    by_query = {f"q{n}": [value] * len(METRICS) for n, value in enumerate(values)}
    write_json(folder / "per_query.json", {"test": by_query})


@pytest.fixture
def store(tmp_path):
    return Store.make(tmp_path / "store", quick=False)


def section(block, heading):
    """The rows under a heading, by their first cell."""
    start = block.rows.index([heading]) + 1
    end = next((n for n in range(start, len(block.rows)) if len(block.rows[n]) == 1), None)
    return {row[0]: row[1:] for row in block.rows[start:end]}


def test_every_row_of_a_paper_stands_beside_ours(store):
    put(store, "ctrn", [0.7, 0.7])
    put(store, "ctrn@train.split=train", [0.8, 0.8], split="train")
    (block,) = FIGURES["paper-tables"](store)
    rows = section(block, CTRN)
    assert rows["ctrn"] == ["0.771", "0.700 [0.700–0.700] ▼", "1", "–"]
    assert rows["hd-lstm"] == ["0.750", "not run", "–", "–"]
    assert rows["CNN"] == ["0.722", "cited only", "–", "–"]
    assert next(iter(rows)) == "CNN+LR (Yu et al., 2014)"  # the lowest number
    small = section(block, CTRN.replace("train-all", "train"))
    assert small["ctrn@train.split=train"] == ["0.758", "0.800 [0.800–0.800]", "1", "–"]


def test_an_order_needs_four_rows(store):
    for model, value in (("cntn", 0.5), ("mv-lstm", 0.6), ("hd-lstm", 0.8)):
        put(store, model, [value, value])
    assert [block.title for block in FIGURES["paper-tables"](store)] == [
        "Papers' tables: trecqa test"
    ]
    put(store, "ntn-lstm", [0.55, 0.55])
    _, order = FIGURES["paper-tables"](store)
    # the paper: cntn < mv-lstm < ntn-lstm < hd-lstm; one of six pairs is the other way round
    assert order.rows[0] == [CTRN, "4", "0.67 [0.67–0.67]", "0.333"]


def test_rows_are_models_that_exist_and_cited_systems_are_not():
    from askonce.baselines import BASELINES

    names = {*MODELS.names(), *BASELINES.names(), "cross-encoder"}
    for table in published_tables():
        assert {row.partition("@")[0] for row in table.rows} <= names
        assert not names & set(table.cited)
        assert all(len(values) == len(table.metrics) for values in table.cited.values())


RIVALS = {
    "cntn", "ntn-lstm", "hd-lstm", "bigram-cnn", "sm-cnn", "bow-mlp", "wordembed-mlp", "arc-i",
    "arc-ii", "mv-lstm", "anmm", "mp-cnn", "rank-mp-cnn", "abcnn", "bimpm", "iwan", "iarnn",
    "ai-cnn", "kv-memnn", "paragraph-vectors", "elmo",
}  # fmt: skip


def test_every_rival_has_a_published_number():
    published = {name for table in published_tables() for name in table.rows}
    assert published >= RIVALS
