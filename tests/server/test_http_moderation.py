"""Links, decisions and undoing them over HTTP; nothing that was dismissed is proposed again."""

import pytest

from askonce.archive import Archive, load
from askonce.engine import Engine
from askonce.server import Keys, ServerSettings
from askonce.types import Post

COPY = "Why does my rear tyre go flat every single week?"


@pytest.fixture
def forum():
    archive = Archive.in_memory("forum")
    archive.write(
        [
            Post("q1", COPY, "Always the rear one.", created="2020-01-01"),
            Post("q2", COPY, "Always the rear one, help.", created="2020-02-01"),
            Post("a1", body="A thorn is stuck.", kind="answer", parent="q1", accepted=True),
            Post("a2", body="Change the tube.", kind="answer", parent="q2"),
            Post("q3", "How do I true a wheel?", "It wobbles.", created="2020-03-01"),
            Post("q4", "Truing a wheel that wobbles", "How do I do it?", created="2020-04-01"),
            Post("a3", body="Turn the nipples.", kind="answer", parent="q3", score=3),
        ]
    )
    with Engine(archive) as engine:
        engine.start(background=False)
        yield engine


@pytest.fixture
def client(forum, serve):
    return serve(ServerSettings(keys=Keys(open_writes=True)), forum)


def desk(client, **params):
    return client.get("/api/moderation", params=params).json()


def pairs(client):
    return [(pair["question"]["id"], pair["original"]["id"]) for pair in desk(client)["duplicates"]]


def decide(client, kind, source, target):
    response = client.post(
        "/api/decisions", json={"kind": kind, "source": source, "target": target}
    )
    assert response.status_code == 201, response.text
    return response.json()["number"]


def test_links_are_created_and_deleted(client, forum):
    link = {"source": "q2", "target": "q1", "kind": "duplicate"}
    before = forum.archive.change
    assert client.post("/api/links", json=link).json() == {"changed": True, "change": before + 1}
    assert client.post("/api/links", json=link).json()["changed"] is False
    thread = client.get("/api/posts/q2").json()
    assert (thread["duplicate_of"], thread["duplicate_of_title"]) == ("q1", COPY)
    assert client.request("DELETE", "/api/links", json=link).json()["changed"] is True
    assert client.request("DELETE", "/api/links", json=link).json()["changed"] is False
    assert client.get("/api/posts/q2").json()["duplicate_of"] is None
    for wrong in ({"target": "a1"}, {"target": "nothing"}):
        assert client.post("/api/links", json=link | wrong).status_code == 404
    assert client.post("/api/links", json=link | {"target": "q2"}).status_code == 422


def test_what_was_dismissed_is_never_proposed_again(client, forum):
    assert ("q2", "q1") in pairs(client)
    before = forum.archive.change
    number = decide(client, "dismiss", "q2", "q1")
    assert forum.archive.change == before + 1
    assert ("q2", "q1") not in pairs(client)
    assert forum.archive.snapshot().weighted_labels[0].right is False
    assert client.delete(f"/api/decisions/{number}").status_code == 200
    assert client.delete(f"/api/decisions/{number}").status_code == 404
    assert ("q2", "q1") in pairs(client)


def test_mark_and_undo(client):
    number = decide(client, "duplicate", "q2", "q1")
    assert client.get("/api/posts/q2").json()["duplicate_of"] == "q1"
    assert ("q2", "q1") not in pairs(client)
    marked, likely = desk(client)["asked_again"]
    assert marked["original"]["id"] == "q1"
    assert [post["id"] for post in marked["duplicates"]] == ["q2"]
    assert [post["id"] for post in likely["likely"]] == ["q4"]
    client.delete(f"/api/decisions/{number}").raise_for_status()
    assert client.get("/api/posts/q2").json()["duplicate_of"] is None


def test_a_merge_moves_answers_and_undoing_it_moves_them_back(client):
    number = decide(client, "merge", "q2", "q1")
    answers = client.get("/api/posts/q1").json()["answers"]
    assert [answer["id"] for answer in answers] == ["a1", "a2"]
    assert client.get("/api/posts/q2").json()["answers"] == []
    (latest,) = desk(client)["decisions"]
    assert (latest["kind"], latest["moved"]) == ("merge", ["a2"])
    client.delete(f"/api/decisions/{number}").raise_for_status()
    answers = client.get("/api/posts/q2").json()["answers"]
    assert [answer["id"] for answer in answers] == ["a2"]


def test_an_unanswered_question_gets_a_likely_answer(client):
    (proposal,) = desk(client)["answers"]
    assert (proposal["question"]["id"], proposal["answer"]["id"]) == ("q4", "a3")
    number = decide(client, "dismiss", "q4", "a3")
    assert all(one["answer"]["id"] != "a3" for one in desk(client)["answers"])
    client.delete(f"/api/decisions/{number}").raise_for_status()
    decide(client, "related", "q4", "q3")
    assert all(one["question"]["id"] != "q4" for one in desk(client)["answers"])


def test_moderation_needs_the_write_key(forum, serve):
    client = serve(ServerSettings(keys=Keys()), forum)
    assert client.get("/api/moderation").status_code == 403
    body = {"kind": "dismiss", "source": "q2", "target": "q1"}
    assert client.post("/api/decisions", json=body).status_code == 403
    assert client.request("DELETE", "/api/links", json=body).status_code == 403
    for wrong in ({"target": "q2"}, {"source": "a1"}, {"target": "nothing"}, {"kind": "hide"}):
        refused = serve(ServerSettings(keys=Keys(open_writes=True)), forum)
        assert refused.post("/api/decisions", json=body | wrong).status_code == 422


def test_duplicates_of_one_question_are_not_proposed_to_each_other(client, forum):
    forum.write([Post("q5", COPY, "Always the rear one, again.", created="2020-05-01")])
    decide(client, "duplicate", "q2", "q1")
    decide(client, "duplicate", "q5", "q1")
    assert [pair for pair in pairs(client) if pair[0] in ("q2", "q5")] == []


def test_decisions_name_what_they_are_about(client):
    response = client.post(
        "/api/decisions", json={"kind": "dismiss", "source": "q4", "target": "a3"}
    )
    titles = "Truing a wheel that wobbles", "How do I true a wheel?"  # of the answer's question
    for record in (response.json(), *desk(client)["decisions"]):
        assert (record["source_title"], record["target_title"]) == titles


def test_undoing_leaves_a_link_that_was_there_before(client):
    link = {"source": "q2", "target": "q1", "kind": "duplicate"}
    client.post("/api/links", json=link).raise_for_status()
    again = client.post("/api/decisions", json=link)
    assert again.status_code == 422
    assert "already linked as duplicate" in again.json()["error"]["message"]
    number = decide(client, "merge", "q2", "q1")
    client.delete(f"/api/decisions/{number}").raise_for_status()
    thread = client.get("/api/posts/q2").json()
    assert (thread["duplicate_of"], len(thread["answers"])) == ("q1", 1)


def test_a_merge_survives_the_next_import(client, forum):
    dump = [Post("q2", COPY), Post("a2", body="Change the tube!", kind="answer", parent="q2")]
    number = decide(client, "merge", "q2", "q1")
    load(forum.archive, dump)
    assert forum.archive.post("a2").parent == "q1"
    client.delete(f"/api/decisions/{number}").raise_for_status()
    load(forum.archive, dump)
    assert forum.archive.post("a2").parent == "q2"
    decide(client, "merge", "q2", "q1")
    forum.delete(["q1"])
    assert load(forum.archive, dump).damaged == 0
    assert forum.archive.post("a2").parent == "q2"
