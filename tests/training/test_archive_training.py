"""From an archive to models in service."""

import json
import time

import numpy as np
import pytest

from askonce.archive import Archive, Snapshot
from askonce.archive.open import open_archive
from askonce.errors import AskonceError, ConfigError
from askonce.ranker import Ranker
from askonce.serving.manifest import current, read_manifest
from askonce.training import archive_recipes
from askonce.training.archive_choice import (
    Join,
    alone,
    average_precision,
    choose_pair,
    choose_vectors,
    figures,
    gains,
)
from askonce.training.archive_clock import Clock
from askonce.training.archive_in_place import train_on_archive
from askonce.training.archive_labels import Example
from askonce.training.archive_pools import answer_task, question_task
from askonce.training.archive_progress import shown
from askonce.training.archive_run import Wishes, train_snapshot
from askonce.training.archive_search import CANDIDATES, ArchiveSearch, Found, Vectors
from askonce.types import Pool, Post

QUICK = Wishes(encoder="hyperqa")
ANSWERS = Wishes(encoder="hyperqa", tasks=("answers",))


def silent(kind, figures):
    pass


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
    trained = train_on_archive(archive, QUICK, silent)
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
        assert [record["epoch"] for record in serving.history][:2] == [1, 2]
        there = {path.name for path in (trained.folder / name).glob("*")}
        assert there == {place.split("/")[1] for place in (serving.encoder, serving.pair) if place}
        for place in there:
            Ranker.load(trained.folder / name / place)
    assert 0 < manifest.questions.calibration.probability({"bm25": 9.0, "vectors": 1.0}) < 1
    assert manifest.questions.figures["probability"]["test"]["Brier"] < 0.25
    assert not (archive.folder / "models" / ".training").exists()


def test_the_next_training_takes_over_and_old_ones_go(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)
    for number in (1, 2, 3):
        trained = train_on_archive(archive, ANSWERS, silent)
        assert trained.folder.name == f"{number:04d}"
        assert trained.manifest.questions is None
    names = {path.name for path in (archive.folder / "models").iterdir()}
    assert names == {"0002", "0003", "current", ".training.lock"}


class Killed(Exception):
    pass


def test_a_stopped_training_goes_on_with_the_posts_it_began_with(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)
    told = []

    def dies_in_the_pair_model(kind, record):
        told.append((kind, record))
        if kind == "step" and ("text", {"text": "answers: training compare-aggregate"}) in told:
            raise Killed

    with pytest.raises(Killed):
        train_on_archive(archive, ANSWERS, dies_in_the_pair_model)
    assert current(archive.folder) is None
    began = archive.change
    archive.write([Post("new", "A question that came while nothing was trained")])
    assert archive.change > began

    told.clear()
    trained = train_on_archive(archive, ANSWERS, lambda kind, record: told.append((kind, record)))
    notes = [record["text"] for kind, record in told if kind == "note"]
    assert any("going on" in note for note in notes)
    assert trained.manifest.change == began
    other = in_folder(tmp_path / "c.askonce", few)
    whole = train_on_archive(other, ANSWERS, silent).manifest.answers
    resumed = trained.manifest.answers
    assert resumed.weights == whole.weights
    assert resumed.figures == whole.figures
    assert [r["loss"] for r in resumed.history] == [r["loss"] for r in whole.history]


def test_other_wishes_start_anew(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)

    def dies(kind, record):
        raise Killed

    with pytest.raises(Killed):
        train_on_archive(archive, ANSWERS, dies)
    begun = json.loads((archive.folder / "models" / ".training" / "begun.json").read_text())
    assert begun["change"] == archive.change
    archive.write([Post("new", "A question that came while nothing was trained")])
    other = Wishes(encoder="cosineqa", tasks=("answers",), minutes=0.0001)
    assert train_on_archive(archive, other, silent).manifest.change == archive.change


def test_two_trainings_of_one_archive_are_refused(tmp_path, few):
    archive = in_folder(tmp_path / "b.askonce", few)

    def again(kind, record):
        train_on_archive(archive, QUICK, silent)

    with pytest.raises(AskonceError, match="another training"):
        train_on_archive(archive, QUICK, again)


def test_an_archive_in_memory_trains_into_a_folder(tmp_path, few):
    archive = Archive.in_memory("few")
    archive.write([*few.questions.values(), *few.answers.values()])
    trained = train_on_archive(archive, ANSWERS, silent, tmp_path / "run")
    assert trained.folder == tmp_path / "run"
    assert read_manifest(tmp_path / "run") == trained.manifest
    assert not (tmp_path / "run" / "words").exists()


