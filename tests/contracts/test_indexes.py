"""What every kind of index promises. A new kind adds one line to KINDS."""

import os
import signal
import tempfile
import threading
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np
import pytest

from askonce.coder import RankerCoder
from askonce.index.base import Coder, Index
from askonce.index.fused import FusedIndex
from askonce.index.lexical import LexicalIndex
from askonce.index.milvus_keys import MilvusKeys
from askonce.index.milvus_words import MilvusWords
from askonce.index.vectors import VectorIndex
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

TEXT = "chain brake tyre saddle wheel pedal spoke cable gear frame light pump rain hill road"
WORDS = TEXT.split()


class HashingCoder:
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


def hyperqa() -> Coder:
    lexicon = Lexicon.build([Post("", title=f"{TEXT} lamp dynamo")])
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), 12)) / 8
    return RankerCoder(Ranker.create("hyperqa", lexicon, vectors.astype(np.float32), {"dim": 12}))


HASHING, HYPERQA = HashingCoder(), hyperqa()


def under(folder: Path | None, name: str) -> Path | None:
    return folder / name if folder else None


def fused(folder: Path | None) -> Index:
    parts: dict[str, Index] = {
        "bm25": LexicalIndex(under(folder, "lexical")),
        "vectors": VectorIndex(under(folder, "vectors"), HASHING),
    }
    return FusedIndex(parts, {"bm25": 1.0, "vectors": 0.5})


def milvus(folder: Path | None) -> str:
    """The file of a Milvus database; it has none in memory, so a new one stands for that."""
    if find_spec("pymilvus") is None or find_spec("milvus_lite") is None:
        pytest.skip("pymilvus or milvus-lite is not installed")
    folder = folder or Path(tempfile.mkdtemp(dir=TEMPORARY.name))
    folder.mkdir(exist_ok=True)
    return str(folder / "index.db")


TEMPORARY = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def fused_on_milvus(folder: Path | None) -> Index:
    place = milvus(folder)
    parts: dict[str, Index] = {
        "bm25": MilvusWords(place, "words"),
        "vectors": MilvusKeys(place, "keys", HASHING),
    }
    return FusedIndex(parts, {"bm25": 1.0, "vectors": 0.5})


# Each opens the index of a folder, or makes a new one; None asks for one in memory.
KINDS: dict[str, Callable[[Path | None], Index]] = {
    "lexical": LexicalIndex,
    "exact": lambda folder: VectorIndex(folder, HASHING),
    "exact-hyperqa": lambda folder: VectorIndex(folder, HYPERQA),
    "graph": lambda folder: VectorIndex(folder, HASHING, exact_values=1),
    "graph-hyperqa": lambda folder: VectorIndex(folder, HYPERQA, exact_values=1),
    "fused": fused,
    "milvus-words": lambda folder: MilvusWords(milvus(folder), "words"),
    "milvus-keys": lambda folder: MilvusKeys(milvus(folder), "keys", HASHING),
    "milvus-fused": fused_on_milvus,
}
SLOW = {"milvus-keys", "milvus-fused"}
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


@pytest.fixture(params=PLACES)
def index(request, tmp_path):
    kind, on_disk = request.param
    index = KINDS[kind](tmp_path / "index" if on_disk else None)
    index.add(POSTS)
    index.save()
    yield index
    index.close()


def everything(index: Index) -> list[list[tuple[str, float]]]:
    found = [index.search(query, 20) for query in QUERIES]
    return [
        [(hit.id, pytest.approx(hit.score, rel=1e-4, abs=1e-6)) for hit in hits] for hits in found
    ]


def test_finds_the_best_in_order(index):
    for query in QUERIES:
        hits = index.search(query, 8)
        assert len(hits) == 8
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
        ids = [post.id for post in POSTS]
        scores = dict(zip(ids, index.score(query, ids).tolist(), strict=True))
        if not isinstance(index, FusedIndex):  # its scores depend on the company
            best = sorted(ids, key=lambda name: (-round(scores[name], 5), name))[:8]
            assert [round(scores[hit.id], 5) for hit in hits] == [round(scores[b], 5) for b in best]


