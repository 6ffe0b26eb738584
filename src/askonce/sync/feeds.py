"""How the HTTP services of forums page what has changed.

A feed reads one page from a position, a JSON object that it alone understands, and returns the
page with the position after it. Pages are asked for by change time: what moves while we read comes
again, and nothing is skipped.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from askonce.data import formats
from askonce.data.formats.posts import from_json
from askonce.data.forums import (
    Damaged,
    Imported,
    Source,
    converted,
    discourse,
    github,
    whole_number,
    zendesk,
)
from askonce.errors import UnknownName
from askonce.registry import nearest
from askonce.sync.http import Client, Gone, NotAllowed, SyncError

Position = dict[str, Any]
LIMIT = 100  # items per page
TOPICS = 25  # posts of a community per page, each with a request for its comments
_GITHUB_PAGE = re.compile(r"^https://(?:www\.)?github\.com/")


@dataclass
class Page:
    """What a page holds, the position after it, and whether there is more to read now."""

    position: Position
    more: bool
    records: list[Imported] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)


Reader = Callable[[formats.Record, Source], Iterator[Imported]]


@dataclass(frozen=True)
class Address:
    """The address that is followed, and the options of its import."""

    url: str
    source: Source

    def record(self, path: str, values: dict[str, Any]) -> formats.Record:
        return formats.Record(Path(path), None, values)

    def records(self, reader: Reader, path: str, values: dict[str, Any]) -> Iterator[Imported]:
        """The posts and links of a page; one that cannot be read is damaged."""
        page = self.record(path, values)
        return converted([page], lambda one: reader(one, self.source))


Feed = Callable[[Client, Address, Position], Page]


def changes(client: Client, address: Address, position: Position) -> Page:
    """Pages ``{"posts", "links", "deleted", "more"}``, oldest change first, from a time on.

    Items are those of the JSONL format with the time of their last change as ``updated``;
    ``deleted`` has objects with ``id`` and ``updated``. The parameters are ``since`` (that time or
    later), ``page`` (from 1) and ``limit``.
    """
    params = {"since": position.get("since", ""), "page": position.get("page", 1), "limit": LIMIT}
    body, tag = client.get(address.url, params, position.get("tag"))
    if body is None:
        return Page(position, more=False)
    body = _with_list(
        address.url, {"posts": [], **body} if isinstance(body, dict) else body, "posts"
    )
    page = address.record("feed", body)
    lists = {name: list(page.parts(name, name)) for name in ("posts", "links", "deleted")}
    records = converted(
        [*lists["posts"], *lists["links"]],
        lambda item: [from_json(_without_time(item), address.source.code)],
    )
    times = [str(item.get("updated", "")) for name in lists for item in _objects(body.get(name))]
    deleted = [str(item.get("id")) for item in _objects(body.get("deleted"))]
    more = bool(body.get("more"))
    return Page(_after(position, max(times, default=""), more, tag), more, list(records), deleted)


def _object(body: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return body if isinstance(body, dict) else {}


def _objects(items: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    """The objects of a list, as far as it is one."""
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _with_list(url: str, body: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """The body, which must be an object with this list."""
    if not isinstance(body, dict) or not isinstance(body.get(name), list):
        raise SyncError(f"{url}: expected an object with {name!r}, found {str(body)[:80]!r}")
    return body


def _without_time(item: formats.Record) -> formats.Record:
    values = {name: value for name, value in item.values.items() if name != "updated"}
    if "source" in values and "kind" not in values:
        values["kind"] = "link"
    return formats.Record(item.path, item.line, values)


def _after(position: Position, latest: str, more: bool, tag: str | None) -> Position:
    """The position after a page by change time.

    A page that brings no later time has items of one moment only: then the next page of that time
    is asked for. When all is read, the entity tag tells whether anything has changed since.
    """
    since = position.get("since", "")
    if not more:
        return {"since": max(latest, since), **({"tag": tag} if tag and latest <= since else {})}
    if latest > since:
        return {"since": latest}
    return {"since": since, "page": position.get("page", 1) + 1}


def github_issues(client: Client, address: Address, position: Position) -> Page:
    """Issues, then comments, of ``https://api.github.com/repos/OWNER/NAME`` by change time.

    The address of the repository's page, ``https://github.com/OWNER/NAME``, will do too.
    """
    part = position.get("part", "issues")
    own = position.get(part, {})
    path = "issues" if part == "issues" else "issues/comments"
    params = {"sort": "updated", "direction": "asc", "per_page": LIMIT, "page": own.get("page", 1)}
    params |= {"state": "all"} if part == "issues" else {}
    params |= {"since": own["since"]} if own.get("since") else {}
    base = _GITHUB_PAGE.sub("https://api.github.com/repos/", address.url.rstrip("/"))
    url = f"{base}/{path}"
    items, tag = client.get(url, params, own.get("tag"))
    items, unchanged = (items or []), items is None
    if not isinstance(items, list):
        raise SyncError(f"{url}: expected a list, found {str(items)[:80]!r}")
    objects = _objects(items)
    records: list[Imported] = []
    for item in objects:
        records += address.records(github.page_posts, path, item)
    latest = max((str(item.get("updated_at", "")) for item in objects), default="")
    more = len(items) >= LIMIT
    after = own if unchanged else _after(own, latest, more, tag)
    last = part == "comments" and not more
    following = part if more else ("comments" if part == "issues" else "issues")
    return Page({**position, part: after, "part": following}, not last, records)


def discourse_topics(client: Client, address: Address, position: Position) -> Page:
    """Topics of ``https://forum.example``, by their latest activity, newest first.

    Newer activity pushes topics down, so they come twice rather than never; the next pass begins
    where the first page of this one began. Edits that do not bump a topic need ``--full``.
    """
    base, number = address.url.rstrip("/"), position.get("page", 0)
    body, _ = client.get(f"{base}/latest.json", {"order": "activity", "page": number})
    listed = _objects(_object(_object(body).get("topic_list")).get("topics"))
    since, high = position.get("since", ""), position.get("high", "")
    records: list[Imported] = []
    reached = not listed
    for topic in listed:
        bumped = str(topic.get("bumped_at") or topic.get("last_posted_at") or "")
        high = max(high, bumped) if number == 0 else high
        if bumped < since and not topic.get("pinned"):
            reached = True
            break
        records += _topic(client, address, base, topic.get("id"))
    if reached:
        return Page({"since": max(high, since)}, False, records)
    return Page({"since": since, "high": high, "page": number + 1}, True, records)


def _topic(client: Client, address: Address, base: str, topic: object) -> Iterator[Imported]:
    """All posts of a topic; the first twenty come with it, the others by their ids."""
    try:
        body, _ = client.get(f"{base}/t/{topic}.json")
    except Gone:
        return
    body = _object(body)
    yield from address.records(discourse.page_posts, "topic", body)
    stream = _object(body.get("post_stream"))
    read = [post.get("id") for post in _objects(stream.get("posts"))]
    rest = stream.get("stream")
    rest = [post for post in rest if post not in read] if isinstance(rest, list) else []
    for start in range(0, len(rest), LIMIT):
        params = {"post_ids[]": rest[start : start + LIMIT]}
        more, _ = client.get(f"{base}/t/{topic}/posts.json", params)
        values = {**body, "post_stream": _object(more).get("post_stream")}
        yield from address.records(discourse.page_posts, "topic", values)


def help_centre(client: Client, address: Address, position: Position) -> Page:
    """Articles of ``https://NAME.zendesk.com`` by its incremental export, then its community."""
    if position.get("part") == "community":
        return _community(client, address, position)
    url = f"{address.url.rstrip('/')}/api/v2/help_center/incremental/articles.json"
    start = position.get("start", 0)
    body, _ = client.get(url, {"start_time": start, "include": "users"})
    body = _with_list(url, body, "articles")
    records = list(address.records(zendesk.page_posts, "articles", body))
    end = body.get("end_time")
    moved = isinstance(end, int) and end > start
    after = {**position, "start": end if moved else start}
    if not (moved and body.get("next_page")):
        after["part"] = "community"
    return Page(after, True, records)


