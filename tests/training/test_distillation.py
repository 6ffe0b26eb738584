"""Students: they come near their teacher on its texts, and nearer to the labels beside it."""

import numpy as np
import pytest
import torch

from askonce.bench.rows.trained import TrainedRow
from askonce.errors import AskonceError, ConfigError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.ranker import Ranker
from askonce.teachers import CachedTeacher
from askonce.teachers.lexicon import TeacherLexicon
from askonce.teachers.starter import load_starter
from askonce.text.lexicon import Lexicon
from askonce.training.distillation.run import AdaptedTeacher, distil_recipe
from askonce.training.distillation.student import first_words, start_as
from askonce.training.distillation.texts import archive_posts, read_beside, sentences, texts_of
from askonce.training.events import Step, ignore
from askonce.training.fine_tuning import FineTuning, fit
from askonce.training.recipe import Recipe, read_before, read_recipe, recipe_of
from askonce.training.run import RecipeTraining
from askonce.types import Dataset, Pool, Post
from tests.teachers.small_teacher import SmallTeacher, small_teacher
from tests.training.small_run import made

DIM = 8
TABLE = {"epochs": 12, "batch_size": 16, "rate": 0.02, "held_out": 0.1}


@pytest.fixture(autouse=True)
def teacher(monkeypatch) -> CachedTeacher:
    """The small teacher under the name of the default."""
    cached = small_teacher(dim=DIM)[0]
    monkeypatch.setattr("askonce.training.distillation.run.load_teacher", lambda _: cached)
    monkeypatch.setattr("askonce.training.prepare.load_teacher", lambda _: cached)
    # a saved adapter opens its teacher by its record
    monkeypatch.setattr(
        "askonce.ranker_folder.saved_teacher",
        lambda record: CachedTeacher(lambda: SmallTeacher(DIM), record),
    )
    return cached


def recipe(model: str = "bag", **options: object) -> Recipe:
    train = {"epochs": 3, "batch_size": 4, "rate": 0.01, "loss": "softmax", "scale": 20.0}
    return recipe_of({"model": {"name": model, **options}, "train": train})


def dev_map(ranker: Ranker, dataset: Dataset) -> float:
    pools = dataset.split("dev")
    run = pools_to_run(pools, ranker.score_pools(pools))
    return evaluate(pools_to_qrels(pools), run, dataset.protocol).metrics["MAP"]


def nearness(ranker: Ranker, teacher: CachedTeacher, texts: list[str]) -> float:
    ours = ranker.encode(texts, normalize_embeddings=True)
    return float((ours * teacher.encode(texts)).sum(1).mean())


def test_a_student_comes_near_its_teacher_and_ranks_better(teacher, tmp_path):
    dataset = made(40)
    random = Ranker.create(
        "bag",
        Lexicon.build(dataset.posts.values()),
        np.random.default_rng(3).normal(size=(42, DIM)).astype(np.float32),
    )
    student, beside = distil_recipe(recipe(), TABLE, dataset, tmp_path / "first", ignore)
    unseen = [pool.query.text for pool in dataset.split("dev")]
    assert nearness(random, teacher, unseen) < 0.5
    assert nearness(student, teacher, unseen) > 0.9
    assert dev_map(student, dataset) > dev_map(random, dataset) + 0.1
    tuned = fit(FineTuning(student, dataset, recipe(), tmp_path / "run", beside=beside)).ranker
    assert nearness(tuned, teacher, unseen) > 0.9  # the teacher beside the labels holds it there
    assert dev_map(tuned, dataset) >= dev_map(student, dataset)
    assert not isinstance(tuned.lexicon, TeacherLexicon)  # and it needs no teacher any more


def test_a_student_of_an_adapter_learns_the_adapters_space(teacher, tmp_path):
    dataset, folder = made(40), tmp_path / "adapter"
    words = np.zeros((2, 1), np.float32)
    adapter = Ranker.create("adapter", TeacherLexicon(teacher=teacher), words, {"dim": DIM})
    torch.nn.init.orthogonal_(adapter.model.bends[0].linear.weight)
    adapter.save(folder)
    table = {**TABLE, "teacher": str(folder)}
    student, beside = distil_recipe(recipe(), table, dataset, tmp_path / "first", ignore)
    texts = [pool.query.text for pool in dataset.split("dev")]
    np.testing.assert_allclose(beside.teacher.encode(texts), adapter.encode(texts), atol=1e-6)
    assert nearness(student, beside.teacher, texts) > 0.9
    assert nearness(student, teacher, texts) < 0.5


def test_a_two_sided_adapter_is_no_teacher(teacher, tmp_path):
    words = np.zeros((2, 1), np.float32)
    options = {"dim": DIM, "sides": 2}
    Ranker.create("adapter", TeacherLexicon(teacher=teacher), words, options).save(tmp_path)
    with pytest.raises(AskonceError, match=r"two sides .* model.sides = 1"):
        AdaptedTeacher(tmp_path)


@pytest.mark.parametrize(
    ("model", "options"), [("qa-cnn", {"filters": DIM}), ("rcnn", {"dim": DIM})]
)
def test_other_encoders_are_students_too(model, options, teacher, tmp_path):
    dataset = made(40)
    settings = recipe(model, **options)
    begin = distil_recipe(settings, {**TABLE, "epochs": 0}, dataset, tmp_path / "0", ignore)[0]
    student = distil_recipe(settings, TABLE, dataset, tmp_path / "1", ignore)[0]
    texts = [pool.query.text for pool in dataset.split("dev")]
    assert nearness(student, teacher, texts) > nearness(begin, teacher, texts) + 0.05


