"""From an archive to models in service."""

import json

import numpy as np
import pytest

from askonce.archive import Archive, Snapshot
from askonce.archive.open import open_archive
from askonce.errors import AskonceError, ConfigError
from askonce.index.base import KeyEncoder
from askonce.ranker import Ranker
from askonce.ranking.manifest import Serving, current, read_manifest
from askonce.ranking.stages import DEPTH
from askonce.training.archive.candidates import recipes as archive_recipes
from askonce.training.archive.in_place import train_on_archive
from askonce.training.archive.preparing import TrainOptions
from askonce.training.archive.run import train_snapshot
from askonce.training.archive.selection.held_out import EncodedPosts, HeldOut
from askonce.training.archive.tasks.labels import ArchiveLabels, LabelledQuery
from askonce.training.archive.tasks.pools import answer_task, draw_pools, question_task
from askonce.training.events import Note, Phase, Step, ignore
from askonce.types import Post

QUICK = TrainOptions(encoder="hyperqa")
ANSWERS = TrainOptions(encoder="hyperqa", tasks=("answers",))


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Two epochs of small models, whatever the machine is busy with."""
    for recipe in (*archive_recipes.ENCODERS.values(), archive_recipes.PAIR):
        monkeypatch.setitem(recipe["train"], "epochs", 2)
    monkeypatch.setitem(archive_recipes.PAIR["model"], "dim", 10)


@pytest.fixture(scope="module")
def bicycles():
    return open_archive("bicycles").snapshot()


@pytest.fixture(scope="module")
def few(bicycles):
    """Forty questions and what was answered, so that a training takes a second."""
    questions = dict(list(bicycles.questions.items())[:40])
    answers = {name: post for name, post in bicycles.answers.items() if post.parent in questions}
    return Snapshot("few", questions, answers)


def in_folder(folder, snapshot):
    archive = Archive.open(folder, create=True)
    archive.write([*snapshot.questions.values(), *snapshot.answers.values()], snapshot.links)
    return archive


# -- from end to end -------------------------------------------------------------------------------


def test_an_archive_gets_models_in_service(tmp_path, bicycles):
    archive = in_folder(tmp_path / "b.askonce", bicycles)
    trained = train_on_archive(archive, QUICK, ignore)
    assert current(archive.folder) == trained.folder == archive.folder / "models" / "0001"
    manifest = read_manifest(trained.folder)
    assert manifest == trained.manifest
    assert manifest.change == archive.change
    assert trained.missing == {}
    for name, labels in (("questions", "duplicates"), ("answers", "answers")):
        serving = getattr(manifest, name)
        assert serving.labels == labels
        assert {"bm25", "vectors", "pair", "fused"} <= serving.figures["dev"].keys()
        assert serving.figures["dev"].keys() == serving.figures["test"].keys()
        dev = serving.figures["dev"]
        assert dev["fused"]["MAP"] >= dev["bm25"]["MAP"]
        epochs = [record["epoch"] for record in serving.history]
        there = {path.name for path in (trained.folder / name).glob("*")}
        assert epochs[:2] == ([1, 2] if there else [])  # of the models that serve
        assert there == {
            folder.split("/")[1] for folder in (serving.encoder, serving.pair) if folder
        }
        for folder in there:
            Ranker.load(trained.folder / name / folder)
    assert 0 < manifest.questions.calibration.probability({"bm25": 9.0, "vectors": 1.0}) < 1
    assert manifest.questions.figures["probability"]["test"]["Brier"] < 0.25
    assert not (archive.folder / "models" / ".training").exists()


def test_the_next_training_takes_over_and_old_ones_go(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)
    for number in (1, 2, 3):
        trained = train_on_archive(archive, ANSWERS, ignore)
        assert trained.folder.name == f"{number:04d}"
        assert trained.manifest.questions is None
    names = {path.name for path in (archive.folder / "models").iterdir()}
    assert names == {"0002", "0003", "current", ".training.lock"}


class Killed(Exception):
    pass


def test_a_stopped_training_goes_on_with_the_posts_it_began_with(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)
    events = []

    def dies_in_the_pair_model(event):
        events.append(event)
        if isinstance(event, Step) and Phase("training compare-aggregate", "answers") in events:
            raise Killed

    with pytest.raises(Killed):
        train_on_archive(archive, ANSWERS, dies_in_the_pair_model)
    assert current(archive.folder) is None
    began = archive.change
    archive.write([Post("new", "A question that came while nothing was trained")])
    assert archive.change > began

    events.clear()
    trained = train_on_archive(archive, ANSWERS, events.append)
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any("resuming" in note for note in notes)
    assert trained.manifest.change == began
    other = in_folder(tmp_path / "c.askonce", few)
    whole = train_on_archive(other, ANSWERS, ignore).manifest.answers
    resumed = trained.manifest.answers
    assert resumed.weights == whole.weights
    assert resumed.figures == whole.figures
    assert [r["loss"] for r in resumed.history] == [r["loss"] for r in whole.history]


def test_other_options_start_anew(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)

    def dies(event):
        raise Killed

    with pytest.raises(Killed):
        train_on_archive(archive, ANSWERS, dies)
    begun = json.loads((archive.folder / "models" / ".training" / "begun.json").read_text())
    assert begun["change"] == archive.change
    archive.write([Post("new", "A question that came while nothing was trained")])
    other = TrainOptions(encoder="cosineqa", tasks=("answers",), minutes=0.0001)
    assert train_on_archive(archive, other, ignore).manifest.change == archive.change


def test_two_trainings_of_one_archive_are_refused(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)

    def again(event):
        train_on_archive(archive, QUICK, ignore)

    with pytest.raises(AskonceError, match="another training"):
        train_on_archive(archive, QUICK, again)


def test_an_archive_in_memory_trains_into_a_folder(tmp_path, few):
    archive = Archive.in_memory("few")
    archive.write([*few.questions.values(), *few.answers.values()])
    trained = train_on_archive(archive, ANSWERS, ignore, tmp_path / "run")
    assert trained.folder == tmp_path / "run"
    assert read_manifest(tmp_path / "run") == trained.manifest
    assert not (tmp_path / "run" / "words").exists()


def test_nothing_to_learn_from(tmp_path):
    archive = Archive.in_memory("small")
    archive.write([Post("q1", "one question"), Post("q2", "another question")])
    with pytest.raises(AskonceError, match="nothing to learn from"):
        train_snapshot(archive.snapshot(), tmp_path, QUICK, ignore)


def test_no_minutes():
    with pytest.raises(ConfigError, match="minutes = 0"):
        TrainOptions(minutes=0)


# -- what an engine would find ---------------------------------------------------------------------


class Letters(KeyEncoder):
    """Keys that count letters."""

    name = "letters"

    def query_keys(self, texts):
        return np.array([[text.count(c) for c in "abcdefgh"] for text in texts], dtype=np.float32)

    def candidate_keys(self, posts):
        return self.query_keys([post.text for post in posts])


def test_search_finds_what_was_there_then_and_never_the_question_itself(bicycles):
    task = question_task(ArchiveLabels.of(bicycles))
    split = HeldOut.of(task, "dev")
    serving = Serving(weights={"bm25": 1.0, "vectors": 1.0})
    pipeline = split.pipeline(
        serving, EncodedPosts("letters", "", Letters(), Letters().candidate_keys(task.posts))
    )
    there = {post.id for post in task.posts[: task.seen["dev"]]}
    later = {post.id for post in task.posts[task.seen["dev"] :]}
    assert later
    for labelled, actual in zip(
        task.queries["dev"], split.find(pipeline, split.queries), strict=True
    ):
        ids = set(actual.ids)
        assert DEPTH <= len(ids) <= 2 * DEPTH
        assert ids <= there
        assert labelled.query.id not in ids
        assert not ids & labelled.unjudged
        keys = Letters().query_keys([labelled.query.text])[0]
        posts = [split.by_id[name] for name in actual.ids]
        expected = [Letters().candidate_keys([post])[0] @ keys for post in posts]
        assert actual.stages["vectors"].tolist() == expected
        best = split.lexical.search(labelled.query.text, 5)
        known = dict(zip(actual.ids, actual.stages["bm25"], strict=True))
        for hit in best:
            assert hit.id not in known or known[hit.id] == pytest.approx(hit.score, rel=1e-5)


def test_asked_are_new_questions(bicycles):
    task = question_task(ArchiveLabels.of(bicycles))
    for split in ("dev", "test"):
        marked = [example.query.id for example in task.asked[split] if example.right]
        others = [example.query.id for example in task.asked[split] if not example.right]
        assert marked
        assert all(bicycles.duplicate_of(name) for name in marked)
        assert others
        linked = {
            end
            for link in bicycles.links
            for end in (link.source, link.target)
            if link.kind == "duplicate"
        }
        assert not linked & set(others)
    assert not any(answer_task(ArchiveLabels.of(bicycles)).asked.values())


def test_examples_are_of_their_query(bicycles):
    task = draw_pools(answer_task(ArchiveLabels.of(bicycles)))
    assert all(isinstance(example, LabelledQuery) for example in task.queries["dev"])
    queries = [pool.query.id for pool in task.dataset.split("dev")]
    assert queries == [example.query.id for example in task.queries["dev"]]
