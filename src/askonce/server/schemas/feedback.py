"""Feedback of visitors."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from askonce.server.guard.limits import MAX_QUESTION, VISIBLE
from askonce.server.schemas import Shape, closed
from askonce.server.schemas.requests import PostId

Visitor = Annotated[str, StringConstraints(min_length=16, max_length=200)]
Marked = Literal["answered", "same", "different", "click", "none"]


class FeedbackBody(BaseModel):
    """What a visitor says about a result."""

    model_config = closed(
        question="my back wheel loses air",
        id="q002",
        mark="same",
        visitor="b3c1f0a2-7d54-4a55-9f6e-0a1b2c3d4e5f",
    )

    question: str = Field(
        min_length=1,
        max_length=MAX_QUESTION,
        description="The question that was asked.",
        json_schema_extra={"pattern": VISIBLE},
    )
    id: PostId = Field(description="The post that was shown.")
    mark: Marked = Field(
        description="answered (an answer), same or different (a question), click (a post that was "
        "opened), none (take the mark back)."
    )
    visitor: Visitor = Field(description="A random token of the client; only its hash is stored.")


class FeedbackResponse(Shape):
    """The mark that counts now; ``stored`` is false if there was none to take back."""

    model_config = closed(stored=True, mark="same")

    stored: bool
    mark: Marked