def test_an_encoder_of_another_length_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"'cosineqa' have 5 numbers, those of its teacher 8"):
        distil_recipe(recipe("cosineqa", dim=5), TABLE, made(), tmp_path, ignore)


def test_a_resumed_student_equals_one_that_was_not_stopped(tmp_path):
    class Stopped(Exception):
        pass

    def stop(event):
        if isinstance(event, Step) and event.epoch == 2 and event.done > 16:
            raise Stopped

    dataset, settings = made(20), recipe(dropout=0.2)
    table = {
        **TABLE,
        "options": {"dropout": 0.1},
        "epochs": 3,
        "adapter": {"options": {"hidden": 4}, "epochs": 1},
    }

    def both(folder, on_event=ignore):
        student, beside = distil_recipe(settings, table, dataset, folder / "first", on_event)
        learner = FineTuning(student, dataset, settings, folder / "run", beside=beside)
        return fit(learner, on_event)

    whole = both(tmp_path / "whole")
    with pytest.raises(Stopped):
        both(tmp_path / "stopped", stop)
    assert (tmp_path / "stopped" / "first" / "distil-checkpoint").is_dir()
    resumed = both(tmp_path / "stopped")
    for name in ("first", "run"):
        weights = [
            (tmp_path / run / name / "model.safetensors").read_bytes()
            for run in ("whole", "stopped")
        ]
        assert weights[0] == weights[1]
    assert resumed.progress.values == whole.progress.values


def test_the_start_is_the_mean_of_the_centred_vectors_of_a_words_texts(teacher):
    texts = ["brakes squeal", "wet brakes", "a chain jumps", "brakes brakes chain"]
    lexicon = Lexicon.build(Post(text, title=text) for text in texts)
    words = first_words(read_beside(lexicon, teacher, texts), lexicon.vocabulary)
    vectors = teacher.encode(texts)
    centred = vectors - vectors.mean(0)
    row = lexicon.vocabulary.words.index("brakes")
    np.testing.assert_allclose(words[row], centred[[0, 1, 3]].mean(0), atol=1e-6)
    assert not words[:2].any()


def test_a_student_that_starts_as_the_starter_has_its_vectors():
    texts = ["brake cables", "how to oil a bicycle chain", "zzqx"]
    lexicon = Lexicon.build([Post("p", text) for text in texts])
    starter = load_starter()
    words = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), starter.dim))
    ranker = Ranker.create("bag", lexicon, words.astype(np.float32), {"map": False})
    start_as(ranker, starter)
    ranker.model.eval().prepare()
    np.testing.assert_allclose(ranker.encode(texts[:2]), starter.encode(texts[:2]), atol=1e-5)
    assert np.linalg.norm(ranker.encode(texts[2:])) == pytest.approx(1)  # its own word
    small = Ranker.create("bag", lexicon, words[:, :8].astype(np.float32), {})
    with pytest.raises(ConfigError, match="384 numbers, the teacher of 8"):
        start_as(small, starter)


def test_texts_are_those_of_the_archive_and_of_training_questions():
    right = Post("a", body="Take the wheel off. Then oil it!\nno\n" + "x" * 500)
    pools = {
        name: [Pool(Post(name, title=f"a {name} question"), (right,), (1,))]
        for name in ("train", "dev", "test")
    }
    texts = texts_of(archive_posts(Dataset("made", pools)), 99)
    plain = [text.text if isinstance(text, Post) else text for text in texts]
    assert sorted(plain) == sorted(
        ["Take the wheel off.", "Then oil it!", right.text, "a train question"]
    )
    assert len(texts_of(archive_posts(Dataset("made", pools)), 2)) == 2
    assert sentences("Is it? It is.") == []


def test_a_recipe_with_a_distil_table_runs_all_stages(tmp_path):
    path = tmp_path / "student.toml"
    path.write_text(
        'model = "bag"\n[train]\nepochs = 2\n[distil]\nepochs = 1\nadapter = { epochs = 1 }\n'
    )
    before = read_before(path)
    summary = RecipeTraining(read_recipe(path), made()).run(tmp_path / "run", before)
    assert summary["model"] == "bag" and summary["figures"]["dev"]["bag"]["MAP"] > 0.3
    names = {path.name for path in (tmp_path / "run" / "distilled").iterdir()}
    assert names >= {"adapter", "distil.jsonl", "model.safetensors"}
    path.write_text(path.read_text() + "[pretrain]\n")
    with pytest.raises(ConfigError, match="not both"):
        read_before(path)


def test_a_bench_row_of_a_student_is_known_by_its_distil_table(tmp_path):
    path = tmp_path / "student.toml"
    path.write_text('model = "bag"\n[distil]\nepochs = 7\n')
    row = TrainedRow("student", path, ["distil.kl=0.5"], "made")
    assert row.settings(None, quick=False)["distil"] == {"epochs": 7, "kl": 0.5}
    assert row.settings(None, quick=True)["distil"] == {"epochs": 1, "kl": 0.5}
