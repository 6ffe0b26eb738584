"""Webhooks in and out, signed."""

import json
import time
from contextlib import closing

import pytest

from askonce.engine import Engine
from askonce.server import Keys, ServerSettings
from askonce.sync.events import Notifier
from askonce.sync.http import Client, SyncError
from askonce.sync.signing import SIGNATURE, is_signed, signature_headers
from askonce.types import Post
from tests.sync.conftest import serving

SECRET = "a secret of the test"


@pytest.fixture
def engine():
    with Engine.open("bicycles") as engine:
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


def test_discourse_and_github_send_their_own_form(hooked, engine):
    import hmac

    def own(sender, name, body, **headers):
        raw = json.dumps(body).encode()
        signature = hmac.new(SECRET.encode(), raw, "sha256").hexdigest()
        return hooked.post(
            f"/api/hooks/{sender}", content=raw, headers={name: f"sha256={signature}", **headers}
        )

    post = {"topic_id": 7, "topic_title": "Zebrafish", "post_number": 1, "cooked": "<p>Why?</p>"}
    response = own("discourse", "X-Discourse-Event-Signature", {"post": post})
    assert response.json()["ids"] == ["7"]
    gone = {"X-Discourse-Event": "post_destroyed"}
    response = own("discourse", "X-Discourse-Event-Signature", {"post": post}, **gone)
    assert response.json()["deleted"] == ["7"]
    issue = {"number": 5, "title": "Zebrafish", "html_url": "https://github.com/o/r/issues/5"}
    comment = {"id": 9, "body": "Feed it.", "html_url": "https://github.com/o/r/issues/5#c-9"}
    body = {"action": "created", "issue": issue, "comment": comment}
    assert own("github", "X-Hub-Signature-256", body).json()["ids"] == ["o/r#5", "o/r#5-9"]
    body["action"] = "deleted"
    assert own("github", "X-Hub-Signature-256", body).json()["deleted"] == ["o/r#5-9"]
    assert engine.archive.post("o/r#5").title == "Zebrafish"


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


def test_signatures_are_compared_whole():
    headers = signature_headers(SECRET, b"x", 100)
    assert is_signed(SECRET, b"x", headers, 101)
    assert not is_signed(SECRET, b"x", headers | {SIGNATURE: headers[SIGNATURE][:-1]}, 101)
    assert not is_signed(SECRET, b"x", {}, 101)