def test_score_says_what_search_says(index):
    for query in QUERIES:
        hits = index.search(query, 20)
        scores = index.score(query, [hit.id for hit in hits])
        assert scores == pytest.approx([hit.score for hit in hits], rel=1e-4, abs=1e-6)


def test_unknown_posts_score_finitely_and_not_better(index):
    scores = index.score("brake cable", ["p001", "nobody", "p002"])
    assert np.isfinite(scores).all()
    assert scores[1] <= min(scores[0], scores[2]) + 1e-9
    assert np.isfinite(index.score("brake", ["nobody"])).all()
    assert len(index.score("brake", [])) == 0


def test_a_new_version_takes_the_place_of_the_old(index):
    index.add([Post("p007", title="lamp hill")])
    assert len(index) == len(POSTS)
    assert index.search("lamp hill", 5)[0].id == "p007"
    index.add([Post("p007", title="lamp hill"), Post("p007", title="dynamo pump")])
    assert len(index) == len(POSTS)
    assert index.search("dynamo pump", 5)[0].id == "p007"
    everywhere = [hit.id for hit in index.search("lamp dynamo hill pump", 10**6)]
    assert everywhere.count("p007") == 1


def test_removed_posts_are_gone(index):
    gone = [hit.id for hit in index.search("brake cable", 30)]
    index.remove([*gone, "nobody", gone[0]])
    index.remove(["nobody"])
    assert len(index) == len(POSTS) - len(gone)
    assert not {hit.id for hit in index.search("brake cable", 10**6)} & set(gone)
    index.add([post for post in POSTS if post.id in gone])
    assert set(gone) <= {hit.id for hit in index.search("brake cable", 10**6)}
    assert index.search("brake cable", 1)[0].id == gone[0]


def test_everything_may_go(index):
    index.remove([post.id for post in POSTS])
    assert len(index) == 0
    assert index.search("brake") == []
    index.save()
    index.add(POSTS[:3])
    assert len(index) == 3


def test_equal_posts_come_in_the_order_of_ids(index):
    twins = [Post(f"t{n}", title="lamp dynamo") for n in (7, 3, 9, 1, 8, 2)]
    index.add(twins)
    assert [hit.id for hit in index.search("lamp dynamo", 3)] == ["t1", "t2", "t3"]
    index.remove(["t1"])
    index.add([Post("t0", title="lamp dynamo")])
    assert [hit.id for hit in index.search("lamp dynamo", 3)] == ["t0", "t2", "t3"]


@pytest.mark.parametrize("k", [0, -1, -(10**9)])
def test_no_hits_wanted_is_none_given(index, k):
    assert index.search("brake", k) == []


def test_k_may_exceed_what_there_is(index):
    hits = index.search(" ".join(WORDS), 10**9)
    assert {hit.id for hit in hits} == {post.id for post in POSTS}


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_query_without_words_finds_nothing(index, text):
    assert index.search(text) == []
    assert np.isfinite(index.score(text, ["p001", "nobody"])).all()


def test_awkward_posts_are_posts(index):
    odd = ["a/b c", "é", "🚲", "-", '"quoted"', "new\nline", "tab\t", "nul\0", "[x]", "0" * 200]
    index.add(
        [Post(name, title=f"lamp {n}", body="\x00\x07\x1b lamp") for n, name in enumerate(odd)]
    )
    index.add([Post("long", title="lamp", body="brake " * 170_000), Post("void", title="")])
    assert set(odd) <= {hit.id for hit in index.search("lamp", 10**6)}
    index.remove(odd)
    assert not set(odd) & {hit.id for hit in index.search("lamp", 10**6)}
    assert len(index) == len(POSTS) + 2


def test_an_awkward_query_is_a_query(index):
    assert index.search('"brake AND (cable* OR [x TO y]) -\x00:', 3)
    assert index.search("brake " * 100_000, 3)


def test_an_interrupted_source_leaves_an_index_that_works(index):
    def broken():
        yield Post("whole", title="lamp")
        raise RuntimeError("the source ended")

    with pytest.raises(RuntimeError, match="source"):
        index.add(broken())
    index.add([Post("after", title="lamp dynamo")])
    assert "after" in [hit.id for hit in index.search("lamp dynamo", 2)]


