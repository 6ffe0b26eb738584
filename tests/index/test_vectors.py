import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from askonce.archive import Archive
from askonce.errors import AskonceError
from askonce.index.base import IndexDamaged, KeyEncoder
from askonce.index.lexical import LexicalIndex
from askonce.index.vector_files import Logged, added, removed
from askonce.models.layers.poincare import RADIUS, candidate_key, query_key
from askonce.ranking.manifest import Serving
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import Query
from askonce.types import Post
from tests.index.by_text import VectorIndex


class Given(KeyEncoder):
    """Keys that a test lays down: posts and queries name their rows."""

    def __init__(self, keys, queries=None, name="given"):
        self.keys, self.name = np.asarray(keys, dtype=np.float32), name
        self.queries = self.keys if queries is None else np.asarray(queries, dtype=np.float32)
        self.sizes = []

    def query_keys(self, texts):
        return self.queries[[int(text) for text in texts]]

    def candidate_keys(self, posts):
        self.sizes.append(len(posts))
        return self.keys[[int(post.title) for post in posts]]


def posts(rows):
    return [Post(f"p{row}", title=str(row)) for row in rows]


def clustered(count, dim, seed=1):
    """Directions around centres, as the texts of a forum around its topics."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(count // 60, dim))
    points = centres[rng.integers(0, len(centres), count)] + 0.7 * rng.normal(size=(count, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def cosine_keys():
    points = clustered(6100, 64)
    return points[:6000], points[6000:]


def hyperbolic_keys(radius):
    rng = np.random.default_rng(2)
    points = clustered(6100, 64)
    depths = {
        "clipped": np.full(6100, RADIUS),  # where HyperQA puts nearly every text
        "spread": 1 - 10 ** -rng.uniform(0.2, 3, 6100),
        "all": 1 - 10 ** -rng.uniform(0.2, 5, 6100),
    }
    ball = torch.as_tensor(points * depths[radius][:, None], dtype=torch.float32)
    return candidate_key(ball[:6000], RADIUS).numpy(), query_key(ball[6000:]).numpy()


KEYS = {
    "cosine": cosine_keys,
    "clipped": lambda: hyperbolic_keys("clipped"),
    "spread": lambda: hyperbolic_keys("spread"),
    "all": lambda: hyperbolic_keys("all"),
    "norms": lambda: (
        cosine_keys()[0] * np.random.default_rng(3).lognormal(0, 0.2, (6000, 1)),
        cosine_keys()[1],
    ),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_graph_finds_what_a_look_at_all_keys_finds(kind):
    keys, queries = KEYS[kind]()
    coder = Given(keys, queries)
    graph, exact = VectorIndex(None, coder, exact_values=1), VectorIndex(None, coder)
    for index in (graph, exact):
        index.add(posts(range(4000)))
        index.save()
        index.add(posts(range(4000, 6000)))
        index.save()
    assert graph._snapshot.graph is not None
    assert graph._snapshot.graph.rows == 6000
    assert exact._snapshot.graph is None
    recall = []
    for query in range(60):
        actual = {hit.id for hit in graph.search(str(query), 50)}
        recall.append(len(actual & {hit.id for hit in exact.search(str(query), 50)}) / 50)
    assert np.mean(recall) >= 0.95


def test_a_graph_takes_keys_far_larger_than_its_first():
    keys = clustered(1300, 16)
    keys[1000:] *= 1e6
    coder = Given(keys)
    index = VectorIndex(None, coder, exact_values=1)
    index.add(posts(range(1000)))
    index.save()
    index.add(posts(range(1000, 1300)))
    index.save()
    assert [hit.id for hit in index.search("1005", 1)] == ["p1005"]
    assert np.isfinite([hit.score for hit in index.search("3", 100)]).all()


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 5))
def test_exact_search_is_a_sort(count, k, seed):
    keys = np.random.default_rng(seed).integers(-2, 3, (count, 3)).astype(np.float32)  # many ties
    index = VectorIndex(None, Given(keys))
    index.add(posts(range(count)))
    scores = keys @ keys[0]
    expected = sorted((-score, f"p{row}") for row, score in enumerate(scores.tolist()))[:k]
    assert [(-hit.score, hit.id) for hit in index.search("0", k)] == expected


def test_posts_are_encoded_many_at_a_time():
    coder = Given(np.zeros((5000, 4)))
    index = VectorIndex(None, coder)
    index.add(iter(posts(range(5000))))
    assert len(coder.sizes) <= 5
    assert len(index) == 5000


def test_rows_of_dead_posts_leave_the_files(tmp_path):
    coder = Given(clustered(3000, 8))
    index = VectorIndex(tmp_path, coder, exact_values=1)
    index.add(posts(range(3000)))
    index.save()
    full = (tmp_path / "keys-1.f32").stat().st_size
    index.remove([f"p{row}" for row in range(1600)])
    index.position = 9
    index.save()
    assert not (tmp_path / "keys-1.f32").exists()
    assert (tmp_path / "keys-2.f32").stat().st_size == full * 1400 // 3000
    assert len(list(tmp_path.iterdir())) == 4  # keys, log, graph, position
    again = VectorIndex(tmp_path, coder)
    assert (len(again), again.position) == (1400, 9)
    assert again.search("1700", 20) == index.search("1700", 20)
    assert again.search("1700", 1)[0].id == "p1700"


def test_what_a_crash_left_behind_is_written_over(tmp_path):
    coder = Given(clustered(100, 8))
    index = VectorIndex(tmp_path, coder)
    index.add(posts(range(50)))
    index.save()
    index.add(posts(range(60, 70)))  # in the file of keys, but never saved
    with (tmp_path / "log-1.jsonl").open("ab") as log:
        log.write(b'"half a li')
    again = VectorIndex(tmp_path, coder)
    assert len(again) == 50
    again.add(posts(range(80, 83)))
    again.save()
    once_more = VectorIndex(tmp_path, coder)
    assert len(once_more) == 53
    assert once_more.search("81", 1)[0].id == "p81"


def test_an_index_of_another_model_is_refused(tmp_path):
    VectorIndex(tmp_path, Given(np.eye(3), name="old")).save()
    with pytest.raises(IndexDamaged, match=r"another model \('old', not 'new'\)"):
        VectorIndex(tmp_path, Given(np.eye(3), name="new"))


@pytest.mark.parametrize(
    ("pattern", "harm"),
    [
        *(("keys-*", harm) for harm in ("gone", "cut")),  # other numbers are numbers too
        *(("log-*", harm) for harm in ("gone", "cut", "other")),
        *(("graph-*", harm) for harm in ("gone", "cut", "other")),
        *(("position.json", harm) for harm in ("gone", "cut", "other")),
    ],
)
def test_a_damaged_folder_is_known_at_once(tmp_path, pattern, harm):
    coder = Given(clustered(600, 8))
    index = VectorIndex(tmp_path, coder, exact_values=1)
    index.add(posts(range(600)))
    index.save()
    path = next(tmp_path.glob(pattern))
    content = path.read_bytes()
    path.unlink()  # maps of the old file stay whole
    if harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "other":
        path.write_bytes(b"7" * len(content))
    with pytest.raises(IndexDamaged, match="rebuild it"):
        VectorIndex(tmp_path, coder)


def test_a_format_to_come_is_refused(tmp_path):
    coder = Given(np.eye(3))
    VectorIndex(tmp_path, coder).save()
    path = tmp_path / "position.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(IndexDamaged, match="format 2, not 1"):
        VectorIndex(tmp_path, coder)


def test_a_reader_sees_what_was_saved(tmp_path):
    coder = Given(np.eye(4))
    with pytest.raises(IndexDamaged, match="holds no posts yet"):
        VectorIndex(tmp_path / "nowhere", coder, writer=False)
    writer = VectorIndex(tmp_path, coder)
    reader = VectorIndex(tmp_path, coder, writer=False)
    writer.add(posts(range(3)))
    writer.position = 3
    writer.save()
    assert len(reader) == 0
    reader.reload()
    assert (len(reader), reader.position) == (3, 3)
    with pytest.raises(AskonceError, match="for reading only"):
        reader.add(posts([3]))


def test_keys_that_are_no_numbers_are_refused():
    index = VectorIndex(None, Given([[1.0, 2.0], [np.nan, 1.0]]))
    with pytest.raises(AskonceError, match="'p1' a key that is not finite"):
        index.add(posts([0, 1]))
    assert len(index) == 0


def test_keys_of_one_index_have_one_length():
    coder = Given(np.eye(3))
    index = VectorIndex(None, coder)
    index.add(posts([0]))
    coder.keys = np.eye(4, dtype=np.float32)
    with pytest.raises(AskonceError, match="shape"):
        index.add(posts([1]))


def test_a_question_is_encoded_once_to_be_searched_and_scored():
    coder = Given(np.eye(3))
    asked = []
    coder.query_keys = lambda texts: asked.append(texts) or coder.keys[[0]]
    index = VectorIndex(None, coder)
    index.add(posts(range(3)))
    serving = Serving(weights={"bm25": 1.0, "vectors": 1.0})
    search = Search(Archive.in_memory(), LexicalIndex.of(posts(range(3))), index, None, serving)
    [candidates] = search.find([Query("0", lent={"p2": 0.0})], depth=2)
    hits = index.search_key(coder.keys[0], 3)
    assert dict(zip(candidates.ids, candidates.stages["vectors"], strict=True)) == dict(hits)
    assert asked == [["0"]]


@given(st.lists(st.tuples(st.booleans(), st.lists(st.text(max_size=5), min_size=1, max_size=4))))
def test_the_log_tells_ids_and_rows(changes):
    log, ids, rows = b"", [], {}
    for remove, names in changes:
        names = list(dict.fromkeys(names))
        log += removed(names) if remove else added(names)
        for name in names:
            if remove:
                rows.pop(name, None)
            else:
                rows[name] = len(ids)
                ids.append(name)
    logged = Logged()
    dead = logged.replay(log)
    assert (logged.ids, logged.rows) == (ids, rows)
    assert sorted(dead) == sorted(set(range(len(ids))) - set(rows.values()))


def test_a_follower_sees_what_is_published_before_it_is_saved(tmp_path):
    coder = Given(clustered(3000, 8))
    writer = VectorIndex(tmp_path, coder)
    writer.add(posts(range(2000)))
    writer.save()
    follower = VectorIndex(tmp_path, coder, writer=False)

    def follows():
        follower.follow(json.loads(json.dumps(writer.publish())))
        assert (len(follower), follower.position) == (len(writer), writer.position)
        for row in (5, 1700, 2050):
            assert follower.search(str(row), 20) == writer.search(str(row), 20)

    changes = [
        lambda: writer.add(posts(range(2000, 2100))),
        lambda: writer.add(posts(range(2010))),  # replaces 2010 posts: save makes new files
        lambda: writer.remove(["p5", "p2050", "unknown"]),
        lambda: writer.add(posts([5])),
        writer.save,
        lambda: writer.remove(["p1700"]),
    ]
    for number, change in enumerate(changes):
        change()
        writer.position = number
        follows()
        follows()  # nothing new
    assert (tmp_path / "keys-2.f32").exists()
    assert len(VectorIndex(tmp_path, coder)) == len(writer) + 1  # the last change is not saved