def test_nothing_to_learn_from(tmp_path):
    archive = Archive.in_memory("small")
    archive.write([Post("q1", "one question"), Post("q2", "another question")])
    with pytest.raises(AskonceError, match="nothing to learn from"):
        train_snapshot(archive.snapshot(), tmp_path, Wishes(), silent)


def test_no_minutes():
    with pytest.raises(ConfigError, match="minutes = 0"):
        Wishes(minutes=0)


# -- what an engine would find ---------------------------------------------------------------------


class Letters:
    """Keys that count letters."""

    name = "letters"

    def query_keys(self, texts):
        return np.array([[text.count(c) for c in "abcdefgh"] for text in texts], dtype=np.float32)

    def candidate_keys(self, posts):
        return self.query_keys([post.text for post in posts])


def test_search_finds_what_was_there_then_and_never_the_question_itself(bicycles):
    task = question_task(bicycles)
    vectors = Vectors(Letters(), task.posts)
    search = ArchiveSearch(task, "dev")
    there = {post.id for post in task.posts[: task.seen["dev"]]}
    later = {post.id for post in task.posts[task.seen["dev"] :]}
    assert later
    for example, found in zip(
        task.examples["dev"], search.find(task.examples["dev"], vectors), strict=True
    ):
        ids = {post.id for post in found.pool.candidates}
        assert CANDIDATES <= len(ids) <= 2 * CANDIDATES
        assert ids <= there
        assert example.query.id not in ids
        assert not ids & example.unjudged
        right = {post.id for post in example.right}
        assert {post.id for post in found.pool.positives} == right
        keys = Letters().query_keys([example.query.text])[0]
        expected = [Letters().candidate_keys([post])[0] @ keys for post in found.pool.candidates]
        assert found.scores["vectors"].tolist() == expected
        best = search.index.search(example.query.text, 5)
        known = dict(zip((p.id for p in found.pool.candidates), found.scores["bm25"], strict=True))
        for hit in best:
            assert hit.id not in known or known[hit.id] == pytest.approx(hit.score, rel=1e-5)


def test_asked_are_new_questions(bicycles):
    task = question_task(bicycles)
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
    assert not any(answer_task(bicycles).asked.values())


# -- the choice on dev -----------------------------------------------------------------------------


def question(number, bm25, vectors, right, missed=0):
    posts = tuple(Post(f"{number}-{n}", f"text {n}") for n in range(len(bm25)))
    gone = tuple(Post(f"{number}-m{n}", "gone") for n in range(missed))
    labels = tuple(int(n in right) for n in range(len(bm25)))
    pool = Pool(Post(f"q{number}", "query"), posts, labels, gone)
    return Found(pool, {"bm25": np.array(bm25, float), "vectors": np.array(vectors, float)})


