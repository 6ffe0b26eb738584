"""The operator's options and what people look for."""

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from askonce.server.guard.limits import VISIBLE
from askonce.server.schemas import Shape, closed
from askonce.server.schemas.posts import PostTitle
from askonce.server.schemas.requests import PostId

Word = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=VISIBLE)]
_SEARCHES = {"searches": 12, "claimed": 9, "answered": 8}


class PageOptions(Shape):
    """What the page offers."""

    model_config = closed(
        clicks=False,
        ask_url="https://forum.example/ask?title={title}&body={body}",
        writes=False,
        insights=True,
        image_hosts=["images.forum.example"],
        one_of_several=False,
        examples=[{"id": "q002", "title": "Why do I keep getting punctures in my rear tyre?"}],
    )

    clicks: bool  # opened results are recorded as weak feedback
    ask_url: str | None  # where a new question is asked; {title} and {body} are filled in
    writes: bool  # whether this client may write
    insights: bool  # searches are logged
    image_hosts: list[str]  # from which images in posts are shown
    one_of_several: bool  # other archives are listed one level up
    examples: list[PostTitle]


class PinnedQuestion(BaseModel):
    """Posts shown first for every question that has all words of this one."""

    model_config = closed(question="flat tyre", posts=["q002"])

    question: Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=VISIBLE)]
    posts: list[PostId] = Field(min_length=1, max_length=10)


class SearchOptions(BaseModel):
    """Synonyms and pinned results; each group of words means the same."""

    model_config = closed(
        synonyms=[["tyre", "tire"]], pinned=[{"question": "flat tyre", "posts": ["q002"]}]
    )

    synonyms: list[Annotated[list[Word], Field(max_length=50)]] = Field(max_length=1000)
    pinned: list[PinnedQuestion] = Field(max_length=1000)


class DaySearches(Shape):
    """The searches of one day."""

    day: str
    searches: int
    claimed: int  # with a question that is said to be the same
    answered: int  # which has an answer


class SearchCount(Shape):
    """How often something was searched for."""

    question: str
    searches: int
    claimed: int
    answered: int


class Insights(Shape):
    """What people look for, as far as it is logged."""

    model_config = closed(
        days=30,
        by_day=[{"day": "2026-01-01", **_SEARCHES}],
        top=[{"question": "flat tyre", **_SEARCHES}],
        without=[],
    )

    days: int  # that searches are kept; 0: none are logged
    by_day: list[DaySearches]
    top: list[SearchCount]
    without: list[SearchCount]  # the most frequent without a good hit
