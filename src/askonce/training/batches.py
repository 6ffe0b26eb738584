"""Batches of groups as tensors; a text is read once, however many pairs of the batch have it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from askonce.models.base import Encoder, Matcher, States
from askonce.text.batch import Batch, TokenIds
from askonce.training.sampling import Group, Right
from askonce.types import Post

BUCKET = 20  # batches sorted by length together; more would leave less of the order to chance
Item = TypeVar("Item")


def slices(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Consecutive parts of this size; the last one may be smaller."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def bucketed(
    items: Sequence[Item], size: int, length: Callable[[Item], int], rng: np.random.Generator
) -> list[Sequence[Item]]:
    """Batches of items of similar length, in random order."""
    batches: list[Sequence[Item]] = []
    for bucket in slices(items, BUCKET * size):
        batches += slices(sorted(bucket, key=length), size)
    return [batches[index] for index in rng.permutation(len(batches))]


def shuffled(
    items: Sequence[Item], size: int, length: Callable[[Item], int], seed: tuple[int, int]
) -> list[Sequence[Item]]:
    """Like ``bucketed``, after shuffling the items."""
    rng = np.random.default_rng(seed)
    return bucketed([items[index] for index in rng.permutation(len(items))], size, length, rng)


@dataclass(frozen=True, eq=False)
class GroupBatch:
    """G groups of up to C candidates: the distinct texts, and which pairs of them to score."""

    queries: Batch
    candidates: Batch
    query_of: Tensor  # (P,), row of each pair's query
    candidate_of: Tensor  # (P,)
    labels: Tensor  # (G, C)
    mask: Tensor  # (G, C), True for the P pairs, in their order

    def as_table(self, values: Tensor) -> Tensor:
        """Values (P,) of the pairs as a table (G, C); zero outside the mask."""
        return values.new_zeros(self.mask.shape).masked_scatter(self.mask, values)

    def to(self, device: torch.device | str) -> "GroupBatch":
        return GroupBatch(
            Batch(self.queries.posts, device),
            Batch(self.candidates.posts, device),
            *(t.to(device) for t in (self.query_of, self.candidate_of, self.labels, self.mask)),
        )


class GroupScorer(nn.Module):
    def __init__(self, model: Matcher) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: GroupBatch) -> Tensor:
        """Scores (G, C); zero outside the mask."""
        return self.match(*self.read(batch), batch)

    def read(self, batch: GroupBatch) -> tuple[States, States]:
        query = self.model.read(batch.queries, "query")
        return query, self.model.read(batch.candidates, "candidate")

    def match(self, query: States, candidate: States, batch: GroupBatch) -> Tensor:
        pairs = batch.query_of, batch.candidate_of
        dense = 2 * len(batch.query_of) > len(batch.queries) * len(batch.candidates)
        if dense and isinstance(self.model, Encoder):  # candidates of the whole batch
            scores = self.model.similarities(query["vector"], candidate["vector"])  # (Q, N)
            return batch.as_table(scores[pairs])
        one, other = query.select(batch.query_of), candidate.select(batch.candidate_of)
        return batch.as_table(self.model.match(one, other))


class Collator:
    """Makes batches of groups; caches the token ids of posts for later epochs.

    ``read`` is given many posts at once: a teacher looks their vectors up one by one far slower.
    """

    def __init__(
        self, read: Callable[[Sequence[Post]], list[TokenIds]], right: Mapping[str, Right]
    ) -> None:
        self._encode = read
        self._right = right  # by query id
        # two caches, since a query and a candidate may have the same id
        self._queries: dict[str, TokenIds] = {}
        self._candidates: dict[str, TokenIds] = {}
        self._lengths: dict[str, int] = {}  # of candidates

    def batches(self, groups: Sequence[Group], size: int, seed: int) -> list[Sequence[Group]]:
        """Batches of groups of similar length, in random order."""
        self._fill((group.query for group in groups), self._queries)
        self._fill(chain.from_iterable(group.candidates for group in groups), self._candidates)
        return bucketed(groups, size, self._length, np.random.default_rng(seed))

    def collate(
        self, groups: Sequence[Group], among: Sequence[Group] | None = None, others: int = 0
    ) -> GroupBatch:
        """The groups as tensors.

        With ``among``, the whole batch that these are part of, each group has the candidates of all
        groups: those of other groups are negatives. ``others`` limits their number.
        """
        queries, rows = self._read((group.query for group in groups), self._queries)
        listed = chain.from_iterable(group.candidates for group in among or groups)
        candidates, columns = self._read(listed, self._candidates)
        if among is None:
            labels, mask = _own_columns(groups)
            pairs = np.array(columns)
        else:
            labels, mask = self._all_columns(groups, among, others)
            pairs = np.nonzero(mask)[1]
        return GroupBatch(
            Batch(queries),
            Batch(candidates),
            torch.from_numpy(np.repeat(rows, mask.sum(1))),
            torch.from_numpy(pairs),
            torch.from_numpy(labels),
            torch.from_numpy(mask),
        )

    def _all_columns(
        self, groups: Sequence[Group], among: Sequence[Group], others: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """A column for each post; a right post that is not in the query's group is masked out.

        A group's ``others`` are the columns that follow its own: as random as the batch.
        """
        posts = list({post.id: post for group in among for post in group.candidates}.values())
        columns = {post.id: column for column, post in enumerate(posts)}
        copies: dict[str, list[int]] = {}  # columns by text
        for column, post in enumerate(posts):
            copies.setdefault(post.text, []).append(column)
        labels = np.zeros((len(groups), len(posts)), dtype=np.int64)  # (G, C)
        mask = np.empty((len(groups), len(posts)), dtype=bool)  # (G, C)
        for row, group in enumerate(groups):
            ids, texts = self._right[group.query.id]
            mask[row] = True
            mask[row, [columns[name] for name in ids if name in columns]] = False
            mask[row, [column for text in texts for column in copies.get(text, ())]] = False
            own = [columns[post.id] for post in group.candidates]
            mask[row, own] = False
            if others:
                after = np.roll(np.arange(len(posts)), -own[-1])
                mask[row, after[mask[row, after]][others:]] = False
            mask[row, own] = True
            labels[row, own] = group.labels
        return labels, mask

    def _length(self, group: Group) -> int:
        lengths, numbers = self._lengths, self._candidates
        for post in group.candidates:
            if post.id not in lengths:
                lengths[post.id] = numbers[post.id].length
        return max([lengths[post.id] for post in group.candidates])

    def _read(
        self, posts: Iterable[Post], cache: dict[str, TokenIds]
    ) -> tuple[list[TokenIds], list[int]]:
        """The token ids of the distinct posts, and each post's row among them."""
        listed = list(posts)
        self._fill(listed, cache)
        row_of: dict[str, int] = {}
        rows = [row_of.setdefault(post.id, len(row_of)) for post in listed]
        return [cache[name] for name in row_of], rows

    def _fill(self, posts: Iterable[Post], cache: dict[str, TokenIds]) -> None:
        """Read the posts that the cache lacks."""
        missing = {post.id: post for post in posts if post.id not in cache}
        if missing:
            cache.update(zip(missing, self._encode(list(missing.values())), strict=True))


def _own_columns(groups: Sequence[Group]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and mask where each group has its own candidates, in its first columns."""
    sizes = np.fromiter((len(group.labels) for group in groups), np.int64, len(groups))  # (G,)
    mask = np.arange(sizes.max()) < sizes[:, None]  # (G, C)
    labels = np.zeros(mask.shape, dtype=np.int64)  # (G, C)
    labels[mask] = list(chain.from_iterable(group.labels for group in groups))
    return labels, mask
