"""Judged pairs of posts, line by line, become pools: one per query, in the order of the file."""

from dataclasses import dataclass, field
from pathlib import Path

from askonce.errors import DataError
from askonce.types import Pool, Post


@dataclass
class PoolBuilder:
    """Collects the pairs of one file; the lines of a query need not stand together.

    ``candidates`` may be shared by the files of a dataset: an id is then one Post in all of them.
    """

    path: Path
    candidates: dict[str, Post] = field(default_factory=dict)
    _queries: dict[str, Post] = field(default_factory=dict)
    _labels: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, line: int | None, query: Post, candidate: Post, label: int) -> None:
        """One pair; an id that comes with two texts, or twice in a pool, is an error."""
        self._note(line, "question", query, self._queries)
        self._note(line, "candidate", candidate, self.candidates)
        labels = self._labels.setdefault(query.id, {})
        if candidate.id in labels:
            raise DataError(
                self.path, f"each candidate of {query.id!r} once", f"{candidate.id!r} again", line
            )
        labels[candidate.id] = label

    def size(self, query: str) -> int:
        """How many candidates the query of this id has so far."""
        return len(self._labels.get(query, ()))

    def pools(self) -> tuple[Pool, ...]:
        """All pools so far."""
        return tuple(
            Pool(
                self._queries[query],
                tuple(self.candidates[candidate] for candidate in labels),
                tuple(labels.values()),
            )
            for query, labels in self._labels.items()
        )

    def _note(self, line: int | None, what: str, post: Post, known: dict[str, Post]) -> None:
        first = known.setdefault(post.id, post)
        if first != post:
            raise DataError(self.path, f"one text for the {what} {post.id!r}", post.text, line)
