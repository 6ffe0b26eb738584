"""Rankers saved by an earlier version load and score as they did."""

import json
import shutil

import numpy as np
import pytest

from askonce.errors import ConfigError
from askonce.models import MODELS
from askonce.models.base import Encoder
from askonce.ranker import Ranker
from tests.golden.save_rankers import PAIRS, POSTS, SAVED, TEXTS

FOLDERS = sorted(folder for folder in SAVED.iterdir() if folder.is_dir())


def test_no_saved_model_was_removed():
    saved = {json.loads((folder / "config.json").read_text())["model"] for folder in FOLDERS}
    assert saved <= set(MODELS.names())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_saved_ranker_scores_as_before(folder):
    ranker = Ranker.load(folder)
    expected = json.loads((folder / "expected.json").read_text())
    assert np.ptp(expected["scores"]) > 1e-4  # scores that do not vary would show nothing
    # processors add in another order: the last place of a score near 20 is 1.9e-6
    scores = np.asarray(expected["scores"])
    tolerance = 1e-6 * np.maximum(1, np.abs(scores))
    assert (np.abs(ranker.predict(PAIRS) - scores) <= tolerance).all()
    one_by_one = [ranker.rank(query, [document])[0]["score"] for query, document in PAIRS]
    np.testing.assert_allclose(one_by_one, expected["scores"], atol=1e-6, rtol=1e-6)
    if isinstance(ranker.model, Encoder):
        vectors = ranker.encode([*TEXTS, *POSTS])
        np.testing.assert_allclose(vectors, expected["vectors"], atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("model", "setting", "loads"),
    [
        ("hyperqa", {"init": "uniform", "gradient": "ball"}, True),  # mattered to training alone
        ("rcnn", {"idf": False}, False),  # would score otherwise today
        ("rcnn", {"gradient": "unheard of"}, False),
    ],
)
def test_retired_settings_load_where_they_mean_the_same_model(model, setting, loads, tmp_path):
    shutil.copytree(SAVED / model, tmp_path / "ranker")
    path = tmp_path / "ranker" / "config.json"
    config = json.loads(path.read_text())
    config["settings"] |= setting
    path.write_text(json.dumps(config))
    if loads:
        Ranker.load(path.parent)
    else:
        with pytest.raises(ConfigError, match=f"unknown setting '{next(iter(setting))}'"):
            Ranker.load(path.parent)
