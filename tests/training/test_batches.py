"""Groups as tensors: the right pairs are scored, and each text is read once."""

import pytest
import torch

from askonce.text.lexicon import Lexicon
from askonce.training.batches import BUCKET, Collator, GroupScorer
from askonce.training.recipe import Negatives
from askonce.training.sampling import Group, GroupSampler, Right, known_right
from askonce.types import Pool, Post


@pytest.fixture
def groups(small):
    return GroupSampler(small.made(), "train", Negatives("pool", 3)).epoch(1)


@pytest.fixture
def collator(small):
    dataset = small.made()
    return Collator(small.ranker(small.recipe(), dataset).lexicon.read, known_right([]))


@pytest.mark.parametrize("name", ["hyperqa", "ctrn", "attentive-lstm", "compare-aggregate"])
def test_scores_are_those_of_the_pairs_alone(name, small, groups):
    dataset = small.made()
    ranker = small.ranker(small.recipe(name), dataset)
    uneven = [
        Group(g.query, g.candidates[: 2 + n % 3], g.labels[: 2 + n % 3])
        for n, g in enumerate(groups)
    ]
    batch = Collator(ranker.lexicon.read, {}).collate(uneven)
    with torch.inference_mode():
        scores = GroupScorer(ranker.model)(batch)  # (G, C)
    for row, group in enumerate(uneven):
        size = len(group.candidates)
        alone = ranker.predict([(group.query, post) for post in group.candidates])
        torch.testing.assert_close(scores[row, :size], torch.as_tensor(alone), atol=2e-5, rtol=1e-4)
        assert batch.mask[row].tolist() == [True] * size + [False] * (4 - size)
        assert batch.labels[row, :size].tolist() == list(group.labels)
        assert (scores[row, size:] == 0).all()


def test_each_text_is_read_once(collator):
    query, other = Post("q", title="w1 w2"), Post("o", title="w3")
    a, b, c = (Post(name, body=f"w{n} w{n + 1}") for n, name in enumerate("abc"))
    groups = [
        Group(query, (a, b), (1, 0)),
        Group(query, (c, b), (1, 0)),
        Group(other, (b, a), (1, 0)),
    ]
    batch = collator.collate(groups)
    assert (len(batch.queries), len(batch.candidates)) == (2, 3)
    assert batch.query_of.tolist() == [0, 0, 0, 0, 1, 1]
    assert batch.candidate_of.tolist() == [0, 1, 2, 1, 1, 0]


def test_a_query_and_a_candidate_may_share_an_id(collator):
    batch = collator.collate([Group(Post("1", title="w1"), (Post("1", body="w2 w3"),), (1,))])
    assert len(batch.queries.text.ids[0]) == 1
    assert len(batch.candidates.text.ids[0]) == 2


def test_a_post_is_read_once_and_with_all_others(groups, small):
    seen, calls = [], []
    read = small.ranker(small.recipe(), small.made()).lexicon.read

    def counted(posts):
        seen.extend(post.id for post in posts)
        calls.append(len(posts))
        return read(posts)

    collator = Collator(counted, {})
    for seed in range(3):
        for batch in collator.batches(groups, 4, seed):
            collator.collate(batch)
    assert len(seen) == len(set(seen))
    assert len(calls) == 2  # queries and candidates


def test_in_a_batch_the_right_answers_of_others_are_wrong_unless_right_here_too(small):
    a, b, c, copy = (
        Post(i, body=text) for i, text in zip("abcd", ["w1", "w2", "w3", "w1"], strict=True)
    )
    pools = [
        Pool(Post("q1", title="w4"), (a, b), (1, 1)),  # two right: each in a group of its own
        Pool(Post("q2", title="w5"), (c,), (1,)),
        Pool(Post("q3", title="w6"), (copy,), (1,)),  # a copy of a
    ]
    groups = [Group(p.query, (right,), (1,)) for p in pools for right in p.candidates]
    read = Lexicon.build([a, b, c]).read
    batch = Collator(read, known_right(pools)).collate(groups, groups)
    x = False  # left out
    assert batch.labels.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert batch.mask.tolist() == [
        [True, x, True, x],
        [x, True, True, x],
        [True, True, True, True],
        [x, True, True, True],
    ]
    assert batch.candidate_of.tolist() == batch.mask.nonzero()[:, 1].tolist()


@pytest.mark.parametrize("others", [1, 2, 5])
def test_in_a_batch_others_can_be_few(others, small):
    posts = [Post(f"a{n}", body=f"w{n}") for n in range(5)]
    pools = [Pool(Post(f"q{n}", title=f"w9 w{n}"), (post,), (1,)) for n, post in enumerate(posts)]
    pools[4] = Pool(pools[4].query, (posts[4], posts[0]), (1, 1))  # a0 is right for q4 too
    groups = [Group(pool.query, pool.candidates[:1], (1,)) for pool in pools]
    collator = Collator(Lexicon.build(posts).read, known_right(pools))
    batch = collator.collate(groups, groups, others)
    assert batch.labels.diagonal().tolist() == [1] * 5
    assert batch.mask.diagonal().all()
    assert not batch.mask[4, 0]
    assert batch.mask.sum(1).tolist() == [1 + min(others, n) for n in (4, 4, 4, 4, 3)]
    assert (batch.mask.sum(0) > 1).all() or others == 1  # no answer is wrong for nobody
    assert batch.candidate_of.tolist() == batch.mask.nonzero()[:, 1].tolist()


def test_a_share_of_the_batch_sees_the_candidates_of_all_of_it(small, groups):
    dataset = small.made()
    ranker = small.ranker(small.recipe("rcnn"), dataset)
    own = [Group(g.query, g.candidates[:1], (1,)) for g in groups]
    collator = Collator(ranker.lexicon.read, known_right(dataset.split("train")))
    with torch.inference_mode():
        whole = GroupScorer(ranker.model)(collator.collate(own, own))
        share = GroupScorer(ranker.model)(collator.collate(own[1::2], own))
    torch.testing.assert_close(share, whole[1::2], atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_batches_hold_each_group_once(size, collator, groups):
    made = list(collator.batches(groups, size, seed=1))
    assert sorted(g.query.id for batch in made for g in batch) == sorted(g.query.id for g in groups)
    assert all(len(batch) == size for batch in made) or len(groups) % size
    assert sum(len(batch) < size for batch in made) <= 1


def test_groups_of_like_length_stand_together_in_batches_of_random_order(collator):
    posts = [Post(str(n), body="w1 " * (1 + n * 7 % 100)) for n in range(100)]
    groups = [Group(Post("q"), (post,), (1,)) for post in posts]
    made = list(collator.batches(groups, 5, seed=1))  # one bucket: BUCKET times five groups
    assert len(groups) == BUCKET * 5
    lengths = [[len(g.candidates[0].body.split()) for g in batch] for batch in made]
    assert all(max(batch) - min(batch) == 4 for batch in lengths)
    assert lengths != sorted(lengths)
    assert made == list(collator.batches(groups, 5, seed=1))
    assert made != list(collator.batches(groups, 5, seed=2))


def test_right_holds_ids_and_texts():
    right = Right(frozenset("a"), frozenset(["w1"]))
    assert right.holds(Post("a"))
    assert right.holds(Post("b", title="w1"))
    assert not right.holds(Post("b", title="w2"))


def test_batches_move_whole(small, collator, groups):
    batch = collator.collate(groups).to("meta")
    assert {t.device.type for t in (batch.labels, batch.mask, batch.query_of)} == {"meta"}
    assert batch.candidates.text.codes.device.type == "meta"
