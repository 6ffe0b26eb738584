"""A teacher on an archive: read once, compared on dev, adapted, and taken over by the engine."""

import shutil
import zlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

from askonce.archive import Archive, Snapshot
from askonce.engine import Engine
from askonce.engine.duplicates import find_duplicates
from askonce.key_encoders import SentenceKeys
from askonce.ranker import Ranker
from askonce.ranking.calibration import SHARED, Calibration
from askonce.ranking.manifest import (
    Manifest,
    Serving,
    TeacherReading,
    current,
    new_folder,
    read_manifest,
    write_manifest,
)
from askonce.ranking.stages import BM25, VECTORS
from askonce.teachers.lexicon import TeacherLexicon
from askonce.training import averaging, fine_tuning
from askonce.training.archive import preparing
from askonce.training.archive.candidates import (
    task_training,
    teaching,
)
from askonce.training.archive.in_place import train_on_archive
from askonce.training.archive.preparing import TrainOptions, first_servings, prepare
from askonce.training.archive.run import Trained, train_snapshot
from askonce.training.archive.selection.calibrate import prior
from askonce.training.events import Event, Phase, Reading, ignore
from askonce.types import Post
from tests.training.small_teaching import (
    DIM,
    TOPICS,
    Synonyms,
    forum,
    in_folder,
    no_text_twice,
    set_seeds,
    with_teacher,
)

SEEDS = task_training.ADAPTER_SEEDS


@pytest.fixture
def teacher(monkeypatch, request):
    return with_teacher(monkeypatch, request.node.name)


class Lesson(NamedTuple):
    """An archive that was trained once, for all tests that look at it."""

    folder: Path
    trained: Trained
    read: list[str]  # by the teacher, in training
    events: list[Event]
    served: dict[str, Serving | None]  # for questions, when each phase began


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    """Trains on a forum with so much noise, once."""

    @cache
    def train(noise):
        folder = tmp_path_factory.mktemp("lesson") / "m.askonce"
        archive = in_folder(folder, forum(noise))
        with pytest.MonkeyPatch.context() as monkeypatch:
            teacher = with_teacher(monkeypatch, f"lesson {noise}")
            events, served, trained = observed(archive)
        archive.close()
        return Lesson(folder, trained, teacher.read, events, served)

    return train


def observed(archive):
    """Train; all events, the Serving of questions when each phase began, and what was trained."""
    events, served = [], {}

    def look(event):
        events.append(event)
        if isinstance(event, Phase):
            folder = current(archive.folder)
            served[event.text] = read_manifest(folder).questions if folder else None

    trained = train_on_archive(archive, TrainOptions(tasks=("questions",)), look)
    return events, served, trained


def test_a_teacher_serves_and_nothing_is_read_twice(lesson, monkeypatch):
    folder, trained, read, events, _ = lesson(noise=0)
    teacher = with_teacher(monkeypatch, "lesson 0")
    serving = trained.manifest.questions
    assert serving.encoder == "sentence:minilm"
    assert serving.teacher == TeacherReading("minilm", 2 * TOPICS, 2 * TOPICS)
    assert serving.figures["dev"]["vectors"]["MAP"] > 0.9 > serving.figures["dev"]["bm25"]["MAP"]
    assert {"vectors adapter", "fused adapter", "vectors cosineqa"} <= serving.figures["dev"].keys()
    assert read_manifest(trained.folder) == trained.manifest
    assert any(isinstance(event, Reading) for event in events)
    with Engine.open(folder) as engine:
        hits = engine.similar("how topic7")
        assert hits[0].id == "q7" and [each.id for each in hits[0].folded] == ["q7x"]
    assert not teacher.read
    assert no_text_twice(read)


