import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askonce.index.lexical import LexicalIndex
from askonce.types import Post

POSTS = [
    Post("a", title="Tyre puncture", body="the rear tyre is flat"),
    Post("b", title="Brakes squeal", body="disc brakes squealing in rain"),
    Post("c", title="Flat tyres again", body="two flats a week"),
]


@pytest.fixture
def index() -> LexicalIndex:
    index = LexicalIndex()
    index.add(POSTS)
    return index


def test_finds_by_stem_and_orders_by_score(index):
    hits = index.search("flat tire tyre", k=5)
    assert {hit.id for hit in hits} == {"a", "c"}
    assert hits == sorted(hits, key=lambda hit: -hit.score)
    assert [hit.id for hit in index.search("squeals")] == ["b"]


def test_restricts_to_the_named_posts(index):
    whole = dict(index.search("flat tyre", k=5))
    assert dict(index.search("flat tyre", k=5, among=["c", "nowhere"])) == {"c": whole["c"]}


def test_a_new_version_takes_the_place_of_the_old(index):
    index.add([Post("a", title="Wobbly saddle")])
    assert len(index) == 3
    assert [hit.id for hit in index.search("tyre")] == ["c"]
    assert [hit.id for hit in index.search("saddle")] == ["a"]
    index.remove(["a", "unknown"])
    assert index.search("saddle") == []
    assert len(index) == 2


@pytest.mark.parametrize("query", ["", "   ", "?!", "zork"])
def test_nothing_to_find_is_no_error(index, query):
    assert index.search(query) == []


def test_k_may_exceed_what_there_is(index):
    assert len(index.search("tyre brakes", k=10**9)) == 3
    assert index.search("tyre", k=0) == []


def test_a_pasted_log_is_a_query_too(index):
    assert index.search("tyre " + "word " * 50_000)[0].id in {"a", "c"}


def test_survives_a_restart(tmp_path):
    LexicalIndex(tmp_path / "index").add(POSTS)
    again = LexicalIndex(tmp_path / "index")
    assert [hit.id for hit in again.search("brakes")] == ["b"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(alphabet="abc ", min_size=1, max_size=12), min_size=1, max_size=8))
def test_scores_are_bm25(texts):
    """Against the formula, k1 = 1.2 and b = 0.75; lengths under 40 words are kept exactly."""
    index = LexicalIndex()
    index.add([Post(str(i), title=text) for i, text in enumerate(texts)])
    words = [text.split() for text in texts]
    mean = sum(map(len, words)) / len(words)
    found = dict(index.search("a b", k=len(texts)))
    for i, have in enumerate(words):
        expected = 0.0
        for term in ("a", "b"):
            df = sum(term in other for other in words)
            idf = math.log(1 + (len(words) - df + 0.5) / (df + 0.5))
            tf = Counter(have)[term]
            norm = 1.2 * (1 - 0.75 + 0.75 * len(have) / mean) if mean else 1.0
            expected += idf * tf * 2.2 / (tf + norm) if tf else 0.0
        assert found.get(str(i), 0.0) == pytest.approx(expected, rel=1e-4)
