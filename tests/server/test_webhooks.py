"""Webhooks in and out, signed."""

import hmac
import json
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from askonce.cli.archives.serving import run
from askonce.data.formats import Record
from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.server import Keys, ServerSettings
from askonce.server.routes.hooks import READERS
from askonce.sync.events import Notifier
from askonce.sync.http import Client, SyncError
from askonce.sync.signing import SIGNATURE, is_signed, signature_headers
from askonce.types import Post
from tests.data.forums.samples.odd import odd_pages
from tests.sync.conftest import serving

SECRET = "a secret of the test"


@pytest.fixture
def engine(bicycles_folder):
    with Engine.open(bicycles_folder) as engine:
        yield engine


@pytest.fixture
def hooked(engine, serve):
    return serve(ServerSettings(keys=Keys(), webhook_secret=SECRET), engine)


def send(client, sender, body, secret=SECRET, now=None, **headers):
    raw = json.dumps(body).encode()
    signed = signature_headers(secret, raw, int(now or time.time()))
    return client.post(f"/api/hooks/{sender}", content=raw, headers={**signed, **headers})


POSTS = {"posts": [{"id": "h1", "kind": "question", "title": "Zebrafish in the hub"}]}


def test_a_signed_webhook_writes_and_deletes(hooked, engine):
    response = send(hooked, "askonce", POSTS)
    assert response.status_code == 200 and response.json()["added"] == 1
    assert engine.similar("zebrafish")[0].id == "h1"
    assert send(hooked, "askonce", {"deleted": ["h1"]}).json()["deleted"] == ["h1"]
    assert engine.similar("zebrafish") == []


def test_what_is_not_signed_or_too_old_is_refused(hooked, engine):
    raw = json.dumps(POSTS).encode()
    assert hooked.post("/api/hooks/askonce", content=raw).status_code == 401
    assert send(hooked, "askonce", POSTS, secret="another").status_code == 401
    assert send(hooked, "askonce", POSTS, now=time.time() - 600).status_code == 401
    signed = signature_headers(SECRET, raw, int(time.time()))
    assert hooked.post("/api/hooks/askonce", content=raw + b" ", headers=signed).status_code == 401
    assert engine.archive.post("h1") is None
    assert send(hooked, "askonce", [1]).status_code == 422
    assert send(hooked, "nobody", POSTS).status_code == 422


def test_without_a_secret_webhooks_are_off(reading):
    response = send(reading, "askonce", POSTS)
    assert response.status_code == 403 and "ASKONCE_WEBHOOK_SECRET" in response.text


@pytest.fixture
def own(hooked):
    """Send a webhook as Discourse and GitHub sign theirs."""

    def send(sender, body, **headers):
        raw = json.dumps(body).encode()
        name = {"github": "X-Hub-Signature-256", "discourse": "X-Discourse-Event-Signature"}[sender]
        signature = hmac.new(SECRET.encode(), raw, "sha256").hexdigest()
        headers = {name: f"sha256={signature}", **headers}
        return hooked.post(f"/api/hooks/{sender}", content=raw, headers=headers).json()

    return send


FORUM = {"X-Discourse-Instance": "https://forum.example"}
TOPIC = {
    **{"topic_id": 7, "topic_title": "Zebrafish", "post_number": 1, "cooked": "<p>Why?</p>"},
    **{"username": "ada", "topic_archetype": "regular"},
}


def test_discourse_sends_its_own_form(own, engine):
    def event(name):
        return {"X-Discourse-Event": name, **FORUM}

    assert own("discourse", {"post": TOPIC}, **event("post_created"))["ids"] == ["7"]
    assert engine.archive.post("7").url == "https://forum.example/t/7/1"
    engine.write([replace(engine.archive.post("7"), tags=("fish",), score=4)])
    reply = TOPIC | {"post_number": 2, "cooked": "<p>Feed it.</p>"}
    assert own("discourse", {"post": reply}, **event("post_created"))["ids"] == ["7/2"]
    edited = TOPIC | {"cooked": "<p>Why not?</p>"}
    assert own("discourse", {"post": edited}, **event("post_edited"))["changed"] == 1
    post = engine.archive.post("7")
    assert (post.body, post.tags, post.score) == ("Why not?", ("fish",), 4)
    gone = reply | {"deleted_at": "2024-01-02T03:04:05Z"}
    assert own("discourse", {"post": gone}, **event("post_destroyed"))["deleted"] == ["7/2"]
    private = TOPIC | {"topic_id": 8, "topic_archetype": "private_message"}
    assert own("discourse", {"post": private}, **event("post_created"))["ids"] == []
    topic = {"id": 7, "title": "Zebrafish"}
    assert own("discourse", {"topic": topic}, **event("topic_destroyed"))["deleted"] == ["7"]
    assert own("discourse", {"user": {"id": 1}}, **event("user_created"))["deleted"] == []


ISSUE = {"number": 5, "title": "Zebrafish", "html_url": "https://github.com/o/r/issues/5"}
COMMENT = {
    **{"id": 9, "body": "Feed it.", "html_url": f"{ISSUE['html_url']}#issuecomment-9"},
    **{"user": {"login": "ben", "type": "User"}},
}


