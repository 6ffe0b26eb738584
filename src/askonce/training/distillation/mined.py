"""Pairs without labels: texts that BM25 finds for the questions of the training split."""

from dataclasses import replace

from askonce.index.lexical import LexicalIndex
from askonce.training.sampling import UNLABELLED, Right, known_right, split_of
from askonce.types import Dataset, Pool, candidates


def with_mined(dataset: Dataset, split: str, count: int) -> Dataset:
    """The dataset with up to ``count`` unlabelled texts more in each pool of the split.

    They come from the other pools of the split, or from the corpus. Known right texts, copies of
    them and texts of the pool itself are left out.
    """
    if count == 0:
        return dataset
    pools = split_of(dataset, split)
    posts = {post.id: post for post in dataset.corpus or candidates(pools)}
    index = LexicalIndex.of(posts.values(), dataset.tokeniser)
    right = known_right(pools)

    def longer(pool: Pool) -> Pool:
        own = right[pool.query.id]
        inside = Right(
            own.ids | {post.id for post in pool.candidates},
            own.texts | {post.text for post in pool.candidates},
        )
        hits = index.search(pool.query.text, count + len(inside.ids))
        fresh = [posts[hit.id] for hit in hits if not inside.holds(posts[hit.id])][:count]
        labels = (*pool.labels, *[UNLABELLED] * len(fresh))
        return replace(pool, candidates=(*pool.candidates, *fresh), labels=labels, given=None)

    return replace(dataset, splits={**dataset.splits, split: tuple(map(longer, pools))})
