"""Writes tests/golden/saved: one tiny ranker for each model, with the scores that it gives.

The fixture was made by version 1 of the folder format. Run this only to add a model to it:
``python tests/golden/save_rankers.py NAME ...``.
"""

import dataclasses
import json
import sys
from pathlib import Path

import torch

from askonce.models import MODELS
from askonce.models.base import Encoder
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.types import Post

SAVED = Path(__file__).parent / "saved"
FEATURES = {"overlap": True, "flags": True}
VARIANTS = {  # beside the defaults and, for models that take them, the pair features
    "cabin": {
        "no-attention": {"attention": False},
        "no-jump": {"jump": False},
        "ours": {"normalise": True, "compare": True},
    },
    "ctrn": {"soft": {"alignment": "soft"}, "index": {"alignment": "index"}},
    "cosineqa": {"sigmoid": {"score": "sigmoid"}},
    "hyperqa": {"raw": {"score": "raw"}},
    "qa-lstm": {"head-tail": {"pooling": "head_tail"}, "gesd": {"similarity": "gesd"}},
    "attentive-lstm": {"mean": {"pooling": "mean"}},
    "rcnn": {"scalar": {"gate": "scalar"}, "mean": {"pooling": "mean"}, "deep": {"depth": 2}},
}
TEXTS = [
    "How do I patch the tyre of a road bike?",
    "Why does my chain slip on the small cog?",
    "Which oil is right for a chain in winter?",
    "Take the tyre off, find the hole, and glue a patch over it.",
    "A worn chain slips; change the chain and the small cog together.",
    "Wax lasts longer than oil, but winter salt asks for wet oil.",
]
POSTS = [
    Post("q", title="Chain slips on the small cog", body="It slips in winter. Which oil is right?"),
    Post("c", body="Change the chain; glue does not help a worn cog, nor does unicorn oil."),
]
PAIRS = [(TEXTS[q], TEXTS[c]) for q, c in ((0, 3), (0, 4), (1, 4), (1, 5), (2, 5))] + [tuple(POSTS)]


def tiny(name: str, options: dict[str, object]) -> Ranker:
    """A model of a few hundred weights, all of them random."""
    fields = dataclasses.fields(MODELS[name].Config)
    whole = [f for f in fields if type(f.default) is int and f.default > 6]
    lexicon = Lexicon.build(Post(text, title=text) for text in TEXTS)
    generator = torch.Generator().manual_seed(5)
    vectors = torch.randn(len(lexicon.vocabulary), 6, generator=generator).numpy() / 3
    ranker = Ranker.create(name, lexicon, vectors, {f.name: 6 for f in whole} | options)
    with torch.no_grad():
        for key, value in ranker.model.named_parameters():
            if not key.startswith("words."):
                value.add_(0.3 * torch.randn(value.shape, generator=generator))
        for key, value in ranker.model.named_buffers():  # of overlap features
            if key.endswith(("mean", "spread")):
                value.copy_(torch.rand(value.shape, generator=generator) + 0.2)
    return Ranker(ranker.name, ranker.model, lexicon, {"data": "made up"})


def save(name: str) -> None:
    """One folder for each variant of a model."""
    fields = {f.name for f in dataclasses.fields(MODELS[name].Config)}
    variants = {"": {}, **VARIANTS.get(name, {})}
    if fields >= FEATURES.keys():
        variants["features"] = FEATURES
    for suffix, options in variants.items():
        folder = SAVED / "-".join(filter(None, [name, suffix]))
        ranker = tiny(name, options)
        ranker.save(folder)
        (folder / "README.md").unlink()  # not read
        expected = {"scores": ranker.predict(PAIRS).tolist()}
        if isinstance(ranker.model, Encoder):
            expected["vectors"] = ranker.encode([*TEXTS, *POSTS]).tolist()
        (folder / "expected.json").write_text(json.dumps(expected) + "\n", "utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:] or MODELS.names():
        save(each)
