"""A service that replies with values of the wrong kind is reported, and the loop goes on."""

import pytest

from askonce.data.forums import Source
from askonce.errors import AskonceError
from askonce.sync.feeds import Address, feed_of
from tests.data.forums.samples import discourse, github, zendesk
from tests.data.forums.samples.odd import ODD, odd_pages

TOPIC = discourse.SAMPLE[1][0]
LATEST = {"topic_list": {"topics": [{"id": 1, "bumped_at": "2024", "pinned": False}]}}
CHANGES = {
    "posts": [{"id": "1", "kind": "question", "title": "Why?", "updated": "2024"}],
    "links": [{"source": "1", "target": "2", "updated": "2024"}],
    "deleted": [{"id": "3", "updated": "2024"}],
    "more": False,
}
COMMUNITY = {
    "posts": [{"id": 1, "title": "Why?", "updated_at": "2024", "comment_count": 1}],
    "count": 1,
    "next_page": None,
}
COMMENTS = {"comments": [{"id": 2, "post_id": 1, "body": "So."}], "next_page": None}
ISSUES = [page for page in github.SAMPLE[1] if "issue_url" in page or "title" in page]
ARTICLES = {**zendesk.SAMPLE[1][0], "end_time": 5, "next_page": None}


class Replies:
    """A client whose services reply with what was given for a part of the address."""

    requests = 0

    def __init__(self, replies):
        self.replies = replies

    def get(self, url, *_):
        return next(reply for part, reply in self.replies.items() if part in url), None


CASES = [
    ("changes", {"": CHANGES}, ""),
    ("discourse", {"/latest": LATEST, "/posts": TOPIC, "/t/": TOPIC}, "/latest"),
    ("discourse", {"/latest": LATEST, "/posts": TOPIC, "/t/": TOPIC}, "/t/"),
    ("discourse", {"/latest": LATEST, "/posts": TOPIC, "/t/": TOPIC}, "/posts"),
    ("github", {"": ISSUES}, ""),
    ("zendesk", {"articles": ARTICLES}, "articles"),
    ("zendesk", {"comments": COMMENTS, "posts": COMMUNITY}, "posts"),
    ("zendesk", {"comments": COMMENTS, "posts": COMMUNITY}, "comments"),
]


@pytest.mark.parametrize(("form", "replies", "changed"), CASES)
def test_a_reply_of_another_kind_is_an_error_of_one_line(form, replies, changed):
    feed = feed_of(form)
    part = {"part": "community"} if "comments" in replies else {}
    address = Address("https://forum.example", Source(site="https://forum.example"))
    pages = [((), value, value) for value in ODD]
    for path, value, odd in (*pages, *odd_pages(replies[changed])):
        try:
            feed(Replies(replies | {changed: odd}), address, part)
        except AskonceError as error:
            assert "\n" not in str(error)
        except Exception as error:
            pytest.fail(f"{value!r} at {path}: {type(error).__name__}: {error}")
