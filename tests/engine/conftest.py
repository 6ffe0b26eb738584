"""Small untrained models, left in an archive as a training would leave them."""

import time

import numpy as np
import pytest

from askonce.ranker import Ranker
from askonce.ranking.calibration import Calibration
from askonce.ranking.manifest import Manifest, Serving, new_folder, write_manifest
from askonce.ranking.votes import VoteWeights
from askonce.text.lexicon import Lexicon


@pytest.fixture
def wait_for():
    """A function that waits until something is so."""
    return until


def until(done, seconds):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def leave_models():
    """A function that leaves models in an archive."""
    return leave


def leave(archive, folder):
    """Leave an encoder and a pair model; the name of their folder."""
    lexicon = Lexicon.build(archive.iterate())
    vectors = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 16))
    home = new_folder(folder)
    for name, model, settings in (
        ("encoder", "hyperqa", {"dim": 16}),
        ("pair", "compare-aggregate", {"dim": 16}),
    ):
        Ranker.create(model, lexicon, vectors.astype(np.float32), settings).save(home / name)
    serving = Serving(
        "encoder",
        "pair",
        weights={"bm25": 1.0, "vectors": 0.5, "pair": 0.1},
        calibration=Calibration(-2.0, {"bm25": 0.1, "shared": 2.0}),
        blend=VoteWeights(votes=0.5, accepted=1.0),
    )
    write_manifest(home, Manifest("2026-01-01T00:00:00+00:00", serving, serving))
    return home.name
