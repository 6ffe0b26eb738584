"""What training examples are made of, and what must never be in them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.errors import AskonceError
from askonce.text.lexicon import Lexicon
from askonce.training.batches import Collator
from askonce.training.recipe import Negatives
from askonce.training.sampling import GroupSampler, split_of
from askonce.types import Dataset, Pool, Post

SOURCES = ["pool", "corpus", "mix", "batch", "all"]
QUERY = Post("q", title="why do my brakes squeal")
RIGHT = Post("r", body="clean the rim, brakes squeal when dirty")
MISSED = Post("m", body="toe in the pads and the brakes fall silent")
WRONG = tuple(Post(f"w{i}", body=f"brakes squeal {i} lamp {i + 5}") for i in range(8))
OTHER = Pool(
    Post("o", title="which lamp"), (Post("l", body="a bright one"), *WRONG[:3]), (1, 0, 0, 0)
)


def dataset(*pools, corpus=()):
    return Dataset("made", {"train": pools, "dev": pools}, corpus=corpus)


def with_wrong(*posts, missed=()):
    """The pool of QUERY, in which these posts are labelled wrong."""
    actual = (RIGHT, *posts, *WRONG)
    return Pool(QUERY, actual, (1,) + (0,) * (len(actual) - 1), missed)


def like_the_injected(pools):
    """Scores that put whatever was injected on top."""
    return [np.array([0.0 if post in WRONG else 9.0 for post in p.candidates]) for p in pools]


INJECTED = {
    "the right one again, labelled wrong": (with_wrong(RIGHT), (RIGHT,)),
    "a right one that the pool missed": (with_wrong(MISSED, missed=(MISSED,)), (MISSED,)),
    "a copy under another id": (
        with_wrong(replace(RIGHT, id="copy")),
        (replace(RIGHT, id="copy"),),
    ),
    "a copy of one that was missed": (
        with_wrong(replace(MISSED, id="copy"), missed=(MISSED,)),
        (replace(MISSED, id="copy"),),
    ),
    "a copy with the text as title": (
        with_wrong(Post("copy", title=RIGHT.body)),
        (Post("copy", title=RIGHT.body),),
    ),
    "the query itself": (with_wrong(replace(QUERY, id="again")), (replace(QUERY, id="again"),)),
}


@pytest.mark.parametrize("source", ["pool", "corpus", "bm25", "mix", "batch"])
def test_a_question_with_many_right_posts_gives_few_groups_an_epoch(source):
    right = tuple(Post(f"r{i}", body=f"clean the rim {i} times") for i in range(9))
    large = Pool(QUERY, (*right, *WRONG), (1,) * 9 + (0,) * len(WRONG))
    made = dataset(large, OTHER, corpus=WRONG)
    negatives = Negatives(source, count=2)
    sampler = GroupSampler(made, "train", negatives, positives=3)
    epochs = [sampler.epoch(number, like_the_injected) for number in (1, 2, 3, 4)]
    for groups in epochs:
        drawn = [group.candidates[0] for group in groups if group.query == QUERY]
        assert len({post.id for post in drawn}) == len(drawn) == 3
        assert len([group for group in groups if group.query == OTHER.query]) == 1
        assert not any(post in right for group in groups for post in group.candidates[1:])
    seen = {group.candidates[0].id for groups in epochs for group in groups}
    assert len(seen) > 3 + 1  # drawn anew for each
    assert len(GroupSampler(made, "train", negatives).epoch(1)) == 9 + 1


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("what", INJECTED)
def test_a_known_right_candidate_is_never_wrong(what, source):
    pool, injected = INJECTED[what]
    # the other query's right answer is right for this one as well
    also = Pool(Post("o2", title="noise"), injected, (1,) * len(injected))
    made = dataset(pool, OTHER, also, corpus=(*pool.candidates, *pool.missed, *OTHER.candidates))
    sampler = GroupSampler(made, "train", Negatives(source, count=6))
    collator = Collator(Lexicon.build(made.posts.values()).read, sampler.right)
    right = {RIGHT.text, MISSED.text, QUERY.text} if pool.missed else {RIGHT.text, QUERY.text}
    used = set()
    for epoch in range(1, 8):
        groups = sampler.epoch(epoch, like_the_injected)
        batch = collator.collate(groups, groups if source == "batch" else None)
        wrong = wrong_texts(groups, batch, source)
        used |= wrong
        assert not wrong & right
    assert used  # something was drawn, so the test could have failed


def candidates_of(groups):
    return list({post.id: post for group in groups for post in group.candidates}.values())


def wrong_texts(groups, batch, source):
    """Texts that stand for wrong ones of QUERY: in its groups, or in its rows of the batch."""
    if source != "batch":
        return {
            post.text
            for group in groups
            if group.query == QUERY
            for post, label in zip(group.candidates, group.labels, strict=True)
            if label <= 0
        }
    posts = candidates_of(groups)
    rows = [row for row, group in enumerate(groups) if group.query == QUERY]
    wrong = batch.mask & (batch.labels <= 0)
    return {posts[column].text for row in rows for column in wrong[row].nonzero()[:, 0].tolist()}


@pytest.mark.parametrize("source", ["corpus", "batch"])
def test_what_is_right_for_an_equal_query_is_right(source):
    twin = Pool(replace(QUERY, id="twin"), (MISSED,), (1,))
    made = dataset(with_wrong(), OTHER, twin)
    sampler = GroupSampler(made, "train", Negatives(source, count=20))
    collator = Collator(Lexicon.build(made.posts.values()).read, sampler.right)
    for epoch in (1, 2):
        groups = sampler.epoch(epoch)
        batch = collator.collate(groups, groups if source == "batch" else None)
        assert not wrong_texts(groups, batch, source) & {RIGHT.text, MISSED.text}


@given(st.data())
def test_no_source_draws_what_is_right(data):
    words = st.sampled_from(["pump", "tyre", "chain", "lamp"])
    posts = [Post(f"p{i}", body=data.draw(words)) for i in range(12)]  # many copies
    pools = []
    for n in range(3):
        chosen = data.draw(st.lists(st.sampled_from(posts), min_size=2, max_size=8, unique=True))
        labels = data.draw(st.lists(st.integers(0, 1), min_size=len(chosen), max_size=len(chosen)))
        pools.append(Pool(Post(f"q{n}", title=f"query {n}"), tuple(chosen), (1, *labels[1:])))
    source = data.draw(st.sampled_from(["pool", "corpus", "mix", "all"]))
    count = data.draw(st.integers(1, 5))
    sampler = GroupSampler(dataset(*pools, corpus=posts), "train", Negatives(source, count))
    right = {p.query.id: {x.text for x in p.positives} for p in pools}
    for epoch in (1, 2):
        try:
            groups = sampler.epoch(epoch, lambda ps: [np.ones(len(p.candidates)) for p in ps])
        except AskonceError as error:  # every post is right for every query
            assert "wrong candidate" in str(error)
            continue
        for group in groups:
            wrong = [p for p, x in zip(group.candidates, group.labels, strict=True) if x <= 0]
            assert not {post.text for post in wrong} & right[group.query.id]
            assert len({post.id for post in wrong}) == len(wrong)
            assert len(wrong) <= count or source == "all"


@pytest.mark.parametrize("source", ["pool", "corpus", "mix"])
def test_count_wrong_candidates_beside_each_right_one(source):
    made = dataset(with_wrong(missed=(MISSED,)), OTHER)
    groups = GroupSampler(made, "train", Negatives(source, count=3)).epoch(1)
    assert sorted(group.candidates[0].id for group in groups) == ["l", "m", "r"]
    assert all(group.labels == (1, 0, 0, 0) for group in groups)


@pytest.mark.parametrize("source", SOURCES)
def test_an_epoch_is_the_same_by_seed_and_number_alone(source):
    pools = [replace(with_wrong(), query=Post(f"q{i}", title=f"squeal {i}")) for i in range(6)]
    made = dataset(*pools)

    def epoch(number, seed=1, before=()):
        sampler = GroupSampler(made, "train", Negatives(source, count=3), seed)
        for other in before:
            sampler.epoch(other, like_the_injected)
        return sampler.epoch(number, like_the_injected)

    assert epoch(3) == epoch(3, before=(1, 2))
    assert epoch(3) != epoch(4)
    assert epoch(3) != epoch(3, seed=2)


def test_mix_is_random_at_first_and_then_half_the_hardest():
    # w7 and w6 score best; at random they would not always be there
    def scores(pools):
        return [np.array([float(post.id[1:] or 0) for post in p.candidates]) for p in pools]

    pool = replace(with_wrong(), candidates=(Post("r0", body=RIGHT.body), *WRONG))
    sampler = GroupSampler(dataset(pool), "train", Negatives("mix", count=4))
    first = {frozenset(p.id for p in _only(sampler, 1, scores)) for _ in range(3)}
    assert first == {frozenset(p.id for p in _only(replace(sampler), 1, None))}
    others = set()
    for number in range(2, 30):
        ids = [post.id for post in _only(sampler, number, scores)]
        assert ids[:2] == ["w7", "w6"]
        assert len(set(ids)) == 4
        others |= set(ids[2:])
    assert others == {f"w{i}" for i in range(6)}


def _only(sampler, number, scores):
    [group] = sampler.epoch(number, scores)
    return group.candidates[1:]


@pytest.mark.parametrize("source", ["pool", "mix"])
def test_a_pool_of_right_candidates_takes_wrong_ones_from_everywhere(source):
    only = Pool(Post("q2", title="zzz"), (Post("r2", body="yyy"),), (1,))
    sampler = GroupSampler(dataset(only, with_wrong()), "train", Negatives(source, count=3))
    for number in (1, 2):
        groups = sampler.epoch(number, like_the_injected)
        [group] = [group for group in groups if group.query.id == "q2"]
        assert group.labels == (1, 0, 0, 0)


def test_a_corpus_smaller_than_the_count_gives_all_it_has():
    made = dataset(with_wrong())
    [group] = GroupSampler(made, "train", Negatives("corpus", count=50)).epoch(1)
    assert {post.id for post in group.candidates[1:]} == {post.id for post in WRONG}


def test_a_corpus_of_copies_is_searched_to_its_end():
    copies = tuple(replace(RIGHT, id=f"copy{i}") for i in range(200))
    made = dataset(with_wrong(), corpus=(*copies, *WRONG))
    for number in range(1, 6):
        [group] = GroupSampler(made, "train", Negatives("corpus", count=6)).epoch(number)
        assert len(group.candidates) == 7


def test_without_a_corpus_only_texts_of_the_split_are_drawn():
    hidden = Pool(Post("d", title="dev"), (Post("secret", body="of dev"),), (1,))
    made = Dataset("made", {"train": [with_wrong()], "dev": [hidden]})
    [group] = GroupSampler(made, "train", Negatives("corpus", count=50)).epoch(1)
    assert "secret" not in {post.id for post in group.candidates}


def test_all_is_the_pool_as_it_is_labelled():
    graded = Pool(QUERY, (RIGHT, MISSED, *WRONG), (2, 1) + (0,) * len(WRONG))
    [group] = GroupSampler(dataset(graded), "train", Negatives("all")).epoch(1)
    assert group[:3] == (graded.query, graded.candidates, graded.labels)


def test_unanswered_questions_are_trained_on_where_the_recipe_says_so():
    unanswered = Pool(Post("u", title="nobody knows"), WRONG, (0,) * len(WRONG))
    empty = Pool(Post("e", title="no candidates"), (), ())
    made = dataset(with_wrong(), unanswered, empty)
    assert len(GroupSampler(made, "train", Negatives("all")).epoch(1)) == 1
    groups = GroupSampler(made, "train", Negatives("all", unanswered=True)).epoch(1)
    assert {group.query.id for group in groups} == {with_wrong().query.id, "u"}
    [group] = [group for group in groups if group.query.id == "u"]
    assert group[:3] == (unanswered.query, unanswered.candidates, unanswered.labels)


def test_more_are_drawn_when_the_hardest_are_to_be_found():
    sampler = GroupSampler(dataset(with_wrong()), "train", Negatives("pool", 2, hardest_of=5))
    [group] = sampler.epoch(1)
    assert len(group.candidates) == 6


def test_the_number_to_draw_grows_over_the_first_epochs():
    negatives = Negatives("pool", 1, hardest_of=9, grow=4)
    assert [negatives.drawn(epoch) for epoch in range(1, 7)] == [1, 3, 5, 7, 9, 9]
    assert [Negatives("pool", 2, hardest_of=9).drawn(epoch) for epoch in (1, 2)] == [9, 9]
    sampler = GroupSampler(dataset(with_wrong()), "train", negatives)
    assert [len(sampler.epoch(n)[0].candidates) for n in (1, 2, 3)] == [2, 4, 6]


@pytest.mark.parametrize("source", SOURCES)
def test_no_right_candidate_at_all_is_one_clear_line(source):
    pool = Pool(QUERY, WRONG, (0,) * len(WRONG))
    with pytest.raises(AskonceError, match="no question of split 'train' has a right candidate"):
        GroupSampler(dataset(pool), "train", Negatives(source))


@pytest.mark.parametrize("source", SOURCES)
def test_no_wrong_candidate_at_all_is_one_clear_line(source):
    sampler = GroupSampler(dataset(Pool(QUERY, (RIGHT,), (1,))), "train", Negatives(source))
    with pytest.raises(AskonceError, match="no question of split 'train' has a wrong candidate"):
        sampler.epoch(1)


def test_a_missing_split_is_named_beside_those_there_are():
    with pytest.raises(AskonceError, match="no split 'train-all'; it has: train, dev"):
        split_of(dataset(OTHER), "train-all")
