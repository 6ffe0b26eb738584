"""Pair models that learn from a cross-encoder beside the labels."""

import json
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from askonce.bench.rows.trained import TrainedRow
from askonce.errors import ConfigError
from askonce.teachers.cache import VectorCache
from askonce.training.archive.candidates import pair_model
from askonce.training.archive.candidates.pair_model import (
    archive_teacher,
    student_data,
    teaching_seconds,
)
from askonce.training.archive.candidates.task_training import Clock, TaskTraining, learn_words
from askonce.training.cross_encoder import CrossEncoder, CrossSettings
from askonce.training.distillation.beside import BesidePairTeacher, kl, margin
from askonce.training.distillation.pair_teacher import PairTeacher
from askonce.training.distillation.run import beside_cross_encoder
from askonce.training.distillation.settings import PairDistilSettings
from askonce.training.distillation.texts import with_mined
from askonce.training.events import Note, ignore
from askonce.training.fine_tuning import FineTuning, fit
from askonce.training.prepare import untrained
from askonce.training.recipe import Recipe, read_before, recipe_of
from askonce.training.run import RecipeTraining
from askonce.training.sampling import UNLABELLED, known_right
from tests.training.small_run import made

TUNING = CrossSettings(epochs=1, examples=4, batch_size=2, dev_pools=3)


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> str:
    """A transformer of a few weights that reads the words of ``made``."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{n}" for n in range(40))]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=64,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def tuning(monkeypatch):
    """Counts how often a cross-encoder is tuned, and the pairs it scores."""
    import askonce.training.distillation.pair_teacher as module

    counts = {"tuned": 0, "scored": 0}
    tune, score = module.tune_cross_encoder, CrossEncoder.score

    def counted_tune(*args):
        counts["tuned"] += 1
        return tune(*args)

    def counted_score(self, pairs, *args):
        counts["scored"] += len(pairs) * ("best" not in str(args))
        return score(self, pairs, *args)

    monkeypatch.setattr(module, "tune_cross_encoder", counted_tune)
    monkeypatch.setattr(CrossEncoder, "score", counted_score)
    return counts


def recipe(**train: object) -> Recipe:
    table = {"epochs": 2, "batch_size": 3, "loss": "softmax", "negatives": {"source": "all"}}
    model = {"name": "compare-aggregate", "dim": 6, "widest": 2, "dropout": 0.0, "overlap": True}
    text = {"vectors": "random", "dim": 6}
    return recipe_of({"model": model, "text": text, "train": {**table, **train}})


def table(bert: str, **more: object) -> dict[str, object]:
    return {"teacher": f"cross-encoder:{bert}", "epochs": 1, "examples": 4, **more}


def test_margin_mse_is_the_mean_over_all_pairs_of_a_group():
    rng = np.random.default_rng(0)
    target, scores = rng.normal(size=(2, 1, 5))
    wanted = np.mean(
        [
            ((scores[0, i] - scores[0, j]) - (target[0, i] - target[0, j])) ** 2
            for i, j in ((i, j) for i in range(3) for j in range(3))
        ]
    )
    mask = torch.tensor([[True, True, True, False, False]])
    actual = margin(torch.tensor(target), torch.tensor(scores), mask)
    assert actual.item() == pytest.approx(wanted)
    distinct = [
        ((scores[0, i] - scores[0, j]) - (target[0, i] - target[0, j])) ** 2
        for i, j in combinations(range(3), 2)
    ]
    assert actual.item() == pytest.approx(2 * sum(distinct) / 9)


def test_kl_is_nothing_where_student_and_teacher_agree_up_to_a_constant():
    target = torch.tensor([[1.0, -2.0, 0.5, 9.0]])
    mask = torch.tensor([[True, True, True, False]])
    assert kl(target, target + 3, mask).item() == pytest.approx(0, abs=1e-6)
    p, q = torch.tensor([1.0, -2.0, 0.5]).softmax(0), torch.tensor([0.0, 0.0, 0.0]).softmax(0)
    wanted = (p * (p / q).log()).sum().item()
    assert kl(target, torch.zeros(1, 4), mask).item() == pytest.approx(wanted, abs=1e-6)


def test_a_teacher_is_tuned_once_and_scores_no_pair_twice(bert, tuning, tmp_path):
    dataset = made(6)
    pairs = [(p.query.text, post.text) for p in dataset.split("train") for post in p.candidates]
    first = PairTeacher(bert, dataset, TUNING, cache=tmp_path)
    scores = first.score(pairs)
    assert np.std(scores) > 0
    counts = dict(tuning)
    again = PairTeacher(bert, dataset, TUNING, cache=tmp_path)
    assert again.name == first.name
    np.testing.assert_array_equal(again.score(pairs[::-1]), scores[::-1])
    assert tuning == counts, "everything was in the cache"
    fresh = again.score([("w1 w2", "w2 w3")])
    assert (tuning["tuned"], tuning["scored"]) == (1, counts["scored"] + 1)
    np.testing.assert_allclose(fresh, first.score([("w1 w2", "w2 w3")]))


def test_other_labels_settings_or_seeds_are_another_teacher(bert, tmp_path):
    dataset = made(6)
    pool = dataset.split("train")[0]
    other = replace(pool, labels=pool.labels[::-1])
    relabelled = replace(
        dataset, splits={**dataset.splits, "train": [other, *dataset.split("train")[1:]]}
    )
    names = {
        PairTeacher(bert, data, config, cache=tmp_path).name
        for data, config in (
            (dataset, TUNING),
            (relabelled, TUNING),
            (dataset, replace(TUNING, rate=1e-3)),
            (dataset, replace(TUNING, seed=2)),
        )
    }
    assert len(names) == 4


class Oracle:
    """Scores a pair by the number of words it shares."""

    name = "oracle"

    def score(self, pairs, on_progress=None):
        shared = [len(set(a.split()) & set(b.split())) for a, b in pairs]
        return np.array(shared, dtype=np.float32)


@pytest.mark.parametrize("loss", ["margin", "kl"])
def test_a_student_comes_near_its_teachers_scores(loss, tmp_path):
    dataset = made(40)
    settings = recipe(epochs=6, rate=0.01, patience=9)
    beside = BesidePairTeacher(Oracle(), PairDistilSettings(loss=loss, weight=10.0))

    def distance(ranker):
        """Mean margin error over dev."""
        errors = []
        for pool, scores in zip(
            dataset.split("dev"), ranker.score_pools(dataset.split("dev")), strict=True
        ):
            wanted = Oracle().score([(pool.query.text, post.text) for post in pool.candidates])
            errors.append(np.corrcoef(wanted, scores)[0, 1])
        return float(np.mean(errors))

    start = untrained(settings, dataset)
    before = distance(start)
    student = fit(FineTuning(start, dataset, settings, tmp_path, beside=beside)).ranker
    assert distance(student) > max(before + 0.2, 0.5)


def test_mined_texts_are_neither_right_nor_wrong():
    dataset = made(20)
    longer = with_mined(dataset, "train", 3)
    assert longer.split("dev") == dataset.split("dev")
    right = known_right(dataset.split("train"))
    for old, new in zip(dataset.split("train"), longer.split("train"), strict=True):
        fresh = new.candidates[len(old.candidates) :]
        assert new.labels == (*old.labels, *[UNLABELLED] * len(fresh))
        assert new.positives == old.positives
        assert 0 < len(fresh) <= 3
        assert not {post.id for post in fresh} & {post.id for post in old.candidates}
        assert not any(right[old.query.id].holds(post) for post in fresh)
        words = set(old.query.text.split())
        assert all(words & set(post.text.split()) for post in fresh)


def test_labels_do_not_read_unlabelled_texts(tmp_path):
    """Without a teacher's weight, mined texts change nothing but the order of batches."""
    dataset = made(6)
    settings = recipe(epochs=1, batch_size=50)
    weights = []
    for mined in (0, 3):
        config = PairDistilSettings(weight=0.0, mined=mined)
        start, beside = untrained(settings, dataset), BesidePairTeacher(Oracle(), config)
        data = with_mined(dataset, "train", mined)
        folder = tmp_path / str(mined)
        ranker = fit(FineTuning(start, data, settings, folder, beside=beside)).ranker
        weights.append(torch.cat([p.flatten() for p in ranker.model.parameters()]))
    torch.testing.assert_close(*weights)


