"""What every registered baseline promises, and what the simple ones compute."""

import numpy as np
import pytest

from askonce.baselines import BASELINES
from askonce.baselines.base import Material
from askonce.baselines.lexical import TfIdf
from askonce.errors import AskonceError
from askonce.types import Dataset, Pool, Post

RIGHT = [
    "put a patch on the hole in the tube",
    "replace the worn brake pads",
    "oil the chain weekly",
]
ASKED = ["how do i patch a tube hole", "when to replace brake pads", "how often to oil a chain"]


def pools(split: str) -> list[Pool]:
    posts = [Post(f"{split}-a{i}", body=text, kind="answer") for i, text in enumerate(RIGHT)]
    return [
        Pool(
            Post(f"{split}-q{i}", title=text),
            tuple(posts),
            tuple(int(i == j) for j in range(3)),
            given=(3.0, 1.0, 1.0),
        )
        for i, text in enumerate(ASKED)
    ]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset("tiny", {name: pools(name) for name in ("train", "dev", "test")})


@pytest.mark.parametrize("name", BASELINES.names())
def test_scores_every_candidate_and_the_same_each_time(name, dataset):
    actual = []
    for _ in range(2):
        baseline = BASELINES[name]()
        baseline.fit(Material(dataset))
        actual.append([baseline.score(pool) for pool in dataset.split("test")])
    for first, second in zip(*actual, strict=True):
        assert first.shape == (3,)
        assert np.isfinite(first).all()
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "name",  # nine short texts train no vectors
    sorted(set(BASELINES.names()) - {"random", "given", "word-vectors", "paragraph-vectors"}),
)
def test_finds_the_right_answer_by_its_words(name, dataset):
    baseline = BASELINES[name]()
    baseline.fit(Material(dataset))
    for number, pool in enumerate(dataset.split("test")):
        assert baseline.score(pool).argmax() == number


@pytest.mark.parametrize("name", BASELINES.names())
def test_needs_no_labels(name, dataset):
    unlabelled = Dataset("tiny", {"test": dataset.split("test")})
    baseline = BASELINES[name]()
    baseline.fit(Material(unlabelled))
    assert baseline.score(dataset.split("test")[0]).shape == (3,)


def test_given_order_breaks_ties_as_listed(dataset):
    given = BASELINES["given"]()
    assert given.score(dataset.split("test")[0]).tolist() == [0.0, -1.0, -2.0]
    with pytest.raises(AskonceError, match="gives no scores for query 'q'"):
        given.score(Pool(Post("q"), (Post("a"),), (1,)))


def test_tfidf_is_the_cosine_of_the_formula(dataset):
    """By hand for single words: log-tf times smoothed idf, over the nine candidates."""
    baseline = TfIdf()
    baseline.fit(Material(dataset))
    texts = [text.split() for text in RIGHT] * 3
    vocabulary = sorted({word for text in texts for word in text} | set(ASKED[0].split()))
    df = np.array([sum(word in text for text in texts) for word in vocabulary])
    idf = np.log((1 + len(texts)) / (1 + df)) + 1

    def vector(words):
        tf = np.array([words.count(word) for word in vocabulary])
        weights = np.where(tf > 0, 1 + np.log(np.maximum(tf, 1)), 0) * idf
        return weights / np.linalg.norm(weights)

    expected = [vector(text) @ vector(ASKED[0].split()) for text in texts[:3]]
    np.testing.assert_allclose(baseline.score(dataset.split("test")[0]), expected, rtol=1e-5)


def test_ngrams_do_not_run_from_one_text_into_the_next(dataset):
    baseline = BASELINES["tfidf-2"]()
    baseline.fit(Material(dataset))
    counts = baseline._vectors[0].transform(["a b", "c d"])
    assert counts.sum(1).ravel().tolist() == [[3.0, 3.0]]
