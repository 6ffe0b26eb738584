"""Webhooks in: a forum tells us of a post as soon as it is written, signed with a shared secret."""

import json
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Request, Response
from fastapi.routing import APIRoute

from askonce.data import formats
from askonce.data.formats.posts import from_json
from askonce.data.forums import Damaged, Imported, Source, converted, discourse, github
from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.server.guard.limits import read_body
from askonce.server.schemas.posts import HookResponse
from askonce.server.service import Service
from askonce.sync.signing import is_signed
from askonce.types import Link, Post

Sender = Literal["askonce", "discourse", "github"]


@dataclass(frozen=True)
class HookEvent:
    """What a webhook tells: posts and links to write, and ids of posts to delete."""

    records: Sequence[Imported]
    deleted: list[str]
    is_partial: bool = False  # whether posts come without their votes and tags


def hook_routes(service: Service) -> APIRouter:
    secret = service.settings.webhook_secret

    class Signed(APIRoute):
        """Routes whose requests are signed, which is checked before the body is parsed."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def checked(request: Request) -> Response:
                service.check_rate(request)
                request = await read_body(request, service.settings.body_bytes)
                if not secret:
                    raise HTTPException(403, "webhooks are off; set ASKONCE_WEBHOOK_SECRET")
                if not is_signed(secret, await request.body(), request.headers, time.time()):
                    raise HTTPException(401, "the signature is missing, wrong or too old")
                async with service.writes.slot():
                    return await handle(request)

            return checked

    router = APIRouter(route_class=Signed, tags=["posts"])

    @router.post("/api/hooks/{sender}", summary="Receive a webhook")
    async def receive(
        request: Request,
        sender: Annotated[Sender, Path(description="The form of the body.", examples=["askonce"])],
    ) -> HookResponse:
        """Write the posts that a forum sends, or delete those that it has deleted.

        ``discourse`` and ``github`` take these services' own webhooks; ``askonce`` takes
        ``{"posts": [...], "links": [...], "deleted": [ids]}``, signed as the documentation says.
        """
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise HTTPException(400, "the request body is not valid JSON") from None
        if not isinstance(body, dict):
            raise HTTPException(422, "expected a JSON object")
        event = READERS[sender](formats.Record(FilePath(sender), None, body), request.headers)
        return await service.run(_write, service.engine, event)

    return router


def _askonce(page: formats.Record, _: Mapping[str, str]) -> HookEvent:
    items = [*page.parts("posts", "post"), *page.parts("links", "link")]
    gone = page.values.get("deleted")
    gone = [name for name in gone if isinstance(name, str)] if isinstance(gone, list) else []
    return HookEvent(list(converted(items, lambda item: [from_json(item)])), gone)


def _discourse(page: formats.Record, headers: Mapping[str, str]) -> HookEvent:
    """An event about a post, or about a deleted topic; others tell nothing that we keep."""
    name, topic = headers.get("x-discourse-event"), page.values.get("topic")
    if name == "topic_destroyed" and isinstance(topic, dict):
        return HookEvent([], [formats.Record(page.path, None, topic).name("id")])
    if not isinstance(page.values.get("post"), dict):
        return HookEvent([], [])
    post = formats.Record(page.path, None, page.values["post"])
    source = Source(site=headers.get("x-discourse-instance"))
    listed = formats.Record(page.path, None, {"latest_posts": [post.values]})
    records = list(discourse.page_posts(listed, source)) if name != "post_destroyed" else []
    # one that was hidden or made private comes as an edit, and is read as nothing
    return HookEvent(records, [] if records else [discourse.post_id(post)], is_partial=True)


def _github(page: formats.Record, _: Mapping[str, str]) -> HookEvent:
    """An event about an issue or a discussion, with the comment or answer that it is about."""
    thread = page.values.get("issue") or page.values.get("discussion")
    if not isinstance(thread, dict):
        return HookEvent([], [])
    if page.values.get("action") in ("deleted", "transferred"):
        gone = github.deleted_id(page)
        return HookEvent([], [gone] if gone else [])
    items = [thread]
    for key in ("comment", "answer", "old_answer"):
        if isinstance(comment := page.values.get(key), dict):
            is_answer = comment.get("html_url", "") == thread.get("answer_html_url")
            address = {"discussion_url": thread.get("html_url"), "isAnswer": is_answer}
            items.append({**address, **comment})
    listed = formats.Record(page.path, None, {"items": items})
    return HookEvent(list(github.page_posts(listed, Source())), [])


READERS: dict[str, Callable[[formats.Record, Mapping[str, str]], HookEvent]] = {
    "askonce": _askonce,
    "discourse": _discourse,
    "github": _github,
}


def _write(engine: Engine, event: HookEvent) -> HookResponse:
    for record in event.records:
        if isinstance(record, Damaged):
            raise AskonceError(str(record))
    posts = [record for record in event.records if isinstance(record, Post)]
    links = [record for record in event.records if isinstance(record, Link)]
    new = {post.id for post in posts if post.kind == "question"}
    ends = {end for link in links for end in (link.source, link.target)}
    known = new | engine.archive.kinds(ends | {post.parent or "" for post in posts}).keys()
    posts = [post for post in posts if post.kind == "question" or post.parent in known]
    links = [link for link in links if {link.source, link.target} <= known]
    if event.is_partial:
        posts = _completed(engine, posts)
    written = engine.write(engine.archive.decisions.keep_merged(posts), links)
    removed = engine.delete(event.deleted) if event.deleted else []
    return HookResponse(
        added=written.added, changed=written.changed, deleted=removed, ids=[p.id for p in posts]
    )


def _completed(engine: Engine, posts: list[Post]) -> list[Post]:
    """Posts with the votes and tags that the archive knows, where the event tells none."""
    stored = engine.archive.posts([post.id for post in posts], html=False)

    def complete(post: Post) -> Post:
        old = stored.get(post.id, post)
        score = old.score if post.score is None else post.score
        return replace(post, score=score, tags=post.tags or old.tags)

    return [complete(post) for post in posts]
