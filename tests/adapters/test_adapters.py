"""What adapters do without the packages that they adapt to."""

import sys
from importlib import import_module

import numpy as np
import pytest
import torch

from askonce.adapters.common import RankerSimilarity
from askonce.errors import MissingExtra
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

EXTRAS = {
    "haystack": ("haystack", "haystack"),
    "langchain": ("langchain_core", "langchain"),
    "mteb": ("mteb", "mteb"),
    "pyterrier": ("pyterrier", "pyterrier"),
    "sentence_transformers": ("sentence_transformers", "minilm"),
}


@pytest.mark.parametrize("name", EXTRAS)
def test_a_missing_package_is_named_with_the_command_that_installs_it(name, monkeypatch):
    package, extra = EXTRAS[name]
    loaded = [key for key in sys.modules if key.partition(".")[0] == package]
    for key in [*loaded, f"askonce.adapters.{name}"]:
        monkeypatch.delitem(sys.modules, key, raising=False)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    message = rf"needs '{package}[.\w]*': pip install .*'askonce\[{extra}\]'"
    with pytest.raises(MissingExtra, match=message):
        import_module(f"askonce.adapters.{name}")


class Adapter(RankerSimilarity):
    def __init__(self, ranker):
        self._ranker = ranker

    @property
    def ranker(self):
        return self._ranker


def test_a_table_of_scores_is_made_in_parts(monkeypatch):
    texts = ["oil the chain", "patch the tube", "true the wheel", "fit new pads"]
    lexicon = Lexicon.build([Post(text, title=text) for text in texts])
    vectors = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 8))
    ranker = Ranker.create("hyperqa", lexicon, vectors, {"dim": 8})
    actual, adapter = ranker.encode(texts), Adapter(ranker)
    whole = ranker.similarity(actual, actual[:3])
    for values in (1, 50, 10**6):
        monkeypatch.setattr("askonce.ranker.COMPARED_VALUES", values)
        torch.testing.assert_close(adapter.similarity(actual, actual[:3]), whole)
    assert adapter.similarity(actual[0], actual[1]).shape == (1, 1)
