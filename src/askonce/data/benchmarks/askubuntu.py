"""AskUbuntu (Lei et al. 2016): which of 20 retrieved questions ask the same?"""

from collections.abc import Mapping
from pathlib import Path

from askonce.data.benchmarks import DATASETS
from askonce.errors import DataError
from askonce.files import descend, find, need, rows
from askonce.types import Dataset, Pool, Post

Posts = Mapping[str, Post]


@DATASETS.add("askubuntu")
def read(folder: Path) -> Dataset:
    """AskUbuntu with its human judgements; ``given`` are the scores of the search (BM25).

    ``dev.txt`` and ``test.txt`` are required. Without ``text_tokenized.txt`` the posts have ids but
    no text: enough for the given scores, not for a model. ``train_random.txt`` has the training
    pools: duplicates marked by users, and random questions.
    """
    folder = descend(folder, "askubuntu", "askubuntu_lei2016_labels")
    text = find(folder, "text_tokenized.txt")
    posts = _read_posts(text) if text else {}
    train = find(folder, "train_random.txt")
    splits = {"train": _read_train(train, posts)} if train else {}
    splits["dev"] = _read_judged(need(folder, "dev.txt"), posts)
    splits["test"] = _read_judged(need(folder, "test.txt"), posts)
    return Dataset(
        "askubuntu",
        splits,
        protocol="drop_no_pos",
        tokeniser="whitespace",
        corpus=tuple(posts.values()),
    )


def _read_posts(path: Path) -> dict[str, Post]:
    posts: dict[str, Post] = {}
    for line, (name, title, body) in rows(path, 3):
        if name in posts:
            raise DataError(path, "each question once", f"{name!r} again", line)
        posts[name] = Post(name, title, body)
    return posts


def _read_train(path: Path, posts: Posts) -> tuple[Pool, ...]:
    """If there are texts, ids without one are left out: nothing can be learnt from them."""
    pools = []
    for _, (query, positives, others) in rows(path, 3):
        relevant = set(positives.split())
        names = dict.fromkeys((*positives.split(), *others.split()))
        known = [name for name in names if name != query and (not posts or name in posts)]
        if posts and query not in posts:
            continue
        pools.append(
            Pool(
                posts.get(query, Post(query)),
                tuple(posts.get(name, Post(name)) for name in known),
                tuple(int(name in relevant) for name in known),
            )
        )
    return tuple(pools)


def _read_judged(path: Path, posts: Posts) -> tuple[Pool, ...]:
    pools: dict[str, Pool] = {}
    for line, (query, positives, candidates, scores) in rows(path, 4):
        if query in pools:
            raise DataError(path, "each query once", f"{query!r} again", line)
        names, relevant = candidates.split(), set(positives.split())
        if len(set(names)) != len(names):
            raise DataError(path, "each candidate once", " ".join(names), line)
        if unknown := relevant - set(names):
            raise DataError(path, "similar questions among the candidates", min(unknown), line)
        pools[query] = Pool(
            _look_up(path, line, query, posts),
            tuple(_look_up(path, line, name, posts) for name in names),
            tuple(int(name in relevant) for name in names),
            given=_numbers(path, line, scores, len(names)),
        )
    return tuple(pools.values())


def _look_up(path: Path, line: int, name: str, posts: Posts) -> Post:
    if posts and name not in posts:
        raise DataError(path, "a question of text_tokenized.txt", name, line)
    return posts.get(name, Post(name))


def _numbers(path: Path, line: int, scores: str, count: int) -> tuple[float, ...]:
    try:
        values = tuple(map(float, scores.split()))
    except ValueError:
        raise DataError(path, "scores that are numbers", scores, line) from None
    if len(values) != count:
        raise DataError(path, f"{count} scores, one per candidate", len(values), line)
    return values