def made(count, of_bm25, of_vectors, size=30, seed=1):
    """Questions with one right candidate, which each stage raises by so much."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        bm25, vectors = rng.normal(size=(2, size))
        right = int(rng.integers(size))
        bm25[right] += of_bm25
        vectors[right] += of_vectors
        found.append(question(number, bm25, vectors, {right}))
    return found


def test_bm25_serves_when_vectors_know_nothing():
    assert choose_vectors(made(100, 2.0, 0.0)) == alone("bm25")


def test_vectors_serve_when_bm25_knows_nothing():
    join = choose_vectors(made(100, 0.0, 2.0))
    assert join.weights.get("bm25", 0.0) <= 0.25 * join.weights["vectors"]


def test_both_serve_when_each_knows_something():
    dev, test = made(150, 1.5, 1.5), made(150, 1.5, 1.5, seed=2)
    join = choose_vectors(dev)
    assert join.weights.keys() == {"bm25", "vectors"}
    assert figures(test, join)["MAP"] > figures(test, alone("bm25"))["MAP"] + 0.05


def test_luck_on_a_small_dev_is_no_gain():
    kept = [choose_vectors(made(6, 2.0, 0.0, seed=seed)) == alone("bm25") for seed in range(20)]
    assert sum(kept) >= 15
    assert not gains(np.array([0.6]), np.array([0.5]))
    assert not gains(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    assert gains(np.array([0.7, 0.6, 0.8]), np.array([0.5, 0.5, 0.5]))


def test_a_pair_model_serves_only_if_it_gains():
    dev = made(150, 1.5, 1.5)
    before = Join("zscore", {"bm25": 1.0, "vectors": 1.0})
    rng = np.random.default_rng(3)

    def with_pair(lift):
        return [
            Found(
                one.pool,
                {**one.scores, "pair": rng.normal(size=30) + lift * np.array(one.pool.labels)},
            )
            for one in dev
        ]

    assert choose_pair(with_pair(0.0), before) == before
    assert choose_pair(with_pair(2.0), before).weights["pair"] > 0


def test_missed_posts_count_and_lists_are_cut():
    one = question(1, [3, 2, 1], [0, 0, 0], {0, 2}, missed=1)
    assert average_precision(one, one.scores["bm25"]) == pytest.approx((1 + 2 / 3) / 3)
    assert figures([one], alone("bm25"))["MAP"] == pytest.approx((1 + 2 / 3) / 3)
    long = question(1, np.arange(80.0)[::-1], np.zeros(80), {60})
    assert average_precision(long, long.scores["bm25"]) == 0
    assert figures([long], alone("bm25"))["MAP"] == 0
    first = long.first(long.scores["bm25"])
    assert len(first.pool.candidates) == CANDIDATES
    assert [post.id for post in first.pool.missed] == ["1-60"]
    assert first.scores["bm25"].tolist() == list(range(79, 29, -1))


# -- time ------------------------------------------------------------------------------------------


def test_time_is_shared_and_ends():
    clock = Clock(0.2, questions=20)
    first = clock.next(10)
    assert not first()
    time.sleep(0.11)
    assert first()
    second = clock.next(10)
    assert not second()
    assert clock.left > 0
    time.sleep(0.1)
    assert second()
    assert clock.left == 0
    assert clock.next(5)()


def test_who_learns_from_more_gets_more_time():
    clock = Clock(0.2, questions=100)
    first = clock.next(5)
    time.sleep(0.02)
    assert first()
    second = clock.next(95)
    time.sleep(0.1)
    assert not second()


def test_time_spent_otherwise_is_given_back():
    clock = Clock(0.01, questions=10)
    time.sleep(0.02)
    assert clock.left == 0
    clock.add(60)
    assert 59 < clock.left < 60
    assert not clock.next(10)()


def test_the_loop_ends_after_the_epoch_that_exceeds(small, tmp_path):
    told = small.recipe(epochs=4)
    dataset = small.made()
    asked = []

    def stop():
        asked.append(True)
        return len(asked) == 2

    ranker = small.ranker(told, dataset)
    outcome = small.train(ranker, dataset, told, tmp_path, stop=stop)
    assert outcome.progress.epoch == 2
    assert outcome.progress.done
    again = small.train(small.ranker(told, dataset), dataset, told, tmp_path)
    assert again.progress.epoch == 2  # a run that was ended is over


def test_examples_are_of_their_query(bicycles):
    task = answer_task(bicycles)
    assert all(isinstance(example, Example) for example in task.examples["dev"])
    queries = [pool.query.id for pool in task.dataset.split("dev")]
    assert queries == [example.query.id for example in task.examples["dev"]]


def test_progress_is_shown_while_it_lasts(tmp_path):
    heard = []
    with shown(tmp_path, 60, lambda kind, figures: heard.append(kind)) as tell:
        tell("text", {"text": "answers: training qa-cnn"})
        tell("epoch", {"epoch": 1, "loss": 0.5, "dev": {"MAP": 0.25}, "seconds": 1.0})
        tell("step", {"epoch": 2, "done": 5, "of": 10, "loss": 0.25})
        tell("epoch", {"epoch": 2, "loss": 0.25, "dev": {"MAP": 0.5}})
        told = json.loads((tmp_path / "progress.json").read_text())
    assert 0 <= told.pop("share") < 0.1
    assert told == {
        "task": "answers",
        "text": "training qa-cnn",
        "epoch": 2,
        "done": 5,
        "of": 10,
        "loss": 0.25,
        "history": [
            {"epoch": 1, "loss": 0.5, "dev": {"MAP": 0.25}},
            {"epoch": 2, "loss": 0.25, "dev": {"MAP": 0.5}},
        ],
    }
    assert heard == ["text", "epoch", "step", "epoch"]
    assert not list(tmp_path.iterdir())
