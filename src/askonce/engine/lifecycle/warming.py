"""Read posts before they are asked for, so that a first question is as cheap as a repeated one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from askonce.archive import Archive
from askonce.archive.cache import PostCache
from askonce.engine.hits import shown_html
from askonce.errors import AskonceError
from askonce.ranking.pipeline import Search
from askonce.types import Post

BATCH = 32  # posts read at a time
SHARE = 0.5  # of the time of one core
MAX_POSTS = 30_000
MAX_CHARACTERS = 12_000_000  # of their texts; the caches of words hold 16 million


class Serving(Protocol):
    """The searches in service, and the name of their models."""

    @property
    def question(self) -> Search: ...
    @property
    def answer(self) -> Search: ...
    @property
    def model(self) -> str | None: ...


@dataclass
class Warming:
    """Fills the caches of queries with the newest posts, once for each training.

    Token ids belong to one pair model; the rest is still known when the next one serves.
    """

    archive: Archive
    cache: PostCache
    serving: Callable[[], Serving | None]
    on_error: Callable[[AskonceError], None]
    _pending: list[str] = field(default_factory=list)  # ids, the next one last
    _characters: int = 0
    _model: str | None = ""  # no training has this name

    def step(self) -> int:
        """Read the next posts; how many there were."""
        searches = self.serving()
        if searches is None:
            return 0
        try:
            if searches.model != self._model:
                self._pending = self.archive.newest_ids(MAX_POSTS)[::-1]
                self._model, self._characters = searches.model, 0
            batch = self._pending[: -BATCH - 1 : -1]
            if not batch:
                return 0
            posts = self._read(batch)
        except AskonceError as error:  # such as a database that does not answer: try again later
            self.on_error(error)
            return 0
        del self._pending[-BATCH:]
        _learn(searches.question, (post for post in posts if post.kind == "question"))
        _learn(searches.answer, (post for post in posts if post.kind == "answer"))
        self._characters += sum(len(post.text) for post in posts)
        if self._characters > MAX_CHARACTERS:
            self._pending.clear()
        return len(batch)

    def _read(self, ids: list[str]) -> list[Post]:
        self.cache.refresh()
        self.cache.answer_marks(ids)
        self.cache.duplicates_of(ids)
        return list(self.cache.posts(ids).values())


def _learn(search: Search, posts: Iterable[Post]) -> None:
    """Compute what ranking and showing these posts needs of them."""
    words = search.lexical.terms.pairs
    for post in posts:
        words(post.text)
        words(post.title)
        if post.kind == "answer":
            shown_html(post.html)
        if search.pair is not None:
            search.pair.learn(post)