def test_a_recipe_with_a_cross_encoder_trains_resumes_and_is_pre_trained_too(
    bert, tuning, tmp_path, monkeypatch
):
    monkeypatch.setenv("ASKONCE_CACHE", str(tmp_path / "cache"))
    dataset, short = made(8), recipe()
    path = tmp_path / "student-compare-aggregate.toml"
    path.write_text(
        '[model]\nname = "compare-aggregate"\n[pretrain]\nepochs = 1\n'
        f'[distil]\nteacher = "cross-encoder:{bert}"\nexamples = 4\nmined = 2\n'
    )
    before = read_before(path)._replace(pretrain=None)
    assert read_before(path).pretrain == {"epochs": 1}
    outcome = RecipeTraining(short, dataset).train(before, (tmp_path / "a", tmp_path / "b"))
    assert outcome.progress.epoch == 2
    assert tuning["tuned"] == 1
    scores = VectorCache(next((tmp_path / "cache").glob("cross-encoder-*")).name, 1)
    assert len(scores) >= sum(len(pool.candidates) for pool in dataset.split("train"))
    settings = TrainedRow("student", path, (), "made").settings(None, quick=True)
    assert settings["distil"] == {**before.distil, "epochs": 1, "examples": 60}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"negatives": {"source": "batch"}}, "'batch'; beside a cross-encoder choose"),
        ({"negatives": {"source": "pool"}}, "'all' for distil.mined"),
    ],
)
def test_negatives_that_a_teacher_cannot_score_are_refused(change, message, bert):
    with pytest.raises(ConfigError, match=message):
        beside_cross_encoder(recipe(**change), table(bert, mined=2), made(), ignore)


