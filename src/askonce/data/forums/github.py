"""GitHub: Issues and Discussions, as the REST API, GraphQL and `gh … --json` write them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from askonce.data import formats
from askonce.data.formats.posts import text_and_html
from askonce.data.formats.sources import display_name, web_address
from askonce.data.forums import (
    IMPORTERS,
    Imported,
    Source,
    converted,
    host_of,
    iso_date,
    names_of,
    whole_number,
)
from askonce.errors import DataError
from askonce.text.leaks import strip_notices
from askonce.types import Link, Origin, Post

_WHAT = "a file or folder of JSON pages of GitHub's API"
_ADDRESS = re.compile(r"[:/](?P<repo>[^/:]+/[^/]+)/(?:issues|discussions|pull)/(?P<number>\d+)")
_COMMENT = re.compile(r"(?:comments?[/-]|#\D*)(?P<number>\d+)$")
_DUPLICATE = re.compile(
    r"\s*duplicate of (?:https://[\w.-]+/)?(?:(?P<repo>[\w.-]+/[\w.-]+))?"
    r"(?:#|/(?:issues|discussions)/)(?P<number>\d+)\W*\Z",
    re.I,
)


class _Thread(NamedTuple):
    """The question that comments belong to."""

    repo: str
    number: str
    answer: object  # the id or address of the chosen answer

    @property
    def id(self) -> str:
        return f"{self.repo}#{self.number}"


@IMPORTERS.add("github", "github-issues", "github-discussions")
def read(source: Source) -> Iterator[Imported]:
    """Issues and Discussions of GitHub: pages of REST, results of GraphQL, or of `gh --json`.

    A comment is an answer, the chosen one accepted; "Duplicate of #12" becomes a link. Pull
    requests and what bots write are left out.
    """
    yield from converted(source.json_pages(_WHAT), lambda page: page_posts(page, source))


def page_posts(page: formats.Record, source: Source) -> Iterator[Imported]:
    yield from converted(_items(page), lambda item: _item_posts(item, source))


def deleted_id(event: formats.Record) -> str | None:
    """The id of what a webhook about something deleted is about: the comment, else the thread."""
    thread = event.values.get("issue") or event.values.get("discussion")
    if not isinstance(thread, dict):
        return None
    repo, number = _where(event, str(thread.get("html_url")))
    question = _Thread(repo, number, None)
    comment = event.values.get("comment")
    if not isinstance(comment, dict):
        return question.id
    return f"{question.id}-{_comment_number(formats.Record(event.path, None, comment))}"


def _item_posts(item: formats.Record, source: Source) -> Iterator[Imported]:
    if "title" in item.values:
        yield from _question(item, source)
        return
    address = item.values.get("issue_url") or item.values.get("discussion_url")
    repo, number = _where(item, str(address))
    yield from _comment(item, _Thread(repo, number, None), source)


def _items(page: formats.Record) -> Iterator[formats.Record | DataError]:
    """The issues, discussions and comments of a page, wherever GraphQL nests them."""
    values = page.values
    if "title" in values or "issue_url" in values or "discussion_url" in values:
        number = values.get("number", values.get("id"))
        yield page.inside(f"item {number}", values)
        return
    nested = [(key, value) for key, value in values.items() if isinstance(value, dict | list)]
    lists = ("nodes", "items", "issues", "discussions", "comments")
    if not any(key in (*lists, "data", "repository", "node", "search") for key, _ in nested):
        raise page.error("issues, discussions or comments", list(values)[:10])
    for key, value in nested:
        if isinstance(value, dict):
            if "title" in value or any(isinstance(one, dict | list) for one in value.values()):
                yield from _items(formats.Record(page.path, page.line, value))
        elif key in lists:
            for item in page.parts(key, key):
                yield from [item] if isinstance(item, DataError) else _items(item)


def _question(item: formats.Record, source: Source) -> Iterator[Imported]:
    if "pull_request" in item.values or _is_bot(item.values):
        return
    address = item.values.get("html_url") or item.values.get("url") or ""
    repo, number = _where(item, str(address))
    answer = item.values.get("answer")
    chosen = answer.get("id") if isinstance(answer, dict) else item.values.get("answer_html_url")
    thread = _Thread(repo, number, chosen)
    body, html = _text(item, source.code)
    yield Post(
        id=thread.id,
        title=strip_notices(item.text("title")),
        body=body,
        score=_votes(item.values),
        tags=_tags(item.values),
        created=iso_date(item.values.get("created_at") or item.values.get("createdAt")),
        html=html,
        **_origin(item.values, source),
    )
    comments = item.values.get("comments")
    if isinstance(comments, dict):
        comments = comments.get("nodes")
    if isinstance(comments, list):  # REST gives their number only
        holder = formats.Record(item.path, item.line, {"nodes": comments})
        yield from converted(
            holder.parts("nodes", "comment"), lambda each: _comment(each, thread, source)
        )


def _comment(item: formats.Record, thread: _Thread, source: Source) -> Iterator[Imported]:
    values = item.values
    body, html = _text(item, source.code)
    if original := _DUPLICATE.fullmatch(body):
        yield Link(thread.id, f"{original['repo'] or thread.repo}#{original['number']}")
        return
    if _is_bot(values) or values.get("isMinimized"):
        return
    if body.strip():
        address = values.get("html_url") or values.get("url")
        chosen = thread.answer is not None and thread.answer in (values.get("id"), address)
        yield Post(
            id=f"{thread.id}-{_comment_number(item)}",
            body=body,
            kind="answer",
            parent=thread.id,
            score=_votes(values),
            accepted=chosen or values.get("isAnswer") is True,
            created=iso_date(values.get("created_at") or values.get("createdAt")),
            html=html,
            **_origin(values, source),
        )
    replies = values.get("replies")
    if isinstance(replies, dict):
        holder = formats.Record(item.path, item.line, replies)
        yield from converted(
            holder.parts("nodes", "reply"), lambda each: _comment(each, thread, source)
        )


def _comment_number(item: formats.Record) -> str:
    for key in ("databaseId", "id"):
        if type(item.values.get(key)) is int:
            return str(item.values[key])
    address = str(item.values.get("html_url") or item.values.get("url") or "")
    match = _COMMENT.search(address)
    return match["number"] if match else item.name("id")


def _where(item: formats.Record, address: str) -> tuple[str, str]:
    """Repository and number of an issue or discussion, by its address."""
    match = _ADDRESS.search(address)
    if match is None:
        raise item.error("the address of an issue or discussion", address)
    return match["repo"], match["number"]


def _text(item: formats.Record, code: bool) -> tuple[str, str]:
    for key in ("bodyHTML", "body_html"):
        if isinstance(html := item.values.get(key), str) and html:
            return text_and_html(html, code)
    text = item.optional("body", str) or item.optional("bodyText", str) or ""
    return strip_notices(text).strip(), ""


def _author(values: Mapping[str, Any]) -> Mapping[str, Any]:
    author = values.get("user") or values.get("author")
    return author if isinstance(author, dict) else {}


def _is_bot(values: Mapping[str, Any]) -> bool:
    author = _author(values)
    kind = author.get("type") or author.get("__typename")
    is_bot = kind == "Bot" or author.get("is_bot") is True
    return is_bot or str(author.get("login", "")).endswith("[bot]")


def _origin(values: Mapping[str, Any], source: Source) -> Origin:
    author, url = _author(values), web_address(values.get("html_url") or values.get("url"))
    site = host_of(url)
    login = display_name(author.get("login"))
    own = author.get("html_url") or (f"https://{site}/{login}" if site and login else None)
    return Origin(
        url=url,
        author=display_name(author.get("name")) or login,
        author_url=web_address(own),
        site=display_name(source.site) or site,
        licence=None,
    )


def _votes(values: Mapping[str, Any]) -> int | None:
    if type(values.get("upvoteCount")) is int:
        return int(values["upvoteCount"])
    reactions = values.get("reactions")
    if isinstance(reactions, dict) and type(reactions.get("+1")) is int:
        return whole_number(reactions["+1"]) - whole_number(reactions.get("-1"))
    groups = values.get("reactionGroups")
    if not isinstance(groups, list):
        return None
    counts = {
        str(group.get("content")): _count(group) for group in groups if isinstance(group, dict)
    }
    return counts.get("THUMBS_UP", 0) - counts.get("THUMBS_DOWN", 0)


def _count(group: Mapping[str, Any]) -> int:
    people = group.get("reactors") or group.get("users")
    return whole_number(people.get("totalCount")) if isinstance(people, dict) else 0


def _tags(values: Mapping[str, Any]) -> tuple[str, ...]:
    labels = values.get("labels")
    labels = labels.get("nodes") if isinstance(labels, dict) else labels
    labels = labels if isinstance(labels, list) else []
    return names_of([*labels, values.get("category")])
