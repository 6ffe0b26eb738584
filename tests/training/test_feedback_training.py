"""Feedback teaches: fifty marks of visitors change what serves, fifty of one visitor do not."""

import pytest

from askonce.archive import Archive
from askonce.engine import Engine
from askonce.training.archive.in_place import train_on_archive
from askonce.training.archive.preparing import TrainOptions
from askonce.training.archive.tasks.labels import FEEDBACK_WEIGHT, ArchiveLabels
from askonce.training.archive.tasks.pools import draw_pools, question_task
from askonce.training.events import ignore
from tests.training.visited_forum import NEW, OLD, marks, posts

OPTIONS = TrainOptions(encoder="bag", tasks=("questions",))


@pytest.fixture
def archive(tmp_path):
    archive = Archive.open(tmp_path / "visited.askonce", create=True)
    archive.write(posts())
    yield archive
    archive.close()


def give(archive, given):
    for mark in given:
        archive.feedback.add(mark)


def first(archive, words):
    with Engine.open(archive.folder) as engine:
        return [hit.title for hit in engine.similar(words, 4)]


def test_fifty_marks_change_what_serves(archive):
    assert first(archive, f"a {NEW[3]} again") == []
    give(archive, marks(lambda n: f"visitor {n}"))
    serving = train_on_archive(archive, OPTIONS, ignore).manifest.questions
    assert serving.labels == "duplicates"
    assert serving.encoder == "questions/encoder"
    assert serving.calibration is None  # unmarked questions are as close as marked ones
    for new, old in zip(NEW[::4], OLD[::4], strict=True):
        assert all(old in title for title in first(archive, f"a {new} again")), new


def test_fifty_marks_of_one_vandal_change_nothing(archive):
    before = train_on_archive(archive, OPTIONS, ignore).manifest.questions
    give(archive, marks(lambda n: "vandal", shift=1))
    after = train_on_archive(archive, OPTIONS, ignore).manifest.questions
    assert (after.weights, after.encoder, after.figures) == (
        before.weights,
        before.encoder,
        before.figures,
    )
    assert first(archive, f"a {NEW[3]} again") == []


def test_marks_are_labels_with_a_weight_of_their_own_in_the_split_of_their_post(archive):
    give(archive, marks(lambda n: f"visitor {n}"))
    given = {mark.question: mark.post for mark in archive.feedback.all()}
    task = draw_pools(question_task(ArchiveLabels.of(archive.snapshot())))
    sizes = {split: len(queries) for split, queries in task.queries.items()}
    assert sum(sizes.values()) == 50
    assert min(sizes.values()) >= 4
    for split, pools in task.dataset.splits.items():
        existing = {post.id for post in task.posts[: task.seen[split]]}
        for pool in pools:
            assert pool.weight == FEEDBACK_WEIGHT * 0.5  # one visitor of the two for full weight
            assert {post.id for post in pool.positives} == {given[pool.query.text]}
            assert {post.id for post in pool.candidates} <= existing


def test_a_training_that_was_stopped_resumes_with_its_feedback(archive, monkeypatch):
    from askonce.training.archive import in_place

    give(archive, marks(lambda n: f"visitor {n}"))
    seen = []

    def train(snapshot, *rest):
        seen.append(snapshot.weighted_labels)
        raise KeyboardInterrupt

    monkeypatch.setattr(in_place, "prepare", train)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train_on_archive(archive, OPTIONS, ignore)
        archive.feedback.remove("visitor 0", "my crunchbox is broken, part 0", "q0")
    assert len(seen[0]) == 50
    assert seen[0] == seen[1]
