"""Which results to show, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from askonce.types import Post

Sort = Literal["relevance", "newest", "votes"]
DEEP = 500  # candidates of each index where results are filtered or paged
SORTED = 50  # most relevant results that another order than relevance is applied to


@dataclass(frozen=True)
class ResultOptions:
    """Filters, order and page of the results."""

    tags: tuple[str, ...] = ()  # all of them
    after: str | None = None  # the earliest date, ISO 8601
    before: str | None = None  # the latest date; a day includes all of it
    answered: bool | None = None  # questions with or without an answer
    sort: Sort = "relevance"
    offset: int = 0  # results to skip
    fold: bool = True  # show the original in place of its duplicates

    @property
    def deep(self) -> bool:
        return self.filters or self.offset > 0

    @property
    def selects(self) -> bool:
        """Whether the first results are not simply the most relevant ones."""
        return self.filters or self.sort != "relevance"

    @property
    def filters(self) -> bool:
        return bool(self.tags or self.after or self.before or self.answered is not None)

    def allows(self, post: Post, question: Post, answers: Mapping[str, object]) -> bool:
        """Whether a result passes the filters; ``question`` is that of an answer, or the post."""
        if not set(self.tags) <= set(question.tags):
            return False
        if self.answered is not None and bool(answers) != self.answered:
            return False
        if not (self.after or self.before):
            return True
        created = (post.created or "").replace(" ", "T")
        if not created or created < (self.after or ""):
            return False
        # cut to the length of the limit, so that a day includes all of its times
        return not self.before or created[: len(self.before)] <= self.before


DEFAULT = ResultOptions()