def test_an_adapter_serves_where_dev_can_tell_it_from_its_teacher(lesson, monkeypatch):
    folder, trained, read, *_ = lesson(noise=3)
    teacher = with_teacher(monkeypatch, "lesson 3")
    serving = trained.manifest
    assert serving.questions.encoder == "questions/adapter"
    for split in ("dev", "test"):
        figures = serving.questions.figures[split]
        assert figures["fused"]["MAP"] > figures["fused minilm"]["MAP"] + 0.1
    assert serving.questions.history
    with Engine.open(folder) as engine:
        engine.similar(engine.archive.post("q3").title)
        assert not teacher.read
        engine.similar("topic3 in words that nobody has used")
        assert len(teacher.read) == 1
    assert no_text_twice(read, teacher.read)


def test_answers_are_tried_with_one_side_and_two(tmp_path, teacher):
    plain = forum()
    answers = {
        f"a{n}": Post(
            f"a{n}", body=f"xtopic{n} oiled", kind="answer", parent=f"q{n}", accepted=True
        )
        for n in range(TOPICS)
    }
    snapshot = Snapshot("made", plain.questions, answers, plain.links)
    manifest = train_snapshot(snapshot, tmp_path, TrainOptions(), ignore).manifest
    assert {"vectors adapter", "vectors adapter-2"} <= manifest.answers.figures["dev"].keys()
    questions = manifest.questions.figures["dev"].keys()
    assert "vectors adapter of answers" in questions
    assert "vectors adapter-2 of answers" not in questions  # questions have one side
    assert no_text_twice(teacher.read)


@pytest.mark.slow
def test_an_adapter_is_the_mean_of_several_trainings(tmp_path, teacher, monkeypatch):
    trained = {}

    def look(learner, *given):
        outcome = fine_tuning.fit(learner, *given)
        weights = outcome.ranker.model.state_dict()
        trained[learner.folder.name] = {key: value.clone() for key, value in weights.items()}
        return outcome

    monkeypatch.setattr(averaging, "fit", look)
    set_seeds(monkeypatch, SEEDS)
    options = TrainOptions(tasks=("questions",))
    manifest = train_snapshot(forum(noise=3), tmp_path, options, ignore).manifest
    assert manifest.questions.encoder == "questions/adapter"
    assert list(trained) == [f"adapter-seed-{seed}" for seed in (1, 2, 3)]
    served = Ranker.load(tmp_path / "questions/adapter").model.state_dict()
    for key, value in served.items():
        seeds = torch.stack([weights[key] for weights in trained.values()])
        assert not torch.equal(seeds[0], seeds[1])
        torch.testing.assert_close(value, seeds.mean(0))


def test_a_student_shares_the_space_and_the_index_of_the_adapter(lesson, monkeypatch):
    folder, trained, *_ = lesson(noise=3)
    teacher = with_teacher(monkeypatch, "lesson 3")
    serving = trained.manifest.questions
    assert serving.encoder == "questions/adapter"
    assert serving.fast == "questions/student"
    assert {"vectors student", "while typing"} <= serving.figures["dev"].keys()
    assert read_manifest(trained.folder).questions.fast == serving.fast
    folders = {path.name for path in trained.folder.rglob("*") if path.is_dir()}
    assert folders - {"pair"} == {"questions", "adapter", "student"}  # and no checkpoints
    student = Ranker.load(trained.folder / serving.fast)
    adapter = Ranker.load(trained.folder / serving.encoder)
    texts = [post.text for post in forum(noise=3).questions.values()]
    own, others = adapter.encode(texts), adapter.encode(texts[::-1])
    near, far = ((student.encode(texts) * keys).sum(1).mean() for keys in (own, others))
    assert near > far + 0.1
    with Engine.open(folder) as engine:
        assert engine.status().read == 1  # training has read everything
        engine.suggest("topic3 in words that nobody has used")
    assert not teacher.read


def test_a_teacher_that_read_no_training_labels_has_a_student(tmp_path, teacher, monkeypatch):
    def none(self, dataset):
        return replace(dataset, splits={**dataset.splits, dataset.train: ()})

    monkeypatch.setattr(teaching.ArchiveTeacher, "pools", none)
    serving = train_snapshot(
        forum(), tmp_path, TrainOptions(tasks=("questions",)), ignore
    ).manifest.questions
    assert (serving.encoder, serving.fast) == ("sentence:minilm", "student")
    assert "while typing" in serving.figures["dev"]
    assert Ranker.load(tmp_path / serving.fast).name == "bag"


