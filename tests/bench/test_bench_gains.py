"""What you would have had and what you get: the row that would serve is chosen on dev."""

import numpy as np
import pytest

from askonce.bench.report.figures.readers import readers
from askonce.bench.report.gains import (
    HAD,
    STOCK,
    TITLE,
    all_gains,
    archive_gains,
    markdown,
    with_gains,
)
from askonce.bench.store import FORMAT, Store, write_json
from askonce.evaluation import METRICS
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest

DEV, TEST = 80, 60


@pytest.fixture
def store(tmp_path):
    store = Store.make(tmp_path / "store", quick=False)
    rows = {  # dev and test means
        "bm25": (0.4, 0.4),
        "minilm": (0.5, 0.5),
        HAD: (0.55, 0.55),
        "adapter": (0.7, 0.6),
        "student": (0.7, 0.9),  # better on test, but dev cannot tell it from the adapter
        "starter": (0.45, 0.95),
    }
    for name, means in rows.items():
        write_cell(store, name, dict(zip(("dev", "test"), means, strict=True)))
    return store


def write_cell(store, model, means):
    folder = store.cell_folder("wikiqa", model, 1)
    figures, per_query = {}, {}
    for split, count in (("dev", DEV), ("test", TEST)):
        noise = np.random.default_rng(3).uniform(-0.1, 0.1, count)
        values = means[split] + noise - noise.mean()
        per_query[split] = {f"q{n}": [float(v)] * len(METRICS) for n, v in enumerate(values)}
        figures[split] = {
            "protocol": "drop_no_pos",
            "dev": split == "dev",
            "queries": count,
            "metrics": dict.fromkeys(METRICS, means[split]),
            "tied_positives": 0,
        }
    kind = {"bm25": "baseline", "starter": "baseline", "minilm": "transformer"}.get(
        model, "trained"
    )
    folder.mkdir(parents=True)
    write_json(folder / "per_query.json", per_query)
    write_json(
        folder / "cell.json",
        {
            "dataset": "wikiqa",
            "model": model,
            "seed": 1,
            "kind": "fusion" if "+" in model else kind,
            "settings": {"format": FORMAT},
            "facts": {"seconds": 5.0, "cpu_seconds": 4.0, "train_seconds": 1.0},
            "figures": figures,
            "versions": {"askonce": "0"},
            "finished": "2026-01-01",
        },
    )


def test_the_row_that_would_serve_is_chosen_on_dev(store):
    (gain,) = all_gains(store, ())
    assert gain.served.row == "adapter" and gain.served.mean == pytest.approx(0.6)
    assert gain.had.row == HAD and gain.at_least_had
    assert gain.fast.row == "student"  # the best on dev without a transformer
    assert gain.times is None  # not measured yet
    assert gain.questions == TEST


def test_the_fast_row_may_be_hyperqa_fused_with_bm25(store):
    write_cell(store, "hyperqa", {"dev": 0.65, "test": 0.99})
    write_cell(store, "bm25+hyperqa", {"dev": 0.75, "test": 0.5})
    (gain,) = all_gains(store, ())
    assert gain.fast.row == "bm25+hyperqa" and gain.fast.mean == pytest.approx(0.5)
    assert gain.served.row == "adapter"  # `askonce train` does not try it


def test_an_earlier_table_keeps_lines_of_data_that_the_store_lacks(store):
    kept = ["| wikiqa, P@1 | kept |", "| travel, MAP | kept |"]
    earlier = "\n".join(["| data |", "| --- |", "| wikiqa, MAP | old |", *kept])
    first, *others = markdown(all_gains(store, ()), earlier).splitlines()[2:]
    assert first.startswith("| wikiqa, MAP |") and "old" not in first
    assert others == kept


def test_speeds_and_pictures(store):
    speeds = {"posts": {"count": 100}}
    speeds |= {
        name: {"queries_per_second": 10.0 * n, "texts_per_second": 100.0 * n}
        for n, name in enumerate(("minilm", STOCK, "bm25", "starter", "adapter", "student"), 1)
    }
    write_json(store.folder / "wikiqa" / "speeds.json", speeds)
    (gain,) = all_gains(store, ())
    assert gain.times == pytest.approx(600 / 200)
    table, queries, time = readers(store)
    assert table.title == TITLE
    shown = {dot.name: dot.x for dot in queries.chart.dots["questions per second"]}
    assert shown == {"BM25": 30, "starter": 40, "adapter": 50, "student": 60, "MiniLM": 10}
    ready = {dot.name: dot.x for dot in time.chart.dots["seconds"]}
    assert ready["MiniLM"] == pytest.approx(1.0)  # 100 posts at 100 a second
    assert ready["student"] == pytest.approx(100 / 600 + 4.0)


def test_a_trained_archive_is_a_line(store, tmp_path):
    figures = {"MAP": 0.5, "MRR": 0.5}
    systems = {
        "bm25": figures,
        "fused minilm": {"MAP": 0.6},
        "vectors student": {"MAP": 0.5},
        "fused student": {"MAP": 0.55},
        "fused": {"MAP": 0.7},
    }
    serving = Serving(
        "questions/adapter",
        fast="questions/student",
        weights={"bm25": 1.0, "vectors": 2.0},
        figures={"dev": systems, "test": systems},
        intervals={"test": {"fused minilm": (0.5, 0.65), "fused": (0.6, 0.8)}},
        queries={"test": 11},
    )
    home = tmp_path / "forum.askonce"
    home.mkdir()
    folder = new_folder(home)
    for name in ("adapter", "student"):
        (folder / "questions" / name).mkdir(parents=True)
    write_manifest(folder, Manifest("2026-01-01", serving))
    (line,) = archive_gains(home)
    assert line.data == "forum, questions, MAP"
    assert (line.served.row, line.fast.row) == ("bm25+adapter", "bm25+student")
    lines = all_gains(store, [home])
    assert len(lines) == 2
    assert "| forum, questions, MAP | 11 | 0.500 | 0.600 [0.500, 0.650] |" in markdown(lines)
    table = with_gains(readers(store), lines)[0]
    assert len(table.rows) == 2