def test_github_sends_its_own_form(own, engine):
    body = {"action": "created", "issue": ISSUE, "comment": COMMENT}
    assert own("github", body)["ids"] == ["o/r#5", "o/r#5-9"]
    assert own("github", body | {"action": "deleted"})["deleted"] == ["o/r#5-9"]
    # the comment of a bot is not kept, and its deletion is not that of the issue
    by_bot = COMMENT | {"id": 10, "user": {"login": "stale[bot]", "type": "Bot"}}
    assert own("github", body | {"action": "deleted", "comment": by_bot})["deleted"] == []
    assert engine.archive.post("o/r#5").title == "Zebrafish"
    assert own("github", {"action": "transferred", "issue": ISSUE})["deleted"] == ["o/r#5"]


def test_the_answer_of_a_discussion_is_accepted_until_it_no_longer_is(own, engine):
    address = "https://github.com/o/r/discussions/6"
    answer = COMMENT | {"html_url": f"{address}#discussioncomment-9"}
    thread = {"number": 6, "title": "Zebrafish", "html_url": address}
    answered = thread | {"answer_html_url": answer["html_url"]}
    own("github", {"action": "answered", "discussion": answered, "answer": answer})
    assert engine.archive.post("o/r#6-9").accepted
    own("github", {"action": "edited", "discussion": answered, "comment": answer})
    assert engine.archive.post("o/r#6-9").accepted
    own("github", {"action": "unanswered", "discussion": thread, "old_answer": answer})
    assert not engine.archive.post("o/r#6-9").accepted


@pytest.mark.parametrize(
    ("sender", "body"),
    [
        ("askonce", {"posts": [{"id": "1", "title": "Why?"}], "links": [], "deleted": ["2"]}),
        ("discourse", {"post": TOPIC}),
        ("github", {"action": "created", "issue": ISSUE, "comment": COMMENT}),
        ("github", {"action": "deleted", "issue": ISSUE, "comment": COMMENT}),
    ],
)
def test_a_value_of_another_kind_is_read_or_refused(sender, body):
    for path, value, odd in odd_pages(body):
        try:
            READERS[sender](Record(Path(sender), None, odd), FORUM)
        except AskonceError as error:
            assert "\n" not in str(error)
        except Exception as error:
            pytest.fail(f"{value!r} at {path}: {type(error).__name__}: {error}")


def test_a_duplicate_and_a_first_answer_are_reported_once(engine):
    received, refuse = [], []

    def answer(handler):
        raw = handler.rfile.read(int(handler.headers["Content-Length"]))
        if refuse:
            handler.reply(refuse.pop())
            return
        headers = {name.lower(): value for name, value in handler.headers.items()}
        assert is_signed(SECRET, raw, headers, time.time())
        received.extend(json.loads(raw)["events"])
        handler.reply(204)

    with serving(answer) as url, closing(Client(rate=0, sleep=lambda _: None)) as client:
        notifier = Notifier(engine, url, SECRET, client)
        assert notifier.run() == 0  # what is there is not new
        engine.write([Post("n1", "Why do I keep getting punctures in my rear tyre?")])
        refuse.append(400)
        with pytest.raises(SyncError, match="status 400"):
            notifier.run()
        sent = notifier.run()
        engine.write([Post("n2", "", "Look for a thorn.", "answer", "n1")])
        sent += notifier.run()
        engine.write([Post("n2", "", "Look for a thorn!", "answer", "n1")])  # an edit
        engine.write([Post("n3", "", "Or buy another tyre.", "answer", "n1")])
        assert notifier.run() == 0
    kinds = [event["event"] for event in received]
    assert sent == 2 and kinds == ["likely_duplicate", "answered"]
    assert received[0]["original"]["id"] == "q002"
    assert received[-1]["question"]["id"] == "n1" and received[-1]["answer"]["id"] == "n2"


def test_a_server_sends_events_while_it_runs(engine, monkeypatch, wait_until):
    received = []

    def answer(handler):
        received.extend(
            json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))["events"]
        )
        handler.reply(204)

    with pytest.raises(AskonceError, match="ASKONCE_WEBHOOK_SECRET"):
        run._notifying(engine, "https://forum.example/hook").__enter__()
    monkeypatch.setenv("ASKONCE_WEBHOOK_SECRET", SECRET)
    monkeypatch.setattr(run, "WEBHOOK_SECONDS", 0.01)
    with serving(answer) as url, run._notifying(engine, url):
        wait_until(lambda: engine.archive.position(f"webhook {url}") is not None)
        engine.write([Post("n1", "Why do I keep getting punctures in my rear tyre?")])
        wait_until(lambda: received)
    assert [event["question"]["id"] for event in received] == ["n1"]


def test_signatures_are_compared_whole():
    headers = signature_headers(SECRET, b"x", 100)
    assert is_signed(SECRET, b"x", headers, 101)
    assert not is_signed(SECRET, b"x", headers | {SIGNATURE: headers[SIGNATURE][:-1]}, 101)
    assert not is_signed(SECRET, b"x", {}, 101)
