"""The engine over a real archive: asks, changes, models that come and go, other processes."""

import subprocess
import sys
import threading
from contextlib import closing

import pytest
from sqlalchemy import event

from askonce.archive import Archive, database
from askonce.archive.tables import LATEST_CHANGE
from askonce.engine import Engine
from askonce.engine.options import ResultOptions
from askonce.errors import AskonceError
from askonce.text.tokenise import tokenise
from askonce.types import Link, Post


@pytest.fixture(scope="module")
def engine():
    with Engine.open("bicycles") as engine:
        yield engine


@pytest.fixture
def folder(bicycles_folder):
    return bicycles_folder


def titles(hits):
    return [hit.post.id for hit in hits]


def test_finds_the_question_already_asked(engine):
    for question in list(engine.archive.iterate("question"))[:50]:
        assert engine.similar(question.text, k=3)[0].matched == question.id


def test_an_exact_title_comes_first():
    archive = Archive.in_memory("small")
    wordy = "chain slips chain slips"
    long = "I ride to work every day in all weathers and never had any trouble before"
    archive.write([Post("exact", "Chain slips?", long), Post("wordy", "My chain", wordy)])
    engine = Engine(archive)
    engine.start(background=False)
    hits = engine.similar("chain slips")
    assert titles(hits) == ["exact", "wordy"]
    alone = engine._manager.ready().question.lexical.search("chain slips")
    assert [hit.id for hit in alone] == ["wordy", "exact"]  # without the bonus
    engine.close()


def test_answers_follow_duplicates_to_the_original(engine):
    link = engine.archive.links("duplicate")[0]
    original = engine.archive.originals([link.source])[link.source]
    text = engine.archive.post(link.source).text
    hits = engine.answers(text, k=5, votes=False, options=ResultOptions(fold=False))
    assert original in {hit.question.id for hit in hits}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_hits_say_what_they_share_and_what_each_stage_gave(engine):
    hit = engine.similar("squealing disc brakes", k=1)[0]
    assert {"brakes", "squeal"} <= set(hit.words) <= set(tokenise(hit.post.text))
    assert set(hit.stages) == {"bm25"} and hit.stages["bm25"] == hit.score
    why = engine.why("squealing disc brakes", hit.post.id)
    assert why.score == pytest.approx(hit.score) and why.stages[0].name == "bm25"
    assert list(why.shared) == list(hit.words) and not why.words


def test_several_questions_at_once_get_what_each_gets_alone(engine):
    asked = ["squealing brakes", "chain skips", "flat tyre in winter"]
    assert engine.similar_many(asked, 4) == [engine.similar(text, 4) for text in asked]
    assert engine.answers_many(asked, 4) == [engine.answers(text, 4) for text in asked]


def test_a_batch_takes_no_more_statements_than_a_question_and_asked_again_one(
    folder, leave_models, monkeypatch
):
    with closing(Archive.open(folder)) as archive:
        leave_models(archive, folder)
    questions = ["rear tyre flat", "brakes squeal", "which chain to buy", "my saddle hurts"]
    statements = []

    def note(connection, cursor, statement, parameters, context, many):
        statements.append(statement)

    def number(engine, statement, read=database.read_number):  # by the driver
        statements.append(statement)
        return read(engine, statement)

    monkeypatch.setattr(database, "read_number", number)

    def counted(ask, *arguments):
        statements.clear()
        ask(*arguments)
        return [statement for statement in statements if statement != "BEGIN"]

    with Engine.open(folder) as engine:
        engine.wording._clock = lambda: 0.0  # read once
        engine.wording.get()
        event.listen(engine.archive._engine, "before_cursor_execute", note)
        batch = counted(engine.ask_many, questions)
        (again,) = counted(engine.ask_many, questions)
        assert again == LATEST_CHANGE
        (suggested,) = counted(engine.suggest, questions[0])
        assert suggested == again
        engine.write([Post("new", "a new question")])
        assert 1 < len(counted(engine.ask_many, questions)) <= len(batch)
    with Engine.open(folder) as engine:
        engine.wording._clock = lambda: 0.0
        engine.wording.get()
        event.listen(engine.archive._engine, "before_cursor_execute", note)
        # chains of duplicates take a statement for each step
        assert len(batch) <= len(counted(engine.ask, questions[0])) + 4


