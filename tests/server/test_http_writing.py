"""The next query finds posts that were written over HTTP."""

import pytest

NEW = {"id": "new", "title": "Zebrafish in the bottom bracket", "tags": ["odd"]}


def hit_ids(client, q="zebrafish"):
    return [hit["id"] for hit in client.get("/api/similar", params={"q": q}).json()["similar"]]


def test_an_added_post_is_found_an_edit_changes_it_and_a_delete_removes_it(writing):
    assert hit_ids(writing) == []
    response = writing.post("/api/posts", json=NEW)
    assert response.status_code == 201
    change = response.json().pop("change")
    counts = {"added": 1, "changed": 0, "unchanged": 0, "links_added": 0}
    assert response.json() == {**counts, "change": change, "ids": ["new"]}
    assert hit_ids(writing) == ["new"]

    edited = writing.put("/api/posts/new", json={"title": "Quagga in the bottom bracket"})
    assert edited.status_code == 200 and edited.json()["changed"] == 1
    assert hit_ids(writing) == [] and hit_ids(writing, "quagga") == ["new"]
    thread = writing.get("/api/posts/new").json()
    assert thread["post"]["tags"] == ["odd"]  # what was left out stays
    assert thread["revisions"] == 1

    assert writing.delete("/api/posts/new").json() == {"deleted": ["new"]}
    assert hit_ids(writing, "quagga") == []
    assert writing.get("/api/posts/new").status_code == 404
    assert writing.delete("/api/posts/new").status_code == 404
    assert writing.put("/api/posts/new", json={"title": "x"}).status_code == 404


def test_writing_the_same_again_changes_nothing(writing):
    first = writing.post("/api/posts", json=NEW).json()
    again = writing.post("/api/posts", json=NEW).json()
    assert again["unchanged"] == 1 and again["change"] == first["change"]


def test_many_posts_and_links_are_written_together_or_not_at_all(writing):
    answer = {"id": "new-a", "parent": "new", "body": "Feed the zebrafish.", "accepted": True}
    link = {"source": "new", "target": "q002", "kind": "duplicate"}
    broken = {"posts": [NEW, answer | {"parent": "nobody"}], "links": [link]}
    assert writing.post("/api/posts", json=broken).status_code == 422
    assert hit_ids(writing) == []
    whole = {"posts": [NEW, answer], "links": [link]}
    written = writing.post("/api/posts", json=whole).json()
    assert (written["added"], written["links_added"]) == (2, 1)
    thread = writing.get("/api/posts/new").json()
    assert thread["duplicate_of"] == "q002" and thread["answers"][0]["id"] == "new-a"
    answers = {}
    for votes in (False, True):
        query = {"q": "zebrafish", "votes": votes}
        answers[votes] = writing.get("/api/answers", params=query).json()["answers"]
        assert {answer["thread"] for answer in answers[votes]} == {"q002"}
    assert answers[False][0]["id"] == "new-a" and answers[False][0]["question_id"] == "new"
    # votes order the answers of the shared thread: both are accepted, and a0003 has 41 votes
    assert [answer["id"] for answer in answers[True][:2]] == ["a0003", "new-a"]
    gone = writing.post("/api/posts/delete", json={"ids": ["new", "unknown"]}).json()
    assert sorted(gone["deleted"]) == ["new", "new-a"]  # its answer goes with a question


@pytest.mark.parametrize("target", ["new", "newer"])
def test_a_link_that_makes_a_question_its_own_duplicate_is_refused(writing, target):
    posts = [NEW, NEW | {"id": "newer"}]
    writing.post(
        "/api/posts", json={"posts": posts, "links": [{"source": "newer", "target": "new"}]}
    )
    body = {"links": [{"source": "new", "target": target}]}
    refused = writing.post("/api/posts", json=body)
    assert refused.status_code == 422 and "cannot be" in refused.json()["error"]["message"]
    assert writing.get("/api/posts/new").json()["duplicate_of"] is None


def test_a_link_alone_is_a_change_that_the_indexes_follow(writing):
    first = writing.post("/api/posts", json=NEW).json()
    link = {"source": "new", "target": "q002"}
    written = writing.post("/api/posts", json={"links": [link]}).json()
    assert (written["added"], written["links_added"]) == (0, 1)
    assert written["change"] == first["change"] + 1
    status = writing.get("/readyz").json()
    assert status["indexed"] == status["change"] == written["change"]


def test_the_server_makes_an_id_and_a_date_for_a_post_without(writing):
    (made,) = writing.post("/api/posts", json={"title": "Zebrafish again"}).json()["ids"]
    assert hit_ids(writing) == [made]
    assert writing.get(f"/api/posts/{made}").json()["post"]["created"].startswith("20")


def test_ids_with_slashes_and_spaces_inside(writing):
    name = "forum/7 b?#"
    assert writing.post("/api/posts", json=NEW | {"id": name}).status_code == 201
    path = "/api/posts/forum%2F7%20b%3F%23"
    assert writing.get(path).json()["post"]["id"] == name
    assert writing.put(path, json={"id": name, "score": 3}).status_code == 200
    assert writing.delete(path).json() == {"deleted": [name]}


def test_a_post_keeps_its_id_and_kind(writing):
    assert writing.put("/api/posts/q002", json={"id": "q003"}).status_code == 422
    assert writing.put("/api/posts/q002", json={"kind": "answer"}).status_code == 422
    assert writing.post("/api/posts", json={"id": "a0003", "title": "x"}).status_code == 422


def test_text_and_formatting_stay_together(writing):
    writing.post("/api/posts", json=NEW | {"html": "<p>old <em>words</em></p>"})
    assert writing.get("/api/posts/new").json()["post"]["body"] == "old words"
    writing.put("/api/posts/new", json={"body": "new words"})
    assert writing.get("/api/posts/new").json()["post"]["html"] == ""
    writing.put("/api/posts/new", json={"html": "<p>newest</p>"})
    post = writing.get("/api/posts/new").json()["post"]
    assert (post["body"], post["html"]) == ("newest", "<p>newest</p>")


SOURCE = {"url": "https://bikes.example/q/1", "author": "Ada", "site": "Bikes"}
SOURCE |= {"author_url": "https://bikes.example/u/ada", "licence": "CC BY-SA 4.0"}


def test_hits_and_threads_say_where_a_post_came_from(writing):
    answer = {"id": "new-a", "parent": "new", "body": "Feed the zebrafish.", "author": "Ben"}
    posts = {"posts": [NEW | SOURCE, answer]}
    assert writing.post("/api/posts", json=posts).status_code == 201
    hits = writing.get("/api/ask", params={"q": "zebrafish"}).json()
    assert hits["similar"][0].items() >= SOURCE.items()
    # without an address of its own, an answer leads to its thread
    assert hits["answers"][0]["author"] == "Ben" and hits["answers"][0]["url"] == SOURCE["url"]
    thread = writing.get("/api/posts/new").json()
    assert thread["post"].items() >= SOURCE.items() and thread["answers"][0]["author"] == "Ben"
    edited = writing.put("/api/posts/new", json={"author": "Ada L."})
    assert edited.json()["changed"] == 1
    assert writing.get("/api/posts/new").json()["post"]["url"] == SOURCE["url"]
    bad = writing.post("/api/posts", json=NEW | {"url": "javascript:alert(1)"})
    assert bad.status_code == 422 and "url" in bad.json()["error"]["message"]