@pytest.mark.parametrize("kind", EACH)
def test_an_empty_index_finds_nothing(kind):
    index = KINDS[kind](None)
    assert len(index) == 0
    assert index.position == 0
    assert index.search("brake") == []
    assert np.isfinite(index.score("brake", ["nobody"])).all()
    index.remove(["nobody"])
    index.add([])
    index.save()
    index.close()


@pytest.mark.parametrize("kind", EACH)
def test_the_order_of_adding_does_not_matter(kind):
    one, other = KINDS[kind](None), KINDS[kind](None)
    one.add(POSTS)
    for start in range(len(POSTS), 0, -50):
        other.add(POSTS[start - 50 : start])
    assert [[hit[0] for hit in hits] for hits in everything(one)] == [
        [hit[0] for hit in hits] for hits in everything(other)
    ]
    one.close()
    other.close()


@pytest.mark.parametrize("kind", EACH)
def test_survives_a_restart(kind, tmp_path):
    index = KINDS[kind](tmp_path / "index")
    index.add(POSTS)
    index.remove(["p003"])
    index.add([Post("p004", title="hill")])
    index.position = 17
    index.save()
    before = everything(index)
    assert len(index) == len(POSTS) - 1
    index.close()
    again = KINDS[kind](tmp_path / "index")
    assert again.position == 17
    assert len(again) == len(POSTS) - 1
    assert [[(h.id, h.score) for h in again.search(query, 20)] for query in QUERIES] == before
    again.add([Post("new", title="lamp dynamo")])
    assert again.search("lamp dynamo", 1)[0].id == "new"
    again.close()


@pytest.mark.parametrize("kind", EACH)
def test_a_killed_process_leaves_what_was_saved(kind, tmp_path):
    child = os.fork()
    if child == 0:  # pragma: no cover - ends without a word, as a killed process does
        signal.alarm(60)
        try:
            index = KINDS[kind](tmp_path / "index")
            index.add(POSTS[:100])
            index.position = 100
            index.save()
            index.add(POSTS[100:150])
            index.remove(["p010"])
            index.position = 151
        finally:
            os._exit(9)
    os.waitpid(child, 0)
    index = KINDS[kind](tmp_path / "index")
    assert index.position == 100
    assert len(index) >= 99
    index.add(POSTS[100:])  # what came since the position
    index.remove(["p010"])
    index.save()
    whole = KINDS[kind](None)
    whole.add(POSTS)
    whole.remove(["p010"])
    assert len(index) == len(whole)
    assert [[(h.id, h.score) for h in index.search(query, 20)] for query in QUERIES] == everything(
        whole
    )
    index.close()
    whole.close()


def watch(index: Index, stop: threading.Event, wrong: list[object]) -> None:
    """Search again and again; what must never be seen goes into ``wrong``."""
    try:
        while not stop.is_set():
            ids = [hit.id for hit in index.search("lamp dynamo", 4)]
            scores = index.score("lamp dynamo", ["lamp", *ids])
            if ids[:1] != ["lamp"] or len(set(ids)) != len(ids) or not np.isfinite(scores).all():
                wrong.append(ids)
    except Exception as error:
        wrong.append(error)


@pytest.mark.parametrize("kind", EACH)
def test_readers_see_every_post_once_while_a_writer_writes(kind, tmp_path):
    index = KINDS[kind](tmp_path / "index")
    index.add(POSTS)
    index.add([Post("lamp", title="lamp dynamo")])
    index.save()
    stop = threading.Event()
    wrong: list[object] = []
    readers = [threading.Thread(target=watch, args=(index, stop, wrong)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(10):
        index.add([Post("lamp", title="lamp dynamo", score=turn), *some_posts(20, seed=turn)])
        index.remove([f"p{turn:03}"])
        if turn % 5 == 4:
            index.save()
    stop.set()
    for reader in readers:
        reader.join()
    index.close()
    assert not wrong, wrong[0]