def _community(client: Client, address: Address, position: Position) -> Page:
    """Posts of the community with their comments, by their latest activity, newest first.

    A post that is as it was on the first page of the last pass ends a pass: whatever has happened
    since is above it. A post that is deleted moves the others up, so the page before is read again.
    """
    url = f"{address.url.rstrip('/')}/api/v2/community/posts"
    number, known = position.get("page", 1), position.get("known", [])
    end: Position = {"start": position.get("start", 0), "known": known}
    params = {"sort_by": "recent_activity", "include": "users", "per_page": TOPICS, "page": number}
    try:
        body, _ = client.get(f"{url}.json", params)
    except Gone:  # a help centre without a community
        return Page(end, more=False)
    except NotAllowed as error:  # its articles are followed all the same
        return Page(end, False, [Damaged("community", str(error))])
    body = _with_list(f"{url}.json", body, "posts")
    total = whole_number(body.get("count"))
    if number > 1 and total < position.get("total", 0):
        return Page({**position, "page": number - 1, "total": total}, more=True)
    posts = _objects(body["posts"])
    first = position.get("first") or [_state(post) for post in posts]
    changed = list(takewhile(lambda post: post.get("pinned") or _state(post) not in known, posts))
    records = list(address.records(zendesk.page_posts, "posts", {**body, "posts": changed}))
    for post in changed:
        records += _comments(client, address, f"{url}/{post.get('id')}/comments.json")
    if len(changed) < len(posts) or not body.get("next_page"):
        return Page({**end, "known": first}, False, records)
    following = {"first": first, "page": number + 1, "total": total}
    return Page({**position, **following}, True, records)


def _state(post: dict[str, Any]) -> list[Any]:
    """What changes with the activity on a post of the community."""
    return [post.get(name) for name in ("id", "updated_at", "comment_count")]


def _comments(client: Client, address: Address, url: str) -> Iterator[Imported]:
    """All comments of a post, page by page, until a page brings nothing new."""
    seen: list[Any] = []
    number, more = 1, True
    while more:
        try:
            body, _ = client.get(url, {"include": "users", "per_page": LIMIT, "page": number})
        except Gone:
            return
        body = _object(body)
        yield from address.records(zendesk.page_posts, "comments", body)
        new = [item.get("id") for item in _objects(body.get("comments"))]
        number, more = number + 1, bool(body.get("next_page")) and new != seen
        seen = new


FEEDS: dict[str, Feed] = {
    "changes": changes,
    "discourse": discourse_topics,
    "github": github_issues,
    "zendesk": help_centre,
}
TOKEN_HEADERS = {"discourse": "Api-Key"}  # of other sources: Authorization


def feed_of(name: str) -> Feed:
    if name not in FEEDS:
        raise UnknownName(f"no HTTP source is called {name!r}; {nearest(name, FEEDS)}")
    return FEEDS[name]
