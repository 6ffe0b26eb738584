"""Compare an archive with what it must hold, and its indexes with its posts, word by word."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fault_truth import Truth

from askonce.archive import Archive
from askonce.index.lexical import LexicalIndex
from askonce.index.vectors import VectorIndex
from askonce.key_encoders import RankerKeys
from askonce.ranker import Ranker
from askonce.ranking.manifest import current
from askonce.types import Post

NEAR = 1e-4  # keys of one text differ by rounding when it is encoded beside others


@dataclass
class Found:
    """What a check says of one restart."""

    truth: Truth
    done: int = 0  # writes of the plan that are there
    lost: int = 0
    doubled: int = 0
    half: int = 0
    differences: list[str] = field(default_factory=list)


def compared(held: Truth, steps: Sequence[Truth]) -> Found:
    """How an archive differs from what must be there: the first step, or up to the last one."""
    if held in steps:
        return Found(held)
    first, last = steps[0], steps[-1]
    lost = 0
    for name in first.posts.keys() | last.posts.keys():
        lost += held.posts.get(name) not in [step.posts.get(name) for step in steps]
    lost += len(first.links & last.links - held.links) + len(first.marks - held.marks)
    edits = Counter(held.edits) - Counter(last.edits)
    doubled = max(0, held.change - last.change) + edits.total()
    return Found(held, lost=lost, doubled=doubled, half=1)


def differences(folder: Path) -> list[str]:
    """The differences between the indexes on disk and the archive; [] if they agree."""
    models = current(folder)
    if models is None:
        return ["no models"]
    coder = RankerKeys(Ranker.load(models / "encoder"))
    archive = Archive.open(folder)
    change = archive.change
    problems = []
    for kind in ("question", "answer"):
        posts = list(archive.iterate(kind))
        words = LexicalIndex(folder / "index" / f"lexical-{kind}s", writer=False)
        keys = VectorIndex(folder / "index" / f"vectors-{kind}s-{models.name}", coder, writer=False)
        problems += _of_words(words, posts) + _of_keys(keys, posts)
        for index in (words, keys):
            if index.position != change:
                problems.append(f"{type(index).__name__} at change {index.position}, not {change}")
    archive.close()
    return problems


def _of_words(index: LexicalIndex, posts: Sequence[Post]) -> list[str]:
    wanted: dict[str, set[str]] = defaultdict(set)
    spelled: dict[str, str] = {}
    for post in posts:
        words = index.terms.tokenise(post.text)
        for word, stem in zip(words, index.terms(post.text), strict=True):
            wanted[stem].add(post.id)
            spelled[stem] = word
    problems = []
    if len(index) != len(posts):
        problems.append(f"{len(index)} posts by words, not {len(posts)}")
    for stem, ids in wanted.items():
        hits = sorted(hit.id for hit in index.search(spelled[stem], len(posts) + 10))
        if hits != sorted(ids):
            problems.append(f"word {stem!r} finds {len(hits)} posts, not {len(ids)}")
    return problems


def _of_keys(index: VectorIndex, posts: Sequence[Post]) -> list[str]:
    problems = []
    ids = [post.id for post in posts]
    keys = index.coder.candidate_keys(posts)  # (n, K)
    hits = sorted(hit.id for hit in index.search_key(keys[0], len(posts) + 10))
    if len(index) != len(posts) or hits != sorted(ids):
        problems.append(f"{len(index)} posts by keys, of which {len(hits)} are found")
    each = [index.score_key(unit, ids) for unit in np.eye(keys.shape[1], dtype=np.float32)]
    stored = np.stack(each, axis=1)  # (n, K)
    wrong = ~np.isclose(stored, keys, rtol=NEAR, atol=NEAR).all(axis=1)  # (n,)
    return problems + [f"another key of {ids[row]!r}" for row in np.flatnonzero(wrong)]