def test_k_is_obeyed_and_checked(engine):
    assert len(engine.similar("bike", k=2)) == 2
    assert len(engine.answers("bike", k=7)) == 7
    for wrong in (0, -1, 10**9):
        with pytest.raises(AskonceError, match=f"k = {wrong}"):
            engine.similar("bike", k=wrong)
    with pytest.raises(AskonceError, match="question is empty"):
        engine.answers("  ")
    with pytest.raises(AskonceError, match="no ranker 'best25'"):
        engine.similar("bike", ranker="best25")
    with pytest.raises(AskonceError, match="no post 'nobody'"):
        engine.why("bike", "nobody")


@pytest.mark.parametrize("text", ["?!", "zzzzqqq", "\x00\x07", "👩‍🚀 אופניים", "bike " * 5000])
def test_odd_questions_are_no_error(engine, text):
    engine.similar(text, 3)
    engine.answers(text, 3)


def test_without_a_model_there_are_no_vectors_but_reranking_works(engine):
    with pytest.raises(AskonceError, match="askonce train"):
        engine.embed(["a text"])
    with pytest.raises(AskonceError, match="askonce train"):
        engine.similar("bike", ranker="vectors")
    scores = engine.rerank("my chain skips", ["a recipe for soup", "the chain skips teeth"])
    assert scores[1] > scores[0]
    assert engine.rerank("my chain skips", []) == []


def test_an_added_post_is_found_an_edit_changes_what_is_found_a_delete_removes_it(
    folder, leave_models
):
    with Engine.open(folder) as engine:
        leave_models(engine.archive, folder)
        assert engine.refresh_models()
        engine.write([Post("new", title="zyxwv gearbox whistles")])
        engine.write([Post("newa", body="oil the zyxwv gearbox", kind="answer", parent="new")])
        for ranker in engine.rankers():
            assert "new" in titles(engine.similar("zyxwv gearbox", 3, ranker))
        assert engine.answers("zyxwv gearbox", 1)[0].post.id == "newa"
        engine.write([Post("new", title="vwxyz hub clicks")])
        assert "new" not in titles(engine.similar("zyxwv gearbox", 3, "bm25"))
        assert titles(engine.similar("vwxyz hub", 1, "bm25")) == ["new"]
        assert engine.delete(["new"]) == ["new", "newa"]
        for ranker in engine.rankers():
            assert "new" not in titles(engine.similar("vwxyz hub clicks", 100, ranker))
            assert "newa" not in titles(engine.answers("oil the zyxwv gearbox", 100, ranker))


def test_indexes_survive_and_catch_up(folder):
    with Engine.open(folder) as engine:
        before = titles(engine.similar("squealing brakes", 5))
        assert engine.status().indexed == engine.status().change
    archive = Archive.open(folder)  # changes while no engine runs
    archive.write([Post("late", title="qqq rattle")])
    archive.delete(before[:1])
    archive.close()
    with Engine.open(folder) as engine:
        assert titles(engine.similar("qqq rattle", 1)) == ["late"]
        assert titles(engine.similar("squealing brakes", 5))[0] == before[1]


def test_what_other_processes_write_is_found_within_a_second_or_so(folder, wait_for):
    with Engine.open(folder, background=True) as engine:
        other = Archive.open(folder)
        other.write([Post("other", title="qqq rattle")])
        wait_for(lambda: titles(engine.similar("qqq rattle", 1)) == ["other"], 60)
        other.close()


def test_new_models_are_swapped_in_while_it_runs(folder, leave_models, wait_for):
    with Engine.open(folder, background=True) as engine:
        assert engine.rankers() == ["best", "bm25"]
        first = leave_models(engine.archive, folder)
        wait_for(lambda: engine.status().model == first, 60)
        assert engine.rankers() == ["best", "bm25", "vectors", "fused"]
        hit = engine.similar("squealing brakes", 1)[0]
        assert set(hit.stages) == {"bm25", "vectors", "pair"}
        assert 0 < hit.duplicate_probability < 1
        # fitted on BM25, whose score is absent here
        by_vectors = engine.similar(hit.post.title, 5, "vectors")
        assert {other.duplicate_probability for other in by_vectors} == {None}
        assert engine.embed(["one", "two"]).shape[0] == 2
        assert {entry.kind for entry in engine.why("squealing brakes", hit.post.id).words}
        second = leave_models(engine.archive, folder)
        wait_for(lambda: engine.status().model == second, 60)
        wait_for(lambda: not list((folder / "index").glob(f"vectors-*-{first}")), 60)
        models = engine.models()
        assert models["current"] == second and models["tasks"]["questions"]["encoder"]