def test_a_student_without_labels(tmp_path, teacher):
    archive = in_folder(tmp_path / "m.askonce", forum(marks=0))
    trained = train_on_archive(archive, TrainOptions(), ignore)
    assert trained.manifest.questions.fast == "student"
    assert Ranker.load(trained.folder / "student").name == "bag"
    archive.close()
    read = len(teacher.read)
    with Engine.open(tmp_path / "m.askonce") as engine:
        assert engine.suggest("how do I topic7")
    assert len(teacher.read) == read


def test_the_starter_serves_while_the_first_training_runs(tmp_path, teacher):
    archive = in_folder(tmp_path / "m.askonce", forum(marks=0))
    served = []

    def look(event):
        folder = current(archive.folder)
        served.append(read_manifest(folder).questions.encoder if folder else None)

    options = TrainOptions(tasks=("questions",))
    assert train_on_archive(archive, options, look).manifest.questions.encoder == "sentence:minilm"
    assert list(dict.fromkeys(served)) == [None, "sentence:starter", "sentence:minilm"]
    served.clear()
    train_on_archive(archive, options, look)
    assert set(served) == {"sentence:minilm"}  # what was trained is not replaced


def test_the_first_student_serves_before_other_encoders_are_tried(lesson, monkeypatch, tmp_path):
    folder, trained, *_, served = lesson(noise=3)
    with_teacher(monkeypatch, "lesson 3")
    assert served["training the student"].encoder in (None, "sentence:starter")
    early = served["learning words"]
    assert (early.encoder, early.fast) == ("questions/adapter", "questions/student")
    assert early.figures["dev"].keys() < trained.manifest.questions.figures["dev"].keys()
    first = folder / "models" / "0002"
    assert Ranker.load(first / early.fast).name == "bag"
    assert not list(first.rglob("*checkpoint*"))
    assert {path.name for path in trained.folder.iterdir()} == {"manifest.json", "questions"}
    archive = Archive.open(shutil.copytree(folder, tmp_path / "m.askonce"))
    *_, trained = observed(archive)
    assert trained.folder.name == "0004"  # nothing was published meanwhile


@pytest.mark.parametrize("harmful", [False, True])
def test_the_starter_serves_first_unless_it_does_harm(teacher, monkeypatch, harmful):
    words, snapshot = Synonyms(salt=1), forum()
    if harmful:  # BM25 knows everything, and the vectors of texts say nothing
        monkeypatch.setattr(
            words,
            "_sum",
            lambda text: np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIM),
        )
        known = {
            name: replace(post, title=post.title.replace("how x", "please "))
            for name, post in snapshot.questions.items()
        }
        snapshot = replace(snapshot, questions=known)
    monkeypatch.setattr(preparing, "SentenceKeys", lambda name: SentenceKeys(words))
    prepared = prepare(snapshot, TrainOptions(tasks=("questions",)), ignore)
    serving = first_servings(prepared)["questions"]
    assert serving.encoder == (None if harmful else "sentence:starter")
    assert serving.weights.keys() == ({BM25} if harmful else serving.weights.keys() | {VECTORS})


def test_a_teacher_serves_an_archive_without_labels(tmp_path, teacher):
    archive = in_folder(tmp_path / "m.askonce", forum(marks=0))
    trained = train_on_archive(archive, TrainOptions(), ignore)
    assert "nothing to learn from" in trained.missing["questions"]
    serving = trained.manifest.questions
    assert serving.encoder == "sentence:minilm"
    assert serving.weights.keys() == {BM25, VECTORS}
    assert serving.labels == ""
    archive.close()
    read = len(teacher.read)
    assert read == 2 * TOPICS
    with Engine.open(tmp_path / "m.askonce") as engine:
        hits = engine.similar("how topic7")
        assert {hit.id for hit in hits[:2]} == {"q7", "q7x"}
        assert hits[0].duplicate_probability > 0.9 > hits[5].duplicate_probability
    assert len(teacher.read) == read


