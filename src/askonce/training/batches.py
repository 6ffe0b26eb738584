"""Groups as tensors: each text is read once, however many pairs of the batch it stands in."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from askonce.models.base import Matcher
from askonce.text.batch import Batch, TokenIds
from askonce.training.sampling import Group, Right
from askonce.types import Post

BUCKET = 20  # batches whose groups are sorted by length together; more would tie length to order


@dataclass(frozen=True, eq=False)
class GroupBatch:
    """G groups of up to C candidates: the distinct texts, and which pairs of them to score."""

    queries: Batch
    candidates: Batch
    query_of: Tensor  # (P,), place of each pair's query
    candidate_of: Tensor  # (P,)
    labels: Tensor  # (G, C)
    mask: Tensor  # (G, C), True at P places, in the order of the pairs

    def to(self, device: torch.device | str) -> "GroupBatch":
        """The same groups on another device."""
        return GroupBatch(
            Batch(self.queries.posts, device),
            Batch(self.candidates.posts, device),
            *(t.to(device) for t in (self.query_of, self.candidate_of, self.labels, self.mask)),
        )


class GroupScorer(nn.Module):
    """Scores of the groups of a batch, by any model."""

    def __init__(self, model: Matcher) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: GroupBatch) -> Tensor:
        """Scores (G, C); zero where a group has no candidate."""
        query = self.model.read(batch.queries, "query").select(batch.query_of)
        candidate = self.model.read(batch.candidates, "candidate").select(batch.candidate_of)
        scores = self.model.match(query, candidate)  # (P,)
        return scores.new_zeros(batch.mask.shape).masked_scatter(batch.mask, scores)


class Collator:
    """Makes batches of groups; keeps each post's numbers, since every epoch needs them again."""

    def __init__(self, numbers: Callable[[Post], TokenIds], right: Mapping[str, Right]) -> None:
        self._encode = numbers
        self._right = right  # by id of the query
        # apart, since a query and a candidate may share an id
        self._queries: dict[str, TokenIds] = {}
        self._candidates: dict[str, TokenIds] = {}
        self._lengths: dict[str, int] = {}  # of candidates

    def batches(self, groups: Sequence[Group], size: int, seed: int) -> Iterator[list[Group]]:
        """Groups of like length together, the batches themselves in random order."""
        rng = np.random.default_rng(seed)
        chunks: list[list[Group]] = []
        for start in range(0, len(groups), BUCKET * size):
            some = sorted(groups[start : start + BUCKET * size], key=self._length)
            chunks += [some[i : i + size] for i in range(0, len(some), size)]
        for place in rng.permutation(len(chunks)):
            yield chunks[place]

    def collate(
        self, groups: Sequence[Group], among: Sequence[Group] | None = None, others: int = 0
    ) -> GroupBatch:
        """The groups as tensors.

        With ``among``, groups that these are part of, each group has the candidates of them all:
        what is right for the others is wrong for it. ``others`` limits them to so many.
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
        """A column for each post; what is right for the query but not of its group is left out.

        Of all columns, those that follow its own are a group's ``others``: as random as the batch.
        """
        posts = list({post.id: post for group in among for post in group.candidates}.values())
        place = {post.id: column for column, post in enumerate(posts)}
        labels = np.zeros((len(groups), len(posts)), dtype=np.int64)  # (G, C)
        mask = np.empty((len(groups), len(posts)), dtype=bool)  # (G, C)
        for row, group in enumerate(groups):
            ids, texts = self._right[group.query.id]
            mask[row] = [post.id not in ids and post.text not in texts for post in posts]
            own = [place[post.id] for post in group.candidates]
            mask[row, own] = False
            if others:
                after = np.roll(np.arange(len(posts)), -own[-1])
                mask[row, after[mask[row, after]][others:]] = False
            mask[row, own] = True
            labels[row, own] = group.labels
        return labels, mask

    def _length(self, group: Group) -> int:
        """Words of the longest candidate."""
        lengths = self._lengths
        for post in group.candidates:
            if post.id not in lengths:
                lengths[post.id] = self._numbers(post, self._candidates).length
        return max([lengths[post.id] for post in group.candidates])

    def _read(
        self, posts: Iterable[Post], kept: dict[str, TokenIds]
    ) -> tuple[list[TokenIds], list[int]]:
        """The distinct posts as numbers, and for each post its place among them."""
        place: dict[str, int] = {}
        distinct: list[TokenIds] = []
        places = []
        for post in posts:
            where = place.setdefault(post.id, len(distinct))
            if where == len(distinct):
                distinct.append(self._numbers(post, kept))
            places.append(where)
        return distinct, places

    def _numbers(self, post: Post, kept: dict[str, TokenIds]) -> TokenIds:
        found = kept.get(post.id)
        if found is None:
            found = kept[post.id] = self._encode(post)
        return found


def _own_columns(groups: Sequence[Group]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and mask of groups side by side, the candidates of each in its first columns."""
    sizes = np.fromiter((len(group.labels) for group in groups), np.int64, len(groups))  # (G,)
    mask = np.arange(sizes.max()) < sizes[:, None]  # (G, C)
    labels = np.zeros(mask.shape, dtype=np.int64)  # (G, C)
    labels[mask] = list(chain.from_iterable(group.labels for group in groups))
    return labels, mask
