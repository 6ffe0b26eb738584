"""Discourse: topics as its API pages them, and the JSON of its category export."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from askonce.data import formats
from askonce.data.formats.posts import text_and_html
from askonce.data.formats.sources import display_name, web_address
from askonce.data.forums import (
    IMPORTERS,
    Imported,
    Source,
    by_id,
    converted,
    host_of,
    iso_date,
    names_of,
    whole_number,
)
from askonce.text.leaks import strip_notices
from askonce.types import Post

_WHAT = "a file or folder of Discourse's JSON (/t/ID.json, /posts.json or an export)"
_REGULAR = (1, 2)  # post types: by users, by moderators; others are notices
_LIKE = 2  # the action that is a like


@IMPORTERS.add("discourse")
def read(source: Source) -> Iterator[Imported]:
    """Topics of Discourse: saved pages of its public API, or the export of categories.

    The first post of a topic is a question, the others are its answers; the marked solution is
    accepted, likes are votes. Notices, whispers, private messages and hidden or deleted posts are
    left out. ``site`` is the forum's address, for links.
    """
    yield from converted(source.json_pages(_WHAT), lambda page: page_posts(page, source))


def page_posts(page: formats.Record, source: Source) -> Iterator[Imported]:
    """The posts of one page: of a topic, of the latest posts, or of an export."""
    site = source.address
    if "latest_posts" in page.values:
        yield from converted(
            page.parts("latest_posts", "post"),
            lambda post: _Topic(post.values, "topic_id", {}, site).post(post, source.code),
        )
    elif "topics" in page.values:
        users = by_id(page.parts("users", "user"))
        yield from converted(
            page.parts("topics", "topic"),
            lambda topic: _posts(topic, _Topic(topic.values, "id", users, site), source.code),
        )
    else:
        stream = page.values.get("post_stream")
        if not isinstance(stream, dict):
            raise page.error("'post_stream', 'latest_posts' or 'topics'", list(page.values)[:10])
        posts = page.inside(f"topic {page.values.get('id')}", stream)
        yield from _posts(posts, _Topic(page.values, "id", {}, site), source.code)


def post_id(post: formats.Record) -> str:
    """The id of a post that names its topic, as in webhooks."""
    topic, number = _Topic(post.values, "topic_id", {}, None).numbers(post)
    return topic if number == 1 else f"{topic}/{number}"


def _posts(holder: formats.Record, topic: "_Topic", code: bool) -> Iterator[Imported]:
    yield from converted(holder.parts("posts", "post"), lambda post: topic.post(post, code))


@dataclass(frozen=True)
class _Topic:
    values: Mapping[str, Any]
    key: str  # where the topic's number is
    users: Mapping[str, Mapping[str, Any]]
    site: str | None

    def post(self, post: formats.Record, code: bool) -> list[Post]:
        values = post.values
        archetype = values.get("topic_archetype") or self.values.get("archetype")
        is_gone = values.get("hidden") or values.get("deleted_at") or values.get("user_deleted")
        is_regular = values.get("post_type", 1) in _REGULAR
        if is_gone or not is_regular or archetype == "private_message":
            return []
        topic, number = self.numbers(post)
        body, html = _text(post, code)
        is_question = number == 1
        solution = self.values.get("accepted_answer")
        marked = isinstance(solution, dict) and solution.get("post_number") == number
        is_accepted = marked or values.get("accepted_answer") is True
        title = str(self.values.get("title") or values.get("topic_title") or "")
        username = values.get("username") or self._user(values).get("username")
        return [
            Post(
                id=topic if is_question else f"{topic}/{number}",
                title=strip_notices(title) if is_question else "",
                body=body,
                kind="question" if is_question else "answer",
                parent=None if is_question else topic,
                score=_votes(values),
                accepted=not is_question and is_accepted,
                tags=names_of(self.values.get("tags")) if is_question else (),
                created=iso_date(values.get("created_at")),
                html=html,
                url=web_address(f"{self.site}/t/{topic}/{number}") if self.site else None,
                author=display_name(values.get("name") or self._user(values).get("name"))
                or display_name(username),
                author_url=web_address(f"{self.site}/u/{username}")
                if self.site and username
                else None,
                site=host_of(self.site),
            )
        ]

    def numbers(self, post: formats.Record) -> tuple[str, int]:
        """The number of the topic, and that of the post in it."""
        values = {"topic": self.values.get(self.key, post.values.get("topic_id"))}
        number = post.optional("post_number", int)
        if number is None:
            raise post.error("'post_number'", "nothing")
        return formats.Record(post.path, None, values).name("topic"), number

    def _user(self, post: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.users.get(str(post.get("user_id")), {})


def _text(post: formats.Record, code: bool) -> tuple[str, str]:
    if isinstance(cooked := post.values.get("cooked"), str):
        return text_and_html(cooked, code)
    return strip_notices(post.text("raw")).strip(), ""


def _votes(post: Mapping[str, Any]) -> int | None:
    for key in ("post_voting_vote_count", "like_count"):
        if type(post.get(key)) is int:
            return int(post[key])
    actions = post.get("actions_summary")
    for action in actions if isinstance(actions, list) else ():
        if isinstance(action, dict) and action.get("id") == _LIKE:
            return whole_number(action.get("count"))
    return None
