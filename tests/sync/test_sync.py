"""Nothing is lost or doubled: faults, moving pages, kills, files that change."""

import json
import multiprocessing
import os
import random
import signal

import pytest
from sqlalchemy import event

from askonce.archive import Archive
from askonce.data.forums import Source
from askonce.files import write_atomic
from askonce.sync import sync
from askonce.sync.feeds import TOKEN_HEADERS, Address, github_issues
from askonce.sync.http import Client, SyncError
from tests.sync.conftest import Forum, answer_for, quick, serving, stored

FORK = multiprocessing.get_context("fork")


def follow(archive, address, full=False, client=None):
    client = client or quick()
    try:
        return sync(archive, Source(), "changes", address, client, full)
    finally:
        client.close()


def test_all_pages_are_read_then_only_what_changed(archive, forum, address):
    first = follow(archive, address)
    assert stored(archive) == forum.truth()
    assert first.added == len(forum.posts) and first.full
    change = archive.change
    assert follow(archive, address).added == 0 and archive.change == change
    before = len(forum.requests)
    forum.happen(5)
    follow(archive, address)
    assert stored(archive) == forum.truth()
    assert len(forum.requests) - before <= 3
    follow(archive, address)
    last = forum.requests[-1]
    assert follow(archive, address).unchanged == 0  # the tag is still valid
    assert forum.requests[-1] == last


@pytest.mark.parametrize("seed", range(5))
def test_failing_repeating_and_reordered_pages_lose_nothing(archive, seed):
    forum = Forum(seed)
    forum.happen(60)
    forum.faults, forum.moving = 0.3, True
    with serving(answer_for(forum)) as address:
        for _ in range(3):
            follow(archive, address)
            forum.happen(10)
        forum.moving = False
        follow(archive, address)
    assert stored(archive) == forum.truth()


def test_deletions_that_are_not_announced_are_seen_by_a_full_pass(archive, forum, address):
    follow(archive, address)
    archive.write([_other()])  # from elsewhere: stays
    for _ in range(3):
        forum.remove(silently=True)
    assert follow(archive, address).deleted == 0
    summary = follow(archive, address, full=True)
    assert summary.deleted == 3
    assert stored(archive) == forum.truth() | {"other": {"kind": "question", "title": "Other?"}}


def _other():
    from askonce.types import Post

    return Post("other", "Other?")


def test_a_source_that_does_not_answer_is_tried_politely_then_reported(archive, forum, address):
    forum.faults = 1.0
    waits = []
    client = Client(rate=0, sleep=waits.append)
    with pytest.raises(SyncError, match=r"does not answer: .* \(8 attempts\); try again later"):
        follow(archive, address, client=client)
    assert len(waits) == 7 and len(forum.requests) == 8
    assert all(0.7 < wait < 200 for wait in waits)
    forum.faults = 0
    follow(archive, address)
    assert stored(archive) == forum.truth()


def test_requests_keep_to_the_rate(archive, forum, address):
    time = [0.0]

    def sleep(seconds):
        time[0] += seconds

    client = Client(rate=4, sleep=sleep, clock=lambda: time[0])
    follow(archive, address, client=client)
    assert time[0] == pytest.approx((len(forum.requests) - 1) / 4)


@pytest.mark.parametrize(
    ("form", "token", "header", "value"),
    [
        ("github", "secret", "Authorization", "Bearer secret"),
        ("zendesk", "me@x.example/token:k", "Authorization", "Basic bWVAeC5leGFtcGxlL3Rva2VuOms="),
        ("discourse", "secret", "Api-Key", "secret"),
    ],
)
def test_a_token_goes_to_its_own_host_only(form, token, header, value):
    sent = []

    def elsewhere(handler):
        sent.append(("other", handler.headers.get(header)))
        handler.reply(200, {})

    with serving(elsewhere) as other:

        def own(handler):
            sent.append(("own", handler.headers.get(header)))
            handler.reply(302, Location=other.replace("127.0.0.1", "localhost"))

        with serving(own) as address:
            client = Client(rate=0, token=token, token_header=TOKEN_HEADERS.get(form, header))
            client.get(address)
            client.close()
    assert sent == [("own", value), ("other", None)]


def _killed(folder, address, moment):
    """Sync in a process that kills itself at the so-manieth statement or request."""
    left = moment

    def count(*_, **__):
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    archive = Archive.open(folder)
    event.listen(archive._engine, "before_cursor_execute", count)
    event.listen(archive._engine, "commit", count)
    client = quick()
    get = client.get
    client.get = lambda *arguments: (count(), get(*arguments))[1]
    follow(archive, address, client=client, full=moment % 7 == 0)


