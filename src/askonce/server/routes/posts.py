"""Routes that show, add, edit and delete posts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Body, HTTPException, Path

from askonce.engine import Engine
from askonce.errors import AskonceError
from askonce.server.guard.sanitise import clean_text
from askonce.server.schemas.posts import Deleted, FullPost, PostNamed, Thread, WrittenShown
from askonce.server.schemas.requests import IdsSent, OneOrMany, PostEdit, PostSent, PostsSent
from askonce.server.service import Service
from askonce.text.html import html_to_text
from askonce.types import Link, Post

# ":path", since the ids of some forums hold slashes
ONE = "/api/posts/{post_id:path}"
PostId = Annotated[str, Path(description="The post's id.", examples=["q002"])]


def read_routes(service: Service) -> APIRouter:
    """Show one post."""
    router = APIRouter(route_class=service.route("read", service.queries), tags=["posts"])

    @router.get(ONE, summary="One post with its answers")
    async def show(post_id: PostId) -> Thread:
        """A post, the answers given to it, and what it duplicates."""
        return await service.run(_thread, service.engine, post_id)

    return router


def write_routes(service: Service) -> APIRouter:
    """Add, edit and delete posts."""
    router = APIRouter(route_class=service.route("write", service.writes), tags=["posts"])

    @router.post("/api/posts", status_code=201, summary="Add or replace posts")
    async def add(sent: Annotated[OneOrMany, Body()]) -> WrittenShown:
        """One post, or posts and links together: all are written, or none is.

        The write is on the disk when the response comes, and the next query finds it.
        """
        return await service.run(_add, service.engine, sent)

    @router.post("/api/posts/delete", summary="Delete posts")
    async def delete_many(sent: IdsSent) -> Deleted:
        """Delete posts, and the answers of deleted questions; unknown ids are no error."""
        return Deleted(deleted=await service.run(service.engine.delete, sent.ids))

    @router.put(ONE, summary="Edit a post")
    async def edit(post_id: PostId, sent: PostEdit) -> WrittenShown:
        """Change the fields that are sent; what the post said before is kept as a revision."""
        return await service.run(_edit, service.engine, post_id, sent)

    @router.delete(ONE, summary="Delete a post")
    async def delete(post_id: PostId) -> Deleted:
        """Delete a post, and its answers if it is a question."""
        deleted = await service.run(service.engine.delete, [post_id])
        if not deleted:
            raise _unknown(post_id)
        return Deleted(deleted=deleted)

    return router


def _thread(engine: Engine, post_id: str) -> Thread:
    archive = engine.archive
    post = archive.post(post_id)
    if post is None:
        raise _unknown(post_id)
    near = sorted(archive.linked([post_id]).get(post_id, ()))
    same = [name for name, target in archive.duplicates_of(near).items() if target == post_id]
    titles = archive.posts(same, html=False)
    return Thread.model_construct(
        post=FullPost.of(post),
        answers=[FullPost.of(answer) for answer in archive.answers_to([post_id]).get(post_id, ())],
        duplicate_of=archive.duplicates_of([post_id]).get(post_id),
        duplicates=[PostNamed(id=name, title=found.title) for name, found in titles.items()],
        revisions=len(archive.revisions(post_id)),
    )


def _add(engine: Engine, sent: PostSent | PostsSent) -> WrittenShown:
    many = sent if isinstance(sent, PostsSent) else PostsSent(posts=[sent])
    posts = [_post(post) for post in many.posts]
    links = [Link(link.source, link.target, link.kind) for link in many.links]
    _need_questions(engine, posts, links)
    return WrittenShown.of(engine.write(posts, links), [post.id for post in posts])


def _edit(engine: Engine, post_id: str, sent: PostEdit) -> WrittenShown:
    post = engine.archive.post(post_id)
    if post is None:
        raise _unknown(post_id)
    if sent.id not in (None, post_id):
        raise AskonceError(f"the id {sent.id!r} is not {post_id!r}; a post keeps its id")
    edited = replace(post, **_changes(sent))
    _need_questions(engine, [edited], [])
    return WrittenShown.of(engine.write([edited]), [post_id])


def _changes(sent: PostEdit) -> dict[str, Any]:
    fields = sent.model_dump(exclude_unset=True, exclude={"id"})
    if sent.kind is None:
        fields.pop("kind", None)
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    for name in {"title", "body", "html"} & fields.keys():
        fields[name] = clean_text(fields[name])
    if "html" in fields and "body" not in fields:
        fields["body"] = html_to_text(fields["html"])
    elif "body" in fields and "html" not in fields:
        fields["html"] = ""  # the old formatting says what the post no longer says
    return fields


def _need_questions(engine: Engine, posts: Sequence[Post], links: Sequence[Link]) -> None:
    """An answer without its question, or a link into nowhere, would never be found."""
    wanted = {post.parent: f"the answer {post.id!r}" for post in posts if post.parent}
    for link in links:
        for end in (link.source, link.target):
            wanted[end] = f"the link from {link.source!r} to {link.target!r}"
    kinds = engine.archive.kinds(wanted) | {post.id: post.kind for post in posts}
    for name, needed_by in wanted.items():
        if kinds.get(name) != "question":
            raise AskonceError(f"{needed_by} needs the question {name!r}; add that first")


def _post(sent: PostSent) -> Post:
    new = sent.id is None  # a post that surely comes into being now
    return Post(
        id=sent.id or uuid4().hex,
        title=clean_text(sent.title),
        body=clean_text(sent.body) or html_to_text(sent.html),
        kind=sent.kind or ("answer" if sent.parent else "question"),
        parent=sent.parent,
        score=sent.score,
        accepted=sent.accepted,
        tags=tuple(sent.tags),
        created=sent.created or (datetime.now(UTC).isoformat(timespec="seconds") if new else None),
        html=clean_text(sent.html),
    )


def _unknown(post_id: str) -> HTTPException:
    return HTTPException(404, f"no post {post_id[:100]!r}")
