"""Feedback over HTTP."""

import pytest

from askonce.server import Keys, ServerSettings
from askonce.server.service import FEEDBACK_RATE

BODY = {"question": "flat rear tyre", "id": "q002", "mark": "same", "visitor": "visitor-0000-0001"}


def send(client, address="10.1.1.1", **changes):
    headers = {"x-forwarded-for": address}  # this machine is trusted as a proxy
    return client.post("/api/feedback", json={**BODY, **changes}, headers=headers)


def test_a_mark_is_stored_without_personal_data(writing):
    assert send(writing).json() == {"stored": True, "mark": "same"}
    send(writing, mark="different").raise_for_status()  # replaces it
    send(writing, id="a0003", mark="answered").raise_for_status()
    (week,) = writing.get("/api/models").json()["feedback"]
    assert (week["marks"], week["right"], week["wrong"]) == (2, 1, 1)
    assert 0 < week["mrr"] <= 1
    assert send(writing, mark="none").json() == {"stored": True, "mark": "none"}
    # from another address: one address may send only four marks at once
    again = send(writing, "10.1.1.2", mark="none")
    assert again.json() == {"stored": False, "mark": "none"}


def test_what_cannot_be_marked_is_refused(writing):
    for number, (status, changes) in enumerate(
        [
            (404, {"id": "nothing"}),
            (422, {"mark": "answered"}),  # q002 is a question
            (422, {"id": "a0003"}),  # and this an answer
            (422, {"question": "  "}),
            (422, {"mark": "wonderful"}),
            (422, {"visitor": "short"}),
            (403, {"mark": "click"}),
        ]
    ):
        response = send(writing, f"10.2.2.{number}", **changes)
        assert response.status_code == status, changes
        assert response.json()["error"]["message"]
    assert writing.get("/api/models").json()["feedback"] == []


def test_feedback_is_limited_per_address(writing):
    burst = int(2 * FEEDBACK_RATE)
    statuses = [send(writing, visitor=f"visitor-0000-{n:04}").status_code for n in range(3 * burst)]
    assert statuses[:burst] == [200] * burst
    assert 429 in statuses
    assert send(writing, "10.9.9.9").status_code == 200


def test_clicks_are_recorded_where_the_operator_wants_them(serve):
    client = serve(ServerSettings(keys=Keys(open_writes=True), clicks=True))
    assert send(client, mark="click").json() == {"stored": True, "mark": "click"}
    assert client.get("/api/models").json()["feedback"] == [], "clicks are no explicit marks"


@pytest.mark.parametrize("read", [b"", b"x"])
def test_a_read_key_protects_feedback_too(serve, read):
    from hashlib import sha256

    key = "reader-key-0123456789"
    keys = Keys(read=(sha256(key.encode()).digest(),)) if read else Keys()
    client = serve(ServerSettings(keys=keys))
    assert send(client, mark="none").status_code == (401 if read else 200)
