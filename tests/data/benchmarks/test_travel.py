import re
from collections import Counter

import pytest

from askonce.data.benchmarks import load_dataset
from askonce.data.benchmarks.travel import plain_text
from askonce.errors import AskonceError, DataError

SITE = "http://travel.stackexchange.com"


@pytest.fixture(scope="module")
def travel(published):
    return published("travel")


def write(folder, **files):
    rows = "".join(f"{n}\ttitle {n}\t<p>body {n}</p>\n" for n in range(1, 9))
    defaults = {
        "question_queries": rows,
        "question_results": rows,
        "train": "1\t2\t2\n",
        "val": "3\t4\t99\n",
        "test": "5 6\n",
    }
    for name, text in {**defaults, **files}.items():
        (folder / f"{name}.txt").write_text(text)


def linked(data, *splits):
    return [
        frozenset((pool.query.id, post.id))
        for split in splits
        for pool in data.splits[split]
        for post in pool.positives
    ]


@pytest.mark.data
def test_real_sizes(travel):
    assert len(travel.corpus) == 4919
    sizes = {
        name: Counter(len(p.candidates) for p in travel.splits[name]) for name in travel.splits
    }
    assert sizes == {"train": {100: 1353}, "dev": {500: 695}, "test": {500: 1388}}
    grades = Counter(label for pool in travel.split("test") for label in pool.labels if label)
    assert grades == {1: 1386, 2: 452}
    assert all(pool.positives for split in travel.splits.values() for pool in split)


@pytest.mark.data
def test_no_pair_is_trained_on_and_tested(travel):
    assert not set(linked(travel, "train")) & set(linked(travel, "dev", "test"))


@pytest.mark.data
def test_no_link_is_a_negative(travel):
    known = set(linked(travel, *travel.splits))
    for split in travel.splits.values():
        for pool in split:
            ids = [post.id for post in pool.candidates]
            assert len(set(ids)) == len(ids)
            assert pool.query.id not in ids
            assert not {frozenset((pool.query.id, post.id)) for post in pool.negatives} & known


@pytest.mark.data
def test_order_does_not_betray_the_labels(travel):
    places = [
        location / len(pool.labels)
        for pool in travel.split("test")
        for location, label in enumerate(pool.labels)
        if label
    ]
    assert sum(places) / len(places) == pytest.approx(0.5, abs=0.03)


@pytest.mark.data
def test_bodies_hold_no_address_and_no_number_of_a_linked_question(travel):
    assert not [post.id for post in travel.corpus if "http" in post.body or "<p>" in post.body]
    for pool in travel.split("test"):
        for post in pool.positives:
            assert not re.search(rf"\b{post.id}\b", pool.query.body)


def test_pools_of_a_small_site(tmp_path):
    links = '<row PostId="7" RelatedPostId="5" LinkTypeId="1"/>'
    links += '<row PostId="4" RelatedPostId="3" LinkTypeId="3"/>'
    (tmp_path / "PostLinks.xml").write_text(f"\ufeff<postlinks>{links}</postlinks>")
    write(tmp_path, train="1\t2\t2\n6\t5\n")
    data = load_dataset("travel", tmp_path)
    (train,), (dev,), (test,) = (data.split(name) for name in ("train", "dev", "test"))
    assert train.query.id == "1"  # 6 → 5 is 5 → 6 of the test split
    assert [post.id for post in dev.positives] == ["4"]  # 99 has no text
    assert max(dev.labels) == 2  # a moderator's duplicate, marked the other way round
    assert max(test.labels) == 1
    assert sorted(post.id for post in test.candidates) == ["1", "2", "3", "4", "6", "8"]
    assert data == load_dataset("travel", tmp_path)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a <b>b</b> &amp; c</p>", "a b & c"),
        (
            f'<p>As in <a href="{SITE}/questions/12/some-title">Some title</a>, no.</p>',
            "As in , no.",
        ),
        (f'<p>see <a rel="x" href="{SITE}/q/12/3">this\none</a></p>', "see"),
        ('<p>see <a href="/questions/12">this</a></p>', "see"),
        ('<p>on <a href="http://example.org/q/">a map</a></p>', "on a map"),
        (f"<p>like {SITE}/questions/12 or www.example.org/12</p>", "like  or"),
        (
            "<blockquote>\n <p><strong>Possible Duplicate:</strong><br>\n <em>Twin</em></p>\n"
            "</blockquote>\n<p>rest</p>",
            "rest",
        ),
    ],
)
def test_plain_text_keeps_words_and_drops_links(html, text):
    assert plain_text(html) == text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train": "1\t2\n1\t3\n"}, "train.txt, line 2: expected each query once"),
        ({"val": "3\n"}, "val.txt, line 1: expected a query and the questions it is linked with"),
        ({"val": "3\t4\n\n"}, "val.txt, line 2: expected a query and the questions"),
        ({"test": "77\t1\n"}, "test.txt, line 1: expected a query of question_queries.txt"),
        ({"test": "5\t5\n"}, "test.txt, line 1: expected links to other questions"),
        ({"question_queries": "1\ta\n"}, "question_queries.txt, line 1: expected 3 columns"),
        ({"question_results": "x\ta\tb\n"}, "question_results.txt, line 1: expected a question's"),
        ({"train": ""}, "train.txt: expected at least one line"),
    ],
)
def test_broken_files_name_the_line(tmp_path, files, message):
    write(tmp_path, **files)
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("travel", tmp_path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(AskonceError, match=r"no question_queries\.txt"):
        load_dataset("travel", tmp_path)
