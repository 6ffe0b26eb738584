"""Small untrained rankers over a few posts, in memory and in folders. Nothing is downloaded."""

import os
from pathlib import Path

import numpy as np
import pytest

from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("LANGSMITH_TRACING", "false")

QUERIES = {
    "q1": "how do I mend a flat tyre",
    "q2": "why does my chain slip",
    "q3": "the brakes squeal in rain",
}
TEXTS = {
    "d1": "patch the tube and pump up the tyre",
    "d2": "oil the chain, or fit a new one when it is worn",
    "d3": "clean the rims and the brake pads",
    "d4": "true the wheel with a spoke key",
    "d5": "a worn chain will slip on new sprockets",
}
RIGHT = {"q1": {"d1": 1}, "q2": {"d2": 1, "d5": 1}, "q3": {"d3": 1}}


def create(name: str, **options: object) -> Ranker:
    """An untrained ranker that knows these words."""
    posts = [Post(key, title=text) for key, text in (QUERIES | TEXTS).items()]
    lexicon = Lexicon.build(posts)
    # short words, so that texts lie at different radii of HyperQA's ball
    vectors = np.random.default_rng(1).normal(0, 0.03, (len(lexicon.vocabulary), 16))
    return Ranker.create(name, lexicon, vectors.astype(np.float32), options)


@pytest.fixture(scope="session")
def encoder() -> Ranker:
    """An encoder whose similarity is neither cosine nor an inner product."""
    return create("hyperqa", dim=16)


@pytest.fixture(scope="session")
def cosine_encoder() -> Ranker:
    """An encoder whose similarity is cosine."""
    return create("cosineqa", dim=16)


@pytest.fixture(scope="session")
def pair_model() -> Ranker:
    """A model that compares both texts together."""
    return create("compare-aggregate")


@pytest.fixture(scope="session", params=["encoder", "pair_model"])
def ranker(request) -> Ranker:
    """Either kind."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def folder(ranker, tmp_path) -> Path:
    """The saved ranker."""
    ranker.save(tmp_path / "ranker")
    return tmp_path / "ranker"


@pytest.fixture
def encoder_folder(encoder, tmp_path) -> Path:
    """The saved encoder."""
    encoder.save(tmp_path / "encoder")
    return tmp_path / "encoder"


@pytest.fixture(scope="session")
def queries() -> dict[str, str]:
    """Three questions by id."""
    return QUERIES


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """Five answers by id."""
    return TEXTS


@pytest.fixture(scope="session")
def right() -> dict[str, dict[str, int]]:
    """Which answers are right for which question."""
    return RIGHT


@pytest.fixture(scope="session")
def ranking(ranker):
    """A function: what the ranker itself says of a query, as (id, score), the best first."""

    def rank(query: str) -> list[tuple[str, float]]:
        hits = ranker.rank(query, list(TEXTS.values()))
        return [(list(TEXTS)[hit["corpus_id"]], hit["score"]) for hit in hits]

    return rank
