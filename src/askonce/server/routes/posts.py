"""Routes that read, add, edit and delete posts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Body, HTTPException, Path

from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.server.schemas.posts import (
    DeleteResponse,
    FullPost,
    PostTitle,
    Thread,
    WriteResponse,
)
from askonce.server.schemas.requests import IdsBody, OneOrMany, PostBody, PostEdit, PostsBody
from askonce.server.service import Service
from askonce.text.html import html_to_text
from askonce.text.sanitise import clean_text
from askonce.types import SOURCE_FIELDS, Link, Post

# ":path" because the ids of some forums contain slashes
ONE_POST = "/api/posts/{post_id:path}"
PostId = Annotated[str, Path(description="The post's id.", examples=["q002"])]


def read_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=service.route("read", service.queries), tags=["posts"])

    @router.get(ONE_POST, summary="Read a post with its answers")
    async def show(post_id: PostId) -> Thread:
        """A post, its answers, and its duplicates."""
        return await service.run(_thread, service.engine, post_id)

    return router


def write_routes(service: Service) -> APIRouter:
    router = APIRouter(route_class=service.route("write", service.writes), tags=["posts"])

    @router.post("/api/posts", status_code=201, summary="Add or replace posts")
    async def add(body: Annotated[OneOrMany, Body()]) -> WriteResponse:
        """One post, or several posts and links, written together or not at all.

        When the response arrives the write is on disk, and the next query sees it.
        """
        return await service.run(_add, service.engine, body)

    @router.post("/api/posts/delete", summary="Delete posts")
    async def delete_many(body: IdsBody) -> DeleteResponse:
        """Delete posts, and the answers to deleted questions; unknown ids are ignored."""
        return DeleteResponse(deleted=await service.run(service.engine.delete, body.ids))

    @router.put(ONE_POST, summary="Edit a post")
    async def edit(post_id: PostId, body: PostEdit) -> WriteResponse:
        """Change the fields that are sent; the previous version is kept as a revision."""
        return await service.run(_edit, service.engine, post_id, body)

    @router.delete(ONE_POST, summary="Delete a post")
    async def delete(post_id: PostId) -> DeleteResponse:
        """Delete a post, and its answers if it is a question."""
        deleted = await service.run(service.engine.delete, [post_id])
        if not deleted:
            raise _not_found(post_id)
        return DeleteResponse(deleted=deleted)

    return router


def _thread(engine: Engine, post_id: str) -> Thread:
    archive = engine.archive
    post = archive.post(post_id)
    if post is None:
        raise _not_found(post_id)
    linked = sorted(archive.linked([post_id]).get(post_id, ()))
    same = [source for source, target in archive.duplicates_of(linked).items() if target == post_id]
    duplicates = archive.posts(same, html=False)
    original = archive.duplicates_of([post_id]).get(post_id)
    titles = archive.posts([original], html=False) if original else {}
    return Thread.model_construct(
        post=FullPost.of(post),
        answers=[FullPost.of(answer) for answer in archive.answers_to([post_id]).get(post_id, ())],
        duplicate_of=original,
        duplicate_of_title=titles[original].title if original in titles else None,
        duplicates=[PostTitle(id=other.id, title=other.title) for other in duplicates.values()],
        revisions=len(archive.revisions(post_id)),
    )


def _add(engine: Engine, body: PostBody | PostsBody) -> WriteResponse:
    several = body if isinstance(body, PostsBody) else PostsBody(posts=[body])
    posts = [_post(post) for post in several.posts]
    links = [Link(link.source, link.target, link.kind) for link in several.links]
    _check_questions(engine, posts, links)
    written = engine.write(posts, links)
    return WriteResponse(**written._asdict(), ids=[post.id for post in posts])


def _edit(engine: Engine, post_id: str, body: PostEdit) -> WriteResponse:
    post = engine.archive.post(post_id)
    if post is None:
        raise _not_found(post_id)
    if body.id not in (None, post_id):
        raise AskonceError(f"cannot change the id {post_id!r} to {body.id!r}; add a new post")
    edited = replace(post, **_changes(body))
    _check_questions(engine, [edited], [])
    return WriteResponse(**engine.write([edited])._asdict(), ids=[post_id])


def _changes(body: PostEdit) -> dict[str, Any]:
    fields = body.model_dump(exclude_unset=True, exclude={"id"})
    if body.kind is None:
        fields.pop("kind", None)
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    for name in {"title", "body", "html"} & fields.keys():
        fields[name] = clean_text(fields[name])
    if "html" in fields and "body" not in fields:
        fields["body"] = html_to_text(fields["html"])
    elif "body" in fields and "html" not in fields:
        fields["html"] = ""  # the old HTML no longer matches the text
    return fields


def _check_questions(engine: Engine, posts: Sequence[Post], links: Sequence[Link]) -> None:
    """Raise unless every answer's question and both ends of every link exist."""
    required = {post.parent: f"the answer {post.id!r}" for post in posts if post.parent}
    for link in links:
        for end in (link.source, link.target):
            required[end] = f"the link from {link.source!r} to {link.target!r}"
    kinds = engine.archive.kinds(required) | {post.id: post.kind for post in posts}
    for question, user in required.items():
        if kinds.get(question) != "question":
            raise AskonceError(f"{user} needs the question {question!r}; add it first")


def _post(body: PostBody) -> Post:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Post(
        id=body.id or uuid4().hex,
        title=clean_text(body.title),
        body=clean_text(body.body) or html_to_text(body.html),
        kind=body.kind or ("answer" if body.parent else "question"),
        parent=body.parent,
        score=body.score,
        accepted=body.accepted,
        tags=tuple(body.tags),
        created=body.created or (now if body.id is None else None),
        html=clean_text(body.html),
        **{name: getattr(body, name) for name in SOURCE_FIELDS},
    )


def _not_found(post_id: str) -> HTTPException:
    return HTTPException(404, f"no post {post_id[:100]!r}")
