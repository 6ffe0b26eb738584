"""The dependence models against plain counting, text by text."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from askonce.baselines.base import Material
from askonce.baselines.dependence import Dependence, Positions, WeightedDependence
from askonce.types import Dataset, Pool, Post

terms = st.sampled_from("abc")
texts = st.lists(st.lists(terms, max_size=14), min_size=1, max_size=5)


def near(text: list[str], one: str, other: str) -> int:
    """Pairs of positions at most seven apart, counted one by one."""
    return sum(
        text[i] == one and text[j] == other and 0 < abs(i - j) < 8 and (one != other or i < j)
        for i in range(len(text))
        for j in range(len(text))
    )


@given(texts, terms, terms)
def test_counts_are_those_of_each_text(texts, one, other):
    positions = Positions(texts)
    assert positions.term(one).tolist() == [text.count(one) for text in texts]
    neighbours = [sum(pair == (one, other) for pair in pairwise(t)) for t in texts]
    assert positions.ordered(one, other).tolist() == neighbours
    assert positions.unordered(one, other).tolist() == [near(t, one, other) for t in texts]


ANSWERS = ["wheel spoke wheel hub", "brake pad", "spoke tension of every wheel", "hub brake wheel"]


def dataset(labels: bool) -> Dataset:
    posts = tuple(Post(f"a{i}", body=text) for i, text in enumerate(ANSWERS))
    pool = Pool(Post("q", title="the wheel spoke tyre"), posts, (0, 0, 1, 0))
    return Dataset("tiny", {"train": [pool], "test": [pool]} if labels else {"test": [pool]})


def by_hand() -> np.ndarray:
    """.85, .10 and .05 times the smoothed log-likelihoods, with what never occurs left out."""
    tokens = [text.split() for text in ANSWERS]
    size = sum(map(len, tokens))
    concepts = [
        (0.85, [text.count("wheel") for text in tokens]),
        (0.85, [text.count("spoke") for text in tokens]),
        (0.10, [1, 0, 0, 0]),  # "wheel spoke"
        (0.05, [2, 0, 1, 0]),  # "wheel" near "spoke"
    ]
    return sum(
        weight
        * np.log(
            (np.array(counts) + 2500 * sum(counts) / size)
            / (np.array([len(text) for text in tokens]) + 2500)
        )
        for weight, counts in concepts
    )


def test_fixed_weights_by_hand():
    model = Dependence()
    model.fit(Material(dataset(labels=False)))
    scores = model.score(dataset(labels=False).split("test")[0])
    np.testing.assert_allclose(scores, by_hand(), rtol=1e-12)


def test_learned_weights_start_from_the_fixed_ones_and_follow_labels():
    pool = dataset(labels=False).split("test")[0]
    model = WeightedDependence()
    model.fit(Material(dataset(labels=False)))
    np.testing.assert_allclose(model.score(pool), by_hand(), rtol=1e-12)
    model.fit(Material(dataset(labels=True)))
    assert model.score(pool).argmax() == 2
    assert by_hand().argmax() == 0
