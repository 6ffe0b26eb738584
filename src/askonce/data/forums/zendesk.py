"""Help centres: articles and community posts, as Zendesk's API pages them."""

import re
from collections.abc import Iterator, Mapping
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
)
from askonce.text.leaks import strip_notices
from askonce.types import Origin, Post

_WHAT = "a file or folder of JSON pages of a help centre's API"
_POST = re.compile(r"/posts/(\d+)")
_LISTS = ("articles", "posts", "comments")


@IMPORTERS.add("zendesk", "help-center", "help-centre")
def read(source: Source) -> Iterator[Imported]:
    """A help centre as Zendesk's API pages it: articles, community posts and their comments.

    An article is a question, its title, with one accepted answer, its text. A comment answers its
    post; an official one is accepted. Drafts are left out. Names come from pages with ``users``
    (``include=users``).
    """
    yield from converted(source.json_pages(_WHAT), lambda page: page_posts(page, source))


def page_posts(page: formats.Record, source: Source) -> Iterator[Imported]:
    if not any(isinstance(page.values.get(name), list) for name in _LISTS):
        raise page.error("a page with 'articles', 'posts' or 'comments'", list(page.values)[:10])
    users = by_id(page.parts("users", "user"))

    def origin(values: Mapping[str, Any]) -> Origin:
        url = web_address(values.get("html_url"))
        author = users.get(str(values.get("author_id")), {})
        return Origin(
            url=url,
            author=display_name(author.get("name")),
            author_url=None,
            site=display_name(source.site) or host_of(url),
            licence=None,
        )

    yield from converted(
        page.parts("articles", "article"),
        lambda item: _article(item, origin(item.values), source.code),
    )
    yield from converted(
        page.parts("posts", "post"), lambda item: _question(item, origin(item.values), source.code)
    )
    yield from converted(
        page.parts("comments", "comment"),
        lambda item: _comment(item, origin(item.values), source.code),
    )


def _article(item: formats.Record, origin: Origin, code: bool) -> Iterator[Post]:
    if item.values.get("draft"):
        return
    number = f"article-{item.name('id')}"
    created = iso_date(item.values.get("created_at"))
    tags = names_of(item.values.get("label_names"))
    yield Post(number, item.text("title").strip(), tags=tags, created=created, **origin)
    body, html = text_and_html(item.optional("body", str) or "", code)
    if body:
        yield Post(
            id=f"{number}-text",
            body=body,
            kind="answer",
            parent=number,
            score=item.optional("vote_sum", int),
            accepted=True,
            created=created,
            html=html,
            **origin,
        )


def _question(item: formats.Record, origin: Origin, code: bool) -> Iterator[Post]:
    body, html = text_and_html(item.optional("details", str) or "", code)
    yield Post(
        id=f"post-{item.name('id')}",
        title=strip_notices(item.text("title")).strip(),
        body=body,
        score=item.optional("vote_sum", int),
        tags=names_of(item.values.get("content_tags")),
        created=iso_date(item.values.get("created_at")),
        html=html,
        **origin,
    )


def _comment(item: formats.Record, origin: Origin, code: bool) -> Iterator[Post]:
    parent = item.values.get("post_id")
    address = _POST.search(str(item.values.get("url") or item.values.get("html_url") or ""))
    if parent is None and address is None:
        if item.values.get("source_type") == "Article":
            return  # what readers say below an article answers nothing
        raise item.error("'post_id', or the address of a comment on a post", "neither")
    number = parent if parent is not None else address[1] if address else ""
    body, html = text_and_html(item.text("body"), code)
    yield Post(
        id=f"comment-{item.name('id')}",
        body=body,
        kind="answer",
        parent=f"post-{number}",
        score=item.optional("vote_sum", int),
        accepted=item.values.get("official") is True,
        created=iso_date(item.values.get("created_at")),
        html=html,
        **origin,
    )
