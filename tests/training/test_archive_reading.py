"""A teacher that has too little time: what it reads first, and what is measured then."""

from types import SimpleNamespace

import pytest

from askonce.ranking.manifest import (
    TeacherReading,
    read_manifest,
)
from askonce.teachers import load_teacher
from askonce.training.archive import run as run_module
from askonce.training.archive.candidates import (
    teaching,
)
from askonce.training.archive.in_place import train_on_archive
from askonce.training.archive.preparing import TrainOptions
from askonce.training.archive.run import train_snapshot
from askonce.training.events import Phase, ignore
from tests.training.small_teaching import (
    TOPICS,
    forum,
    in_folder,
    no_text_twice,
    with_teacher,
)


@pytest.fixture
def teacher(monkeypatch, request):
    return with_teacher(monkeypatch, request.node.name)


@pytest.mark.slow
def test_a_teacher_that_had_no_time_reads_on_and_teaches_again(tmp_path, teacher, monkeypatch):
    archive = in_folder(tmp_path / "m.askonce", forum(noise=3))
    slow(monkeypatch, chunks=6)
    monkeypatch.setattr(run_module, "FIRST_SECONDS", 1e6)
    monkeypatch.setattr(run_module, "READ_SHARE", 5.5 / 1e6)
    read = []

    def look(event):
        if event == Phase("training adapter", "questions"):
            read.append(len(teacher.read))

    options = TrainOptions(tasks=("questions",), minutes=1e5)
    serving = train_on_archive(archive, options, look).manifest.questions
    assert read[0] == 6 * 16 < read[1]
    assert serving.teacher.read == serving.teacher.posts
    early = read_manifest(archive.folder / "models" / "0002").questions
    assert early.encoder and early.teacher.read < early.teacher.posts
    assert no_text_twice(teacher.read)


class Killed(Exception):
    pass


def test_a_training_that_was_stopped_knows_what_was_read(tmp_path, teacher, monkeypatch):
    archive = in_folder(tmp_path / "m.askonce", forum(noise=3))
    slow(monkeypatch, chunks=6)
    monkeypatch.setattr(run_module, "FIRST_SECONDS", 1e9)  # nothing is trained again

    def dies(event):
        if event == Phase("training adapter", "questions"):
            raise Killed

    options = TrainOptions(tasks=("questions",))
    with pytest.raises(Killed):
        train_on_archive(archive, options, dies)
    read = len(teacher.read)
    load_teacher("minilm").encode([post.text for post in archive.iterate("question")])
    serving = train_on_archive(archive, options, ignore).manifest.questions
    assert serving.teacher.read <= read < serving.teacher.posts


def test_posts_and_texts_for_the_student_are_read_in_turn(teacher, monkeypatch):
    slow(monkeypatch, chunks=1, size=4)
    texts = [f"sentence number {n}" for n in range(3)]
    cached = load_teacher("minilm")
    order = teaching.reading_order({}, forum(), ["questions"], texts)
    teaching.read_archive(cached, order, 1.0, ignore)
    assert set(teacher.read) == {"how topic0", texts[0], "how xtopic0", texts[1]}


def slow(monkeypatch, chunks, size=16):
    """A clock by which the teacher reads this many chunks of texts in its time."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(teaching, "READ_TOGETHER", size)
    monkeypatch.setattr(teaching, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    monkeypatch.setattr(run_module, "READ_SHARE", chunks / 600)  # of ten minutes


def test_what_fits_the_time_is_read_and_all_systems_are_measured_on_it(
    tmp_path, teacher, monkeypatch
):
    snapshot = forum()
    slow(monkeypatch, chunks=4)
    trained = train_snapshot(snapshot, tmp_path, TrainOptions(tasks=("questions",)), ignore)
    reading = trained.manifest.questions.teacher
    least = 24  # texts of dev and test
    assert len(teacher.read) == least + 4 * 16
    assert reading.tried
    assert reading.read == least + 4 * 16 < reading.posts == 2 * TOPICS
    serving = trained.manifest.questions
    figures = serving.figures["dev"]
    assert {"vectors", "bm25"} <= figures.keys()
    assert serving.fast is not None  # of all posts until the teacher has read them
    assert figures["fused of all posts"]["MAP"] >= figures["bm25 of all posts"]["MAP"]
    assert figures["bm25 of all posts"]["MAP"] <= figures["bm25"]["MAP"]
    assert serving.unread_weights["bm25"] > 0
    held_out = {f"how topic{n}" for n in range(50, TOPICS)}  # the newest
    assert held_out <= set(teacher.read)
    assert no_text_twice(teacher.read)


def test_systems_are_compared_by_the_questions_that_were_read(tmp_path, teacher, monkeypatch):
    slow(monkeypatch, chunks=2)
    monkeypatch.setattr(teaching, "COMPARED", 3)
    monkeypatch.setattr(teaching, "MIN_COMPARED", 3)
    options = TrainOptions(tasks=("questions",))
    serving = train_snapshot(forum(), tmp_path, options, ignore).manifest.questions
    assert serving.teacher.tried
    assert all(3 <= serving.queries[split] < 12 for split in ("dev", "test"))
    assert "vectors" in serving.figures["dev"]


def test_a_teacher_is_compared_although_its_share_of_the_time_is_over(
    tmp_path, teacher, monkeypatch
):
    slow(monkeypatch, chunks=0, size=4)
    options = TrainOptions(tasks=("questions",))
    serving = train_snapshot(forum(), tmp_path, options, ignore).manifest.questions
    assert serving.teacher.tried and serving.teacher.read < serving.teacher.posts
    assert "vectors" in serving.figures["dev"]


def test_a_teacher_without_time_is_named_as_not_tried(tmp_path, teacher, monkeypatch):
    slow(monkeypatch, chunks=0, size=2)
    options = TrainOptions(tasks=("questions",), minutes=1 / 60)
    serving = train_snapshot(forum(), tmp_path, options, ignore).manifest.questions
    assert serving.teacher == TeacherReading("minilm", 4, 2 * TOPICS, tried=False)
    assert serving.encoder in (None, "sentence:starter")  # whose space is not this teacher's
    assert not any("minilm" in name or "adapter" in name for name in serving.figures["dev"])
    assert len(teacher.read) == 4
