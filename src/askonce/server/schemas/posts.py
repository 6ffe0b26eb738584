"""What reading and writing posts returns."""

from collections.abc import Sequence
from typing import Literal

from askonce.archive import Written
from askonce.server.guard.sanitise import safe_html
from askonce.server.schemas import Shape
from askonce.server.schemas.examples import closed
from askonce.types import Post


class FullPost(Shape):
    """A post with all that the archive knows of it; ``html`` is sanitised."""

    id: str
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
        """The post as the interface shows it."""
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
        )


class PostNamed(Shape):
    """A question by its id and title."""

    id: str
    title: str


class Thread(Shape):
    """A post, its answers, and the questions that were marked as the same."""

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
        },
        answers=[],
        duplicate_of=None,
        duplicates=[{"id": "q117", "title": "Rear tyre flat every week"}],
        revisions=0,
    )

    post: FullPost
    answers: list[FullPost]
    duplicate_of: str | None
    duplicates: list[PostNamed]
    revisions: int


class WrittenShown(Shape):
    """What a write did; it is on the disk, and the next query sees it."""

    model_config = closed(added=1, changed=0, unchanged=0, change=823, ids=["q901"])

    added: int
    changed: int
    unchanged: int
    change: int
    ids: list[str]

    @classmethod
    def of(cls, written: Written, ids: list[str]) -> "WrittenShown":
        """The result of a write with the ids that were written."""
        return cls(**written._asdict(), ids=ids)


class Deleted(Shape):
    """The ids of all that is gone now, the answers of deleted questions among them."""

    model_config = closed(deleted=["q901", "a902"])

    deleted: list[str]
