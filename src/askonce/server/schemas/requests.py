"""What clients send, as the OpenAPI document shows it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, StringConstraints, Tag

from askonce.archive.rows import LONGEST_ID
from askonce.archive.rows import LONGEST_TEXT as LONGEST_POST
from askonce.server.guard.limits import (
    LARGEST_VOTE,
    LONGEST_TAG,
    LONGEST_TEXT,
    MOST_DOCUMENTS,
    MOST_POSTS,
    MOST_RESULTS,
    MOST_TAGS,
    MOST_TEXTS,
    SOMETHING,
)
from askonce.server.schemas.examples import closed, tolerant


def _whole(value: object) -> object:
    """In JSON 57.0 is an integer too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_DATE = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
PostId = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]
PostText = Annotated[str, StringConstraints(max_length=LONGEST_POST)]
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
SomeText = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT)]
TagName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TAG)]
Tags = Annotated[list[TagName], Field(max_length=MOST_TAGS)]
Whole = BeforeValidator(_whole)
Votes = Annotated[int, Field(ge=-LARGEST_VOTE, le=LARGEST_VOTE), Whole]
Results = Annotated[int, Field(ge=1, le=MOST_RESULTS), Whole]
Few = Annotated[int, Field(ge=1), Whole]
Date = Annotated[str, StringConstraints(pattern=_DATE)]
Kind = Literal["question", "answer"]


class PostSent(BaseModel):
    """A post; it takes the place of the one with the same id."""

    model_config = closed(
        id="q901",
        kind="question",
        title="How tight should the axle nuts be?",
        body="No torque wrench at hand.",
        tags=["wheels"],
    )

    id: PostId | None = Field(default=None, description="Left out, the server makes one.")
    kind: Kind | None = Field(
        default=None, description="Left out, a post with a parent is an answer."
    )
    title: PostText = ""
    body: PostText = Field(default="", description="Plain text; left out, that of the HTML.")
    html: PostText = Field(default="", description="Kept as it is, sanitised whenever shown.")
    parent: PostId | None = Field(default=None, description="The question of an answer.")
    score: Votes | None = Field(default=None, description="Votes.")
    accepted: bool = False
    tags: Tags = []
    created: Date | None = Field(default=None, description="ISO 8601.")


class PostEdit(PostSent):
    """The fields of a post that change; those that are left out stay."""

    model_config = closed(title="Why does my rear tyre go flat every week?", tags=["punctures"])


class LinkSent(BaseModel):
    """One question is a duplicate of another, or related to it."""

    model_config = closed(source="q901", target="q002", kind="duplicate")

    source: PostId
    target: PostId
    kind: Literal["duplicate", "related"] = "duplicate"


class PostsSent(BaseModel):
    """Posts and links that are written together or not at all."""

    model_config = closed(
        posts=[
            {"id": "q901", "title": "How tight should the axle nuts be?"},
            {"id": "a902", "parent": "q901", "body": "30 to 40 Nm.", "accepted": True},
        ],
        links=[{"source": "q901", "target": "q002", "kind": "related"}],
    )

    posts: list[PostSent] = Field(default=[], max_length=MOST_POSTS)
    links: list[LinkSent] = Field(default=[], max_length=MOST_POSTS)


def _one_or_many(value: object) -> str:
    many = isinstance(value, PostsSent) or (
        isinstance(value, dict) and ("posts" in value or "links" in value)
    )
    return "many" if many else "one"


OneOrMany = Annotated[
    Annotated[PostSent, Tag("one")] | Annotated[PostsSent, Tag("many")],
    Discriminator(_one_or_many),
]


class IdsSent(BaseModel):
    """The posts to delete."""

    model_config = closed(ids=["q901", "a902"])

    ids: list[PostId] = Field(min_length=1, max_length=MOST_POSTS)


class Draft(BaseModel):
    """A question while it is being typed."""

    model_config = closed(title="Rear tyre keeps going flat", body="Third time this month.", k=5)

    title: Text = ""
    body: Text = ""
    k: Results = 10


class EmbeddingsWanted(BaseModel):
    """Texts to turn into vectors, as OpenAI's clients send them."""

    model_config = tolerant(input=["my back wheel loses air"], model="askonce")

    input: SomeText | Annotated[list[SomeText], Field(min_length=1, max_length=MOST_TEXTS)]
    model: Any = None
    encoding_format: Literal["float", "base64"] = "float"

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return [self.input] if isinstance(self.input, str) else self.input


class Document(BaseModel):
    """A text to rank."""

    model_config = tolerant(text="Check the inside of the tyre for a thorn.")

    text: Text


class RerankWanted(BaseModel):
    """Documents to order by how well they answer, as Cohere's and Jina's clients send them."""

    model_config = tolerant(
        query="my back wheel loses air",
        documents=["Check the inside of the tyre for a thorn.", "Oil the chain every week."],
        top_n=1,
        return_documents=True,
    )

    query: SomeText = Field(json_schema_extra={"pattern": SOMETHING})
    documents: list[Text | Document] = Field(min_length=1, max_length=MOST_DOCUMENTS)
    top_n: Few | None = None
    return_documents: bool = False

    @property
    def texts(self) -> list[str]:
        """The documents as plain texts."""
        return [found if isinstance(found, str) else found.text for found in self.documents]
