"""Every kind of index, and posts to fill it with. A new kind adds one line to KINDS."""

import tempfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np
import pytest

from askonce.index.base import Index, KeyEncoder
from askonce.index.lexical import LexicalIndex
from askonce.index.milvus.keys import MilvusKeys
from askonce.index.milvus.words import MilvusWords
from askonce.index.readers import TwoReaders
from askonce.index.vectors import VectorIndex
from askonce.key_encoders import RankerKeys
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

TEXT = "chain brake tyre saddle wheel pedal spoke cable gear frame light pump rain hill road"
WORDS = TEXT.split()


class HashingCoder(KeyEncoder):
    """Counts of hashed words, normalised: the simplest encoder."""

    name = "hashing"

    def query_keys(self, texts):
        keys = np.zeros((len(texts), 48), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                keys[row, zlib.crc32(word.encode()) % 48] += 1
        return keys / np.maximum(np.linalg.norm(keys, axis=1, keepdims=True), 1e-9)

    def candidate_keys(self, posts):
        return self.query_keys([post.text for post in posts])


def hyperqa() -> KeyEncoder:
    lexicon = Lexicon.build([Post("", title=f"{TEXT} lamp dynamo")])
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), 12)) / 8
    return RankerKeys(Ranker.create("hyperqa", lexicon, vectors.astype(np.float32), {"dim": 12}))


HASHING, HYPERQA = HashingCoder(), hyperqa()
# a slow reader that has read the posts with even numbers of letters, with the same keys
TWO_READERS = TwoReaders(HASHING, HASHING, lambda texts: [len(text) % 2 == 0 for text in texts])


def under(folder: Path | None, name: str) -> Path | None:
    return folder / name if folder else None


def milvus(folder: Path | None) -> str:
    """The file of a Milvus database; it has none in memory, so a new one stands for that."""
    if find_spec("pymilvus") is None or find_spec("milvus_lite") is None:
        pytest.skip("pymilvus or milvus-lite is not installed")
    folder = folder or Path(tempfile.mkdtemp(dir=TEMPORARY.name))
    folder.mkdir(exist_ok=True)
    return str(folder / "index.db")


TEMPORARY = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


# Each opens the index of a folder, or makes a new one; None asks for one in memory.
KINDS: dict[str, Callable[[Path | None], Index]] = {
    "lexical": LexicalIndex,
    "exact": lambda folder: VectorIndex(folder, HASHING),
    "exact-hyperqa": lambda folder: VectorIndex(folder, HYPERQA),
    "graph": lambda folder: VectorIndex(folder, HASHING, exact_values=1),
    "graph-hyperqa": lambda folder: VectorIndex(folder, HYPERQA, exact_values=1),
    "two-readers": lambda folder: VectorIndex(folder, TWO_READERS),
    "milvus-words": lambda folder: MilvusWords(milvus(folder), "words"),
    "milvus-keys": lambda folder: MilvusKeys(milvus(folder), "keys", HASHING),
}
SLOW = {"milvus-keys"}
EACH = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in KINDS]
PLACES = [
    pytest.param(
        (name, on_disk),
        marks=[pytest.mark.slow] * (name in SLOW),
        id=f"{name}-{'folder' if on_disk else 'memory'}",
    )
    for name in KINDS
    for on_disk in ((True,) if name.startswith("milvus") else (False, True))
]


def some_posts(count: int = 200, seed: int = 1) -> list[Post]:
    random = Random(seed)
    return [
        Post(f"p{n:03}", title=" ".join(random.choices(WORDS, k=3)), body=random.choice(WORDS))
        for n in range(count)
    ]


POSTS = some_posts()
QUERIES = ["brake cable", "tyre pump rain road", "gear", "wheel spoke frame saddle pedal"]


def everything(index: Index) -> list[list[tuple[str, float]]]:
    actual = [index.search(query, 20) for query in QUERIES]
    return [
        [(hit.id, pytest.approx(hit.score, rel=1e-4, abs=1e-6)) for hit in hits] for hits in actual
    ]
