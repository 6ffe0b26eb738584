"""What every kind of index promises of what it finds."""

import numpy as np
import pytest

from askonce.types import Post
from tests.contracts.index_kinds import EACH, KINDS, PLACES, POSTS, QUERIES, WORDS, everything


@pytest.fixture(params=PLACES)
def index(request, tmp_path):
    kind, on_disk = request.param
    index = KINDS[kind](tmp_path / "index" if on_disk else None)
    index.add(POSTS)
    index.save()
    yield index
    index.close()


def test_finds_the_best_in_order(index):
    for query in QUERIES:
        hits = index.search(query, 8)
        assert len(hits) == 8
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
        ids = [post.id for post in POSTS]
        scores = dict(zip(ids, index.score(query, ids).tolist(), strict=True))
        best = sorted(ids, key=lambda name: (-round(scores[name], 5), name))[:8]
        assert [round(scores[hit.id], 5) for hit in hits] == [round(scores[b], 5) for b in best]


def test_score_says_what_search_says(index):
    for query in QUERIES:
        hits = index.search(query, 20)
        scores = index.score(query, [hit.id for hit in hits])
        assert scores == pytest.approx([hit.score for hit in hits], rel=1e-4, abs=1e-6)


def test_many_keys_find_what_each_finds(index):
    if not hasattr(index, "search_keys"):
        pytest.skip("an index by words")
    index.remove(["p003", "p101"])
    keys = index.coder.query_keys(QUERIES)
    for count in range(1, len(keys) + 1):
        together = index.search_keys(keys[:count], 7)
        for key, hits in zip(keys[:count], together, strict=True):
            alone = index.search_key(key, 7)
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in alone])
            assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
    assert index.search_keys(keys[:0], 7) == []


def test_unknown_posts_score_finitely_and_not_better(index):
    scores = index.score("brake cable", ["p001", "nobody", "p002"])
    assert np.isfinite(scores).all()
    assert scores[1] <= min(scores[0], scores[2]) + 1e-9
    assert np.isfinite(index.score("brake", ["nobody"])).all()
    assert len(index.score("brake", [])) == 0


def test_a_new_version_replaces_the_old_one(index):
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