def test_the_starter_serves_where_there_is_no_teacher(tmp_path, teacher, monkeypatch):
    monkeypatch.setattr(preparing, "default_teacher", lambda: None)
    options = TrainOptions(tasks=("questions",))
    none = train_snapshot(forum(marks=0), tmp_path / "none", options, ignore).manifest.questions
    assert none.encoder == "sentence:starter" and none.teacher is None
    marked = train_snapshot(forum(), tmp_path / "marked", options, ignore).manifest.questions
    tried = marked.encoder == "sentence:starter" or "fused starter" in marked.figures["dev"]
    assert tried and "fused minilm" not in marked.figures["dev"]
    assert not teacher.read


@pytest.mark.parametrize("bm25", [0.0, 0.2])
def test_duplicates_by_vectors_have_the_probability_that_is_shown(tmp_path, teacher, bm25):
    archive = in_folder(tmp_path / "m.askonce", forum(marks=20))
    folder = new_folder(archive.folder)
    calibration = Calibration(-28.0, {BM25: bm25, VECTORS: 30.0, SHARED: 1.0})
    weights = {BM25: 1.0, VECTORS: 1.0}
    serving = Serving("sentence:minilm", weights=weights, calibration=calibration)
    write_manifest(folder, Manifest("2020-01-01", questions=serving))
    archive.close()
    with Engine.open(tmp_path / "m.askonce") as engine:
        read = len(teacher.read)
        pairs = list(find_duplicates(engine, engine.archive.iterate("question"), 0.5))
        assert len(pairs) == 2 * TOPICS and len(teacher.read) == read
        by_ids = {(pair.question.id, pair.other.id): pair for pair in pairs if pair}
        # those that nobody has marked, the newer one of each pair
        assert by_ids.keys() == {(f"q{n}x", f"q{n}") for n in range(20, TOPICS)}
        for pair in by_ids.values():
            hits = {hit.id: hit for hit in engine.similar(pair.question.text)}
            shown = hits[pair.other.id].duplicate_probability
            assert pair.confidence == pytest.approx(shown, abs=1e-6) and pair.calibrated


def test_a_named_teacher_is_the_only_encoder(tmp_path, teacher):
    options = TrainOptions(encoder="some/teacher", tasks=("questions",))
    serving = train_snapshot(forum(), tmp_path, options, ignore).manifest.questions
    assert serving.encoder == "sentence:some/teacher"
    assert "vectors cosineqa" not in serving.figures["dev"]
    assert "vectors adapter" in serving.figures["dev"]


@pytest.mark.parametrize(("marks", "fitted"), [(40, False), (TOPICS, True)])
@pytest.mark.slow
def test_few_marks_leave_the_prior(tmp_path, teacher, lesson, marks, fitted):
    options = TrainOptions(tasks=("questions",))
    serving = (
        lesson(noise=0).trained
        if marks == TOPICS
        else train_snapshot(forum(marks=marks), tmp_path, options, ignore)
    ).manifest.questions
    assert serving.labels == "duplicates"
    assert (serving.calibration != prior("minilm")) == fitted
    assert "Brier" in serving.figures["probability"]["test"]


def test_sizes_and_intervals_of_every_system(lesson):
    serving = lesson(noise=0).trained.manifest.questions
    for split in ("dev", "test"):
        assert serving.queries[split] > 1
        assert serving.intervals[split].keys() == serving.figures[split].keys()
        for system, (low, high) in serving.intervals[split].items():
            assert low <= serving.figures[split][system]["MAP"] + 1e-4
            assert high >= serving.figures[split][system]["MAP"] - 1e-4


def test_keys_of_an_untrained_adapter_are_those_of_its_teacher(teacher):
    keys = SentenceKeys("minilm")
    lexicon = TeacherLexicon(teacher=keys.teacher)
    adapter = Ranker.create("adapter", lexicon, np.zeros((2, 1), np.float32), {"dim": DIM})
    texts = ["topic1 noise", "xtopic1"]
    np.testing.assert_allclose(adapter.encode(texts), keys.query_keys(texts), atol=1e-6)
