"""Webhooks in: a forum tells us of a post as soon as it is written, signed with a shared secret."""

import json
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Path, Request, Response
from fastapi.routing import APIRoute

from askonce.data import formats
from askonce.data.formats.posts import from_json
from askonce.data.forums import Damaged, Record, Source, converted, discourse, github
from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.server.guard.limits import read_body
from askonce.server.schemas.posts import HookResponse
from askonce.server.service import Service
from askonce.sync.signing import is_signed
from askonce.types import Link, Post

Sender = Literal["askonce", "discourse", "github"]
_DELETED = ("deleted", "post_destroyed", "topic_destroyed")


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
        event = request.headers.get("x-discourse-event") or body.get("action")
        records = list(_READERS[sender](formats.Record(FilePath(sender), None, body)))
        return await service.run(_write, service.engine, records, body, event in _DELETED)

    return router


def _askonce(page: formats.Record) -> Sequence[Record]:
    items = [*page.parts("posts", "post"), *page.parts("links", "link")]
    return list(converted(items, lambda item: [from_json(item)]))


def _discourse(page: formats.Record) -> Sequence[Record]:
    post = page.values.get("post")
    if not isinstance(post, dict):
        return []  # an event about a topic's settings, a user and so on
    base = page.values.get("base_url")
    listed = formats.Record(page.path, None, {"latest_posts": [post]})
    return list(discourse.page_posts(listed, Source(site=base if isinstance(base, str) else None)))


def _github(page: formats.Record) -> Sequence[Record]:
    thread = page.values.get("issue") or page.values.get("discussion")
    comment = page.values.get("comment")
    if not isinstance(thread, dict):
        return []
    items = [thread]
    if isinstance(comment, dict):
        items.append({"discussion_url": thread.get("html_url"), **comment})
    thread = formats.Record(page.path, None, {"items": items})
    return list(github.page_posts(thread, Source()))


_READERS: dict[str, Callable[[formats.Record], Sequence[Record]]] = {
    "askonce": _askonce,
    "discourse": _discourse,
    "github": _github,
}


def _write(
    engine: Engine, records: Sequence[Record], body: dict[str, Any], deleted: bool
) -> HookResponse:
    for record in records:
        if isinstance(record, Damaged):
            raise AskonceError(str(record))
    posts = [record for record in records if isinstance(record, Post)]
    gone = [str(name) for name in body.get("deleted") or () if isinstance(name, str)]
    if deleted:  # the event is about its last post: a comment, or the thread itself
        gone, posts = [post.id for post in posts[-1:]], []
    known = engine.archive.kinds({post.parent or "" for post in posts})
    new = {post.id for post in posts if post.kind == "question"}
    posts = [p for p in posts if p.kind == "question" or p.parent in new | known.keys()]
    ends = engine.archive.kinds(
        {end for r in records if isinstance(r, Link) for end in (r.source, r.target)}
    )
    links = [
        r for r in records if isinstance(r, Link) and {r.source, r.target} <= new | ends.keys()
    ]
    written = engine.write(engine.archive.decisions.keep_merged(posts), links)
    removed = engine.delete(gone) if gone else []
    return HookResponse(
        added=written.added, changed=written.changed, deleted=removed, ids=[p.id for p in posts]
    )