def test_an_encoder_has_no_cross_encoder_as_teacher(bert):
    settings = recipe_of({"model": {"name": "hyperqa"}})
    with pytest.raises(ConfigError, match="'hyperqa' is an encoder; name a sentence encoder"):
        beside_cross_encoder(settings, table(bert), made(), ignore)


@dataclass(frozen=True)
class Reader:
    """What a training run needs of its teacher here."""

    name: str


def answers(bert: str, folder: Path, minutes: float, events: list[object]) -> TaskTraining:
    """The training run of an archive's answers, with the pools of ``made``."""
    dataset = replace(made(12, wrong=12), name="answers")
    words = learn_words([dataset], None, 1, folder / "words")
    task = SimpleNamespace(dataset=dataset)
    clock = Clock(60 * minutes)
    return TaskTraining(
        "answers", task, lambda: words, folder / "answers", clock, 1, events.append, Reader(bert)
    )


def test_an_archives_pair_model_is_the_better_of_two(bert, tmp_path, monkeypatch):
    monkeypatch.setattr(pair_model, "cost", lambda *_: 0.0)
    events: list[object] = []
    run = answers(bert, tmp_path, 60, events)
    pair = pair_model.train_pair(run, "w1", [])
    assert any("student of a cross-encoder" in getattr(event, "text", "") for event in events)
    best = {
        name: max(
            json.loads(line)["dev"]["MAP"]
            for line in (run.folder / name / "metrics.jsonl").read_text().splitlines()
        )
        for name in ("pair", "pair-student")
    }
    winner = "pair-student" if best["pair-student"] > best["pair"] else "pair"
    assert pair.location == f"answers/{winner}"
    assert max(pair.progress.values) == best[winner]
    scores = VectorCache(next((run.folder / "cross-encoder").glob("cross-*")).name, 1,
                         run.folder / "cross-encoder")  # fmt: skip
    assert 0 < len(scores) <= 12 * 9  # a right answer and the first eight others


def test_without_time_or_weights_the_labels_teach_alone(bert, tmp_path, monkeypatch):
    monkeypatch.setattr(pair_model, "cost", lambda *_: 0.0)
    monkeypatch.setattr(pair_model, "teaching_seconds", lambda *_: 1e6)
    for source, reason in ((bert, "would take 1,000,000 s"), ("small", "no transformer checkp")):
        events: list[object] = []
        pair = pair_model.train_pair(answers(source, tmp_path / source[-5:], 60, events), "w1", [])
        assert pair.location == "answers/pair"
        assert any(reason in event.text for event in events if isinstance(event, Note))


def test_the_time_of_a_teacher_grows_with_pairs(bert, tmp_path, monkeypatch):
    monkeypatch.setattr(PairTeacher, "seconds_per_pair", lambda self, pairs: 0.5)
    dataset = student_data(made(20, wrong=12))
    assert {len(pool.candidates) for pool in dataset.split("train")} == {9}
    teacher = archive_teacher(bert, dataset, tmp_path, 1, ignore)
    # 2 epochs of 20 examples with 3 negatives, thrice; dev of 6 pools thrice; 20 pools of 9
    assert teaching_seconds(teacher, dataset) == 0.5 * (2 * 20 * 4 * 3 + 3 * 6 * 13 + 20 * 9)
