"""Training that starts from a saved ranker: its words and weights, with new settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from askonce.errors import AskonceError, ConfigError
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.text.vectors import vectors_for
from askonce.training.fine_tuning import train
from askonce.training.prepare import start_from
from askonce.training.recipe import Recipe, recipe_of
from askonce.types import Dataset, Pool, Post

TEXTS = [
    "a bell for my bicycle",
    "the lamp is dark",
    "clean the chain",
    "a wheel with a bent spoke",
]
SMALL: dict[str, dict[str, Any]] = {
    "rcnn": {"dim": 6},
    "hyperqa": {"dim": 6},
    "cabin": {"hidden": 4, "similarity": 3},
}


def recipe(name: str, text: dict[str, Any] | None = None, **options: Any) -> Recipe:
    model = {"name": name, **SMALL[name], **options}
    return recipe_of({"model": model, "text": text or {}, "train": {"epochs": 2, "rate": 0.01}})


def saved(name: str, folder: Path, **options: Any) -> Ranker:
    """A ranker with weights that no seed gives."""
    lexicon = Lexicon.build([Post(str(n), text) for n, text in enumerate(TEXTS)])
    vectors = vectors_for(lexicon.vocabulary, None, 5, seed=7)
    ranker = Ranker.create(name, lexicon, vectors, SMALL[name] | options)
    torch.manual_seed(8)
    with torch.no_grad():
        for key, value in ranker.model.named_parameters():
            if not key.startswith("words."):
                value.add_(torch.randn_like(value) * 0.1)
    ranker.save(folder)
    return ranker


def archive() -> Dataset:
    posts = [Post(f"p{n}", f"{text} nowhere listed {n}") for n, text in enumerate(TEXTS)]
    pools = [
        Pool(Post(f"q{n}", text), (posts[n], posts[n - 1]), (1, 0)) for n, text in enumerate(TEXTS)
    ]
    return Dataset("bicycles", {"train": pools, "dev": pools, "test": pools})


def test_weights_and_words_are_the_saved_ones_bit_for_bit(tmp_path):
    before = saved("rcnn", tmp_path)
    after = start_from(recipe("rcnn", {"max_words": 3}, dropout=0.3), tmp_path)
    assert before.model.state_dict().keys() == after.model.state_dict().keys()
    for name, value in before.model.state_dict().items():
        assert torch.equal(value, after.model.state_dict()[name])
    assert after.lexicon.vocabulary.words == before.lexicon.vocabulary.words
    # what the recipe says of other things counts
    assert after.model.config.dropout == 0.3
    assert after.lexicon.max_words == 3


@pytest.mark.parametrize("name", SMALL)
def test_it_scores_as_the_saved_one_does(name, tmp_path):
    saved(name, tmp_path)
    pairs = [(text, other) for text in TEXTS for other in TEXTS]
    after = start_from(recipe(name), tmp_path)
    # hyperqa scores from tables, which must be those of the loaded weights
    np.testing.assert_array_equal(after.predict(pairs), Ranker.load(tmp_path).predict(pairs))


@pytest.mark.parametrize("name", SMALL)
def test_a_run_goes_on_from_it(name, tmp_path):
    before = saved(name, tmp_path / "saved").model.state_dict()
    chosen = recipe(name)
    ranker = start_from(chosen, tmp_path / "saved")
    train(ranker, archive(), chosen, tmp_path / "run")
    after = ranker.model.state_dict()  # of the last epoch, also where the first weights are best
    changes = {name: float((after[name] - value).abs().max()) for name, value in before.items()}
    assert changes["words.weight"] == 0
    assert 0 < max(changes.values()) < 0.1  # a few steps away from where it began
    still = {key for key, change in changes.items() if change == 0} - {"words.weight"}
    frozen = {key for key in before if ".recurrence." in key} if name == "cabin" else set()
    assert still - {"head.linear.bias"} == frozen  # what all scores share lowers no hinge loss


def test_language_models_saved_frozen_may_be_fine_tuned(tmp_path):
    saved("cabin", tmp_path, freeze_lm=True)
    ranker = start_from(recipe("cabin", freeze_lm=False), tmp_path)
    assert all(p.requires_grad for p in ranker.model.query_reader.recurrence.parameters())


def test_weights_that_do_not_fit_are_refused_with_the_settings_that_differ(tmp_path):
    saved("rcnn", tmp_path)
    with pytest.raises(ConfigError, match=r"dim = 8 \(saved: 6\), dropout = 0.2 \(saved: 0.1\)"):
        start_from(recipe("rcnn", dim=8, dropout=0.2), tmp_path)
    with pytest.raises(ConfigError, match=r"depth = 2 \(saved: 1\)"):
        start_from(recipe("rcnn", depth=2), tmp_path)
    with pytest.raises(ConfigError, match="holds a 'rcnn' and the recipe trains a 'cabin'"):
        start_from(recipe("cabin"), tmp_path)


def test_a_folder_without_a_ranker_is_an_error(tmp_path):
    with pytest.raises(AskonceError, match="not a ranker folder"):
        start_from(recipe("rcnn"), tmp_path)