@pytest.mark.parametrize("most", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_lose_and_double_nothing(most, tmp_path, forum, address):
    folder = tmp_path / "a.askonce"
    Archive.open(folder, create=True).close()
    draw, kills = random.Random(7), 0
    while kills < most:
        child = FORK.Process(target=_killed, args=(folder, address, draw.randrange(1, 120)))
        child.start()
        child.join()
        kills += child.exitcode == -signal.SIGKILL
        assert child.exitcode in (0, -signal.SIGKILL)
        forum.happen(2)
    archive = Archive.open(folder)
    follow(archive, address)
    assert stored(archive) == forum.truth()
    change = archive.change
    assert follow(archive, address, full=True).deleted == 0
    assert archive.change == change  # read again, nothing was new
    archive.close()


def test_only_one_pass_of_a_source_runs_at_a_time(archive, forum, address, client):
    from askonce.errors import AskonceError

    def again(_):
        with pytest.raises(AskonceError, match="is running already"):
            follow(archive, address)

    sync(archive, Source(), "changes", address, client, on_page=again)


def write(path, posts):
    write_atomic(path, "".join(json.dumps(post) + "\n" for post in posts))


def test_a_file_is_read_when_it_has_changed_and_deletions_are_seen(archive, tmp_path):
    path = tmp_path / "posts.jsonl"
    posts = [{"id": f"q{n}", "kind": "question", "title": f"Why {n}?"} for n in range(5)]
    link = {"kind": "link", "source": "q1", "target": "q0"}
    write(path, [*posts, link])
    assert sync(archive, Source(path), "jsonl").added == 5
    assert archive.links() and sync(archive, Source(path), "jsonl").unchanged == 0
    write(path, posts[:2] + posts[3:])
    summary = sync(archive, Source(path), "jsonl")
    assert (summary.unchanged, summary.deleted) == (4, 1)
    # a damaged file is no reason to delete what it no longer shows
    path.write_text(json.dumps(posts[0]) + "\n{")
    summary = sync(archive, Source(path), "jsonl")
    assert (summary.damaged, summary.deleted) == (1, 0) and "line 2" in summary.examples[0]
    assert archive.counts()["questions"] == 4


def test_a_folder_of_pages_is_followed(archive, tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    topic = {"id": 1, "title": "Why?", "post_stream": {"posts": [{"post_number": 1, "raw": "?"}]}}
    (pages / "1.json").write_text(json.dumps(topic))
    assert sync(archive, Source(pages), "discourse").added == 1
    (pages / "2.json").write_text(json.dumps(topic | {"id": 2}))
    (pages / "1.json").unlink()
    summary = sync(archive, Source(pages), "discourse")
    assert (summary.added, summary.deleted) == (1, 1)
    assert [post.id for post in archive.iterate()] == ["2"]


def test_github_issues_and_comments_are_followed(archive):
    issues = [_issue(n) for n in range(1, 4)]
    comment = {
        **{"id": 9, "updated_at": "2024-01-05T00:00:00Z", "body": "Use oil."},
        **{"issue_url": "https://api.github.com/repos/o/r/issues/2"},
        **{"html_url": "https://github.com/o/r/issues/2#issuecomment-9"},
    }

    def answer(handler):
        assert handler.headers["Authorization"] == "Bearer secret"
        is_comments = handler.path.startswith("/repos/o/r/issues/comments?")
        handler.reply(200, [comment] if is_comments else issues)

    with serving(answer) as address:
        url, client = f"{address}/repos/o/r", Client(rate=0, token="secret")
        summary = sync(archive, Source(), "github", url, client)
        assert (summary.added, summary.requests) == (4, 2)
        issues.append(_issue(4))
        assert sync(archive, Source(), "github", url, client).added == 1
        client.close()
    assert archive.post("o/r#2-9").parent == "o/r#2"


def test_the_page_of_a_repository_stands_for_its_address_in_the_api():
    class Recorder(Client):
        def get(self, url, *_):
            return [], url

    source = Address("https://github.com/o/r/", Source())
    page = github_issues(Recorder(), source, {})
    assert page.position["issues"]["tag"] == "https://api.github.com/repos/o/r/issues"


def _issue(number):
    return {
        **{"number": number, "title": f"Why {number}?", "body": "x"},
        **{"html_url": f"https://github.com/o/r/issues/{number}"},
        "updated_at": f"2024-01-0{number}T00:00:00Z",
    }


def test_discourse_topics_are_followed_by_activity(archive, client):
    topics = {n: {"id": n, "bumped_at": f"2024-01-{n:02}T00:00:00Z"} for n in range(1, 6)}
    read = []

    def answer(handler):
        if handler.path.startswith("/latest.json"):
            page = int(handler.path.rpartition("page=")[2])
            newest = sorted(topics.values(), key=lambda t: t["bumped_at"], reverse=True)
            shown = newest[page * 2 : page * 2 + 2]
            handler.reply(200, {"topic_list": {"topics": shown}})
        elif "/posts.json" in handler.path:
            posts = [{"id": 3, "post_number": 3, "raw": "third", "username": "c"}]
            handler.reply(200, {"post_stream": {"posts": posts}})
        else:
            number = int(handler.path.removeprefix("/t/").removesuffix(".json"))
            read.append(number)
            posts = [
                {"id": 1, "post_number": 1, "raw": "first", "username": "a"},
                {"id": 2, "post_number": 2, "raw": "second", "username": "b"},
            ]
            body = {"id": number, "title": f"Topic {number}"}
            body["post_stream"] = {"posts": posts, "stream": [1, 2, 3]}
            handler.reply(200, body)

    with serving(answer) as address:
        summary = sync(archive, Source(site=address), "discourse", address, client)
        assert (summary.added, sorted(read)) == (15, [1, 2, 3, 4, 5])
        read.clear()
        topics[2]["bumped_at"] = "2024-02-01T00:00:00Z"
        sync(archive, Source(site=address), "discourse", address, client)
        assert read == [2, 5]  # the newest of the last pass is looked at again
    assert archive.post("2/3").url == f"{address}/t/2/3"
    assert archive.post("2").author_url == f"{address}/u/a"
