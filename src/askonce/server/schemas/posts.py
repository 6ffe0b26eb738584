"""Responses of reading and writing posts."""

from collections.abc import Sequence
from typing import Literal

from pydantic import ConfigDict

from askonce.engine.results import Sourced
from askonce.server.schemas import Shape, closed
from askonce.text.sanitise import safe_html
from askonce.types import Post


class FullPost(Sourced):
    """A post with all its fields; ``html`` is sanitised."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["question", "answer"]
    title: str
    body: str
    html: str
    votes: int | None
    accepted: bool
    tags: Sequence[str]
    created: str | None
    parent: str | None

    @classmethod
    def of(cls, post: Post) -> "FullPost":
        return cls.model_construct(
            id=post.id,
            kind=post.kind,
            title=post.title,
            body=post.body,
            html=safe_html(post.html),
            votes=post.score,
            accepted=post.accepted,
            tags=post.tags,
            created=post.created,
            parent=post.parent,
            **post.source,
        )


class PostTitle(Shape):
    """The id and title of a question."""

    id: str
    title: str


class Thread(Shape):
    """A post, its answers, and the questions marked as its duplicates."""

    model_config = closed(
        post={
            "id": "q002",
            "kind": "question",
            "title": "Why do I keep getting punctures in my rear tyre?",
            "body": "Third flat in two weeks, always the rear.",
            "html": "",
            "votes": 48,
            "accepted": False,
            "tags": ["punctures", "tyres"],
            "created": "2021-02-01T16:43:25Z",
            "parent": None,
            "url": "https://bikes.example/questions/2",
            "author": "Ada",
            "author_url": "https://bikes.example/users/7",
            "site": "bikes.example",
            "licence": "CC BY-SA 4.0",
        },
        answers=[],
        duplicate_of=None,
        duplicate_of_title=None,
        duplicates=[{"id": "q117", "title": "Rear tyre flat every week"}],
        revisions=0,
    )

    post: FullPost
    answers: list[FullPost]
    duplicate_of: str | None
    duplicate_of_title: str | None
    duplicates: list[PostTitle]
    revisions: int


class WriteResponse(Shape):
    """What a write changed. It is on disk, and the next query sees it."""

    model_config = closed(added=1, changed=0, unchanged=0, change=823, links_added=0, ids=["q901"])

    added: int
    changed: int
    unchanged: int
    change: int
    links_added: int
    ids: list[str]


class HookResponse(Shape):
    """What a webhook changed."""

    model_config = closed(added=1, changed=0, deleted=[], ids=["12/3"])

    added: int
    changed: int
    deleted: list[str]
    ids: list[str]


class DeleteResponse(Shape):
    """The ids of all deleted posts, including the answers to deleted questions."""

    model_config = closed(deleted=["q901", "a902"])

    deleted: list[str]
