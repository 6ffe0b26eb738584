"""Pre-training: what is guessed from what, and what is held out."""

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from askonce.errors import AskonceError
from askonce.training.pretraining.pairs import pretraining_pairs
from askonce.types import Dataset, Post
from tests.training.small_forum import forum, help_desk, question


def test_questions_lead_to_their_own_titles_and_marked_ones_to_each_other():
    pairs = pretraining_pairs(forum())
    train = {(example.body, example.target) for example in pairs.train}
    one, other = question(50), question(150)  # a pool of the training split, and its twin
    assert (one.body, one.title) in train
    assert (one.body, other.title) in train
    assert (other.body, one.title) in train
    assert all(example.title and example.body for example in pairs.train)


def test_an_answer_leads_to_its_question_and_only_in_training():
    dataset = help_desk()
    pairs = pretraining_pairs(dataset)
    actual = {(e.title, e.body, e.target) for e in [*pairs.train, *pairs.heldout]}
    asked = (question(n) for n in range(30))
    assert actual == {(q.title, q.body, q.title) for q in asked}


def test_marks_of_dev_and_test_are_not_read():
    dataset = forum()
    train = {(example.title, example.target) for example in pretraining_pairs(dataset).train}
    for pool in (*dataset.split("dev"), *dataset.split("test")):
        (twin,) = pool.positives
        assert (pool.query.title, twin.title) not in train
        assert (twin.title, pool.query.title) not in train


@given(st.integers(0, 50), st.integers(120, 200))
@examples(max_examples=20)
def test_held_out_questions_are_in_no_training_example(seed, size):
    pairs = pretraining_pairs(forum(size), seed)
    held = {example.title for example in pairs.heldout}
    assert len(pairs.heldout) == max(1, round(0.05 * size))
    assert not any(held & {example.title, example.target} for example in pairs.train)
    assert pairs == pretraining_pairs(forum(size), seed)


def test_the_seed_says_what_is_held_out():
    assert pretraining_pairs(forum(), 1).heldout != pretraining_pairs(forum(), 2).heldout


@pytest.mark.parametrize("posts", [(), (question(1),), (Post("a", "only titles"), Post("b", "x"))])
def test_too_little_to_learn_from(posts):
    pools = {"train": (), "dev": ()}
    with pytest.raises(AskonceError, match="needs at least 2"):
        pretraining_pairs(Dataset("small", pools, corpus=posts))


@pytest.mark.data
def test_pairs_of_a_forum(published):
    dataset = published("travel")
    pairs = pretraining_pairs(dataset)
    assert len(pairs.heldout) == round(0.05 * 4919)
    own = sum(example.title == example.target for example in pairs.train)
    assert own == 4919 - len(pairs.heldout)
    kept_apart = {p.query.title for name in ("dev", "test") for p in dataset.split(name)}
    marked = [example for example in pairs.train if example.title != example.target]
    assert 2_000 < len(marked) < 2 * 1753
    assert not any(kept_apart & {example.title, example.target} for example in marked)
