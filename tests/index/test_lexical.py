import json
import math
import shutil
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.errors import AskonceError
from askonce.index.base import IndexDamaged
from askonce.index.lexical import LexicalIndex
from askonce.index.stems import Stems
from askonce.types import Pool, Post

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


def test_a_new_version_replaces_the_old_one(index):
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


def test_a_long_query_searches_by_the_words_that_are_worth_most():
    index = LexicalIndex()
    common = " ".join(f"common{n}" for n in range(60))
    index.add([Post("rare", title="needle"), *(Post(f"c{n}", title=common) for n in range(5))])
    assert "rare" in [hit.id for hit in index.search(f"{common} needle")]
    whole = index.scores(
        Pool(Post("q", title=f"{common} needle"), (Post("c1"), Post("rare")), (0, 1))
    )
    part = index.score(f"{common} needle", ["c1", "rare"])
    assert whole[0] > part[0] > 0  # all 61 words, and 32 of them
    assert whole[1] == pytest.approx(part[1])


def test_a_word_is_worth_its_rarity_times_its_count():
    posts = [Post("often", title="chain"), Post("rare", title="needle")]
    posts += [Post(f"c{n}", title="chain wheel") for n in range(4)]
    for forgiving, query, best in (
        (False, "needle chain", "rare"),
        (False, "needle chain chain chain chain chain chain chain chain chain chain", "often"),
        (False, "unknown needle", "rare"),  # no post has the word
        (True, "nedle chain", "rare"),  # nor this one, but a post has one like it
    ):
        index = LexicalIndex(forgiving=forgiving, query_terms=1)
        index.add(posts)
        assert index.search(query)[0].id == best
        assert index.score(query, [best])[0] > 0
        assert len(index.search(query, 9)) == (5 if best == "often" else 1)


def test_ties_at_the_end_of_a_long_list_come_in_the_order_of_ids():
    index = LexicalIndex()
    names = [f"{n:04}" for n in range(900)]
    index.add([Post(name, title="same words") for name in reversed(names)])
    assert [hit.id for hit in index.search("same words", k=7)] == names[:7]


def test_nothing_of_an_add_that_failed_is_seen(index):
    def broken():
        yield Post("x", title="Wobbly saddle")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        index.add(broken())
    index.add([Post("y", title="Creaking pedal")])
    assert index.search("saddle") == []
    assert len(index) == 4


def test_a_reader_sees_what_another_index_wrote(tmp_path):
    writer = LexicalIndex(tmp_path)
    writer.add(POSTS)
    writer.save()
    reader = LexicalIndex(tmp_path, writer=False)
    assert [hit.id for hit in reader.search("brakes")] == ["b"]
    writer.add([Post("d", title="Broken spoke")])
    writer.position = 4
    writer.save()
    assert reader.search("spoke") == []
    reader.reload()
    assert [hit.id for hit in reader.search("spoke")] == ["d"]
    assert reader.position == 4
    for change in (lambda: reader.add(POSTS), lambda: reader.remove(["a"]), reader.save):
        with pytest.raises(AskonceError, match="for reading only"):
            change()


def test_a_second_writer_is_refused_until_the_first_ends(tmp_path):
    first, second = LexicalIndex(tmp_path), LexicalIndex(tmp_path)
    first.add(POSTS[:2])
    with pytest.raises(AskonceError, match="being written by another process") as caught:
        second.add(POSTS[2:])
    assert "\n" not in str(caught.value)
    first.close()
    second.add(POSTS)  # the posts that the first one added are known to the second
    assert len(second) == 3
    assert [hit.id for hit in first.search("brakes")] == ["b"]


def whole_folder(folder):
    index = LexicalIndex(folder)
    index.add(POSTS)
    index.save()
    index.close()


@pytest.mark.parametrize("pattern", ["meta.json", "position.json", "*.idx", "*.term", "*.store"])
@pytest.mark.parametrize("harm", ["gone", "cut", "other"])
def test_a_damaged_folder_is_known_at_once(tmp_path, pattern, harm):
    whole_folder(tmp_path)
    path = next(tmp_path.glob(pattern))
    if harm == "gone":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:20])
    else:
        path.write_bytes(b"7" * path.stat().st_size)
    with pytest.raises(IndexDamaged, match="rebuild it"):
        LexicalIndex(tmp_path)


def test_a_folder_of_another_kind_is_refused(tmp_path):
    whole_folder(tmp_path)
    with pytest.raises(IndexDamaged, match="tokeniser 'words', not 'whitespace'"):
        LexicalIndex(tmp_path, tokeniser="whitespace")
    path = tmp_path / "position.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(IndexDamaged, match="format 99, not 1"):
        LexicalIndex(tmp_path)


def test_reading_needs_an_index(tmp_path):
    with pytest.raises(IndexDamaged, match="holds no posts yet"):
        LexicalIndex(tmp_path / "nowhere", writer=False)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AskonceError, match="cannot be written"):
        LexicalIndex(tmp_path / "file" / "index")


def test_many_single_posts_do_not_become_many_segments(tmp_path):
    index = LexicalIndex(tmp_path)
    for n in range(40):
        index.add([Post(str(n), title=f"single post {n}")])
    index.close()
    index.reload()
    assert len(index) == 40
    assert index._reader.searcher.num_segments < 20


@given(st.lists(st.text(alphabet="abc ", min_size=1, max_size=12), min_size=1, max_size=8))
def test_scores_are_bm25(texts):
    """Against the formula, k1 = 1.2 and b = 0.75; lengths under 40 words are kept exactly."""
    index = LexicalIndex()
    index.add([Post(str(i), title=text) for i, text in enumerate(texts)])
    words = [text.split() for text in texts]
    mean = sum(map(len, words)) / len(words)
    actual = dict(index.search("a b", k=len(texts)))
    for i, have in enumerate(words):
        expected = 0.0
        for term in ("a", "b"):
            df = sum(term in other for other in words)
            idf = math.log(1 + (len(words) - df + 0.5) / (df + 0.5))
            tf = Counter(have)[term]
            norm = 1.2 * (1 - 0.75 + 0.75 * len(have) / mean) if mean else 1.0
            expected += idf * tf * 2.2 / (tf + norm) if tf else 0.0
        assert actual.get(str(i), 0.0) == pytest.approx(expected, rel=1e-4)


def test_what_a_crash_left_of_a_commit_is_no_hindrance(tmp_path):
    def made(name):
        index = LexicalIndex(tmp_path / name)
        index.add([Post("a", title="red bicycle"), Post("b", title="red wheel")])
        index.save()
        index.close()
        return tmp_path / name

    crashed = made("crashed")
    finished = tmp_path / "finished"
    shutil.copytree(crashed, finished)
    other = LexicalIndex(finished)
    other.remove(["a"])
    other.close()
    # killed after the list of deleted posts was written, before the commit said that it counts
    (deleted,) = finished.glob("*.del")
    for path in (deleted, finished / ".managed.json"):
        shutil.copy(path, crashed / path.name)

    index = LexicalIndex(crashed)
    assert [hit.id for hit in index.search("red")] == ["a", "b"]
    index.remove(["a"])
    assert [hit.id for hit in index.search("red")] == ["b"]


def test_each_distinct_word_of_a_text_has_its_stem():
    stems = Stems()
    first = stems.pairs("Policies and policy and POLICIES")
    assert list(first) == [("policies", "polici"), ("and", "and"), ("policy", "polici")]
    assert stems.pairs("a policy")[1] is first[2]  # shared, so that many texts take little memory
    assert stems("policies and policies") == ["polici", "and", "polici"]