def test_models_that_cannot_be_loaded_leave_the_old_ones_in_service(folder, leave_models):
    events = []
    with Engine.open(folder, on_event=events.append) as engine:
        name = leave_models(engine.archive, folder)
        (folder / "models" / name / "encoder" / "model.safetensors").write_bytes(b"broken")
        assert not engine.refresh_models()
        assert engine.status().model is None and engine.similar("bike", 1)
        assert any("cannot serve" in event.text for event in events)


def test_votes_may_count(folder, leave_models):
    with Engine.open(folder) as engine:
        leave_models(engine.archive, folder)
        engine.refresh_models()
        unfolded = ResultOptions(fold=False)
        plain = engine.answers("how to fix a flat tyre", 20, votes=False, options=unfolded)
        voted = engine.answers("how to fix a flat tyre", 20, options=unfolded)
        order = [((hit.votes or 0) < 0 and not hit.accepted, -hit.score) for hit in voted]
        assert order == sorted(order)
        assert titles(voted) != titles(plain)
        assert all("votes" in hit.stages for hit in voted)


@pytest.mark.parametrize("part", ["lexical-questions", "vectors-questions"])
def test_damaged_indexes_are_made_anew(folder, part, leave_models):
    with Engine.open(folder) as engine:
        leave_models(engine.archive, folder)
        engine.refresh_models()
        before = engine.similar("squealing brakes", 5)
    for location in (folder / "index").glob(f"{part}*"):
        for path in location.iterdir():
            path.write_bytes(b"\x00damaged")
    with Engine.open(folder) as engine:
        assert titles(engine.similar("squealing brakes", 5)) == titles(before)


def test_a_second_process_reads_and_one_that_must_keep_the_indexes_is_refused(folder):
    with Engine.open(folder) as engine:
        assert not engine.read_only
        command = [sys.executable, "-m", "askonce", "ask", str(folder), "squealing brakes"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0 and "brake" in ran.stdout
        with pytest.raises(AskonceError, match="belong to process"):
            Engine.open(folder, exclusive=True)


def test_asking_by_bm25_loads_no_torch(folder):
    code = (
        "import sys; from askonce.engine import Engine; e = Engine.open(sys.argv[1]); "
        "e.similar('brakes'); e.answers('brakes'); e.close(); "
        "print([m for m in ('torch', 'scipy', 'sklearn', 'gensim') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_overview_and_duplicates(engine):
    actual = engine.overview(5)
    assert actual["counts"]["questions"] > 100 and actual["growth"]
    for row in actual["duplicates_found"]:
        assert row["id"] != row["other_id"] and 0.5 <= row["probability"] <= 1


def test_unmarked_duplicates_are_found_once(tmp_path):
    location = tmp_path / "a.askonce"
    archive = Archive.open(location, create=True)
    same = "how do I true a bent rear wheel at home"
    archive.write(
        [
            Post("a", title=same, created="2020-01-01"),
            Post("b", title=same, created="2021-01-01"),
            Post("c", title="how do I true a bent rear wheel", created="2022-01-01"),
            Post("d", title="which saddle for long tours"),
        ],
        [Link("c", "a"), Link("c", "b")],
    )
    archive.close()
    from askonce.engine.duplicates import find_duplicates

    with Engine.open(location) as engine:
        posts = engine.archive.iterate("question")
        pairs = [pair for pair in find_duplicates(engine, posts, 0.5) if pair]
    assert [(pair.question.id, pair.other.id) for pair in pairs] == [("b", "a")]
    assert pairs[0].confidence == pytest.approx(1) and not pairs[0].calibrated


def test_readers_see_whole_results_while_posts_come_and_go(folder):
    failures = []
    with Engine.open(folder) as engine:
        stop = threading.Event()

        def read():
            while not stop.is_set():
                try:
                    assert engine.similar("squealing brakes", 5)
                except Exception as error:
                    failures.append(error)
                    return

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(15):
            engine.write([Post(f"x{number}", title=f"brakes squeal {number}")])
            engine.delete([f"x{number - 3}"])
        stop.set()
        for reader in readers:
            reader.join()
    assert not failures
