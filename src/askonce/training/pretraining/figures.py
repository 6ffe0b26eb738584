"""How far pre-training is: perplexity on held-out titles, and how titles alone rank on dev."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.models.encoder_decoder import EncoderDecoder
from askonce.models.language_model import perplexity
from askonce.models.question_encoders import QuestionEncoder
from askonce.text.batch import View
from askonce.text.lexicon import Lexicon
from askonce.text.vocabulary import PAD, UNK
from askonce.training.pretraining.pairs import Example
from askonce.types import Dataset, Post

BATCH = 256


class Coded(NamedTuple):
    """The known words of an example."""

    title: np.ndarray
    body: np.ndarray
    target: np.ndarray


class KnownWords:
    """Texts as rows of known words; unknown ones are left out, as the encoders leave them out."""

    def __init__(self, lexicon: Lexicon, body_words: int) -> None:
        self._lexicon = lexicon
        self._body_words = body_words or None  # 0 reads all
        self._kept: dict[str, np.ndarray] = {}  # marked questions stand in many examples

    def examples(self, examples: Sequence[Example]) -> list[Coded]:
        """The examples whose target has a known word."""
        coded = (
            Coded(self(e.title), self(e.body)[: self._body_words], self(e.target)) for e in examples
        )
        return [example for example in coded if len(example.target)]

    def headline(self, post: Post) -> np.ndarray:
        """The title; of a post without one, the text."""
        return self(post.title) if post.title else self(post.body)[: self._body_words]

    def __call__(self, text: str) -> np.ndarray:
        """The rows of the known words."""
        if text not in self._kept:
            codes = self._lexicon.vocabulary.encode(self._lexicon.words(text))
            self._kept[text] = codes[codes > UNK]
        return self._kept[text]


class HeldOut:
    """Titles that no training example has, to be foretold from their bodies."""

    def __init__(self, examples: Sequence[Coded]) -> None:
        self._examples = sorted((e for e in examples if len(e.body)), key=lambda e: len(e.body))
        self.words = sum(len(example.target) + 1 for example in self._examples)

    @torch.no_grad()
    def perplexity(self, model: EncoderDecoder) -> float:
        """The exp of the mean -ln p over all words and ends, among the whole vocabulary."""
        model.eval()
        total = 0.0
        for some in batches(self._examples):
            source, target = (View.of([e[side] for e in some]) for side in (1, 2))
            device = model.output.device
            total += float(model(source.to(device), target.to(device)))
        return perplexity(total, self.words)

    def unigram_perplexity(self, train: Sequence[Coded], vocabulary: int) -> float:
        """The same of a model that knows only how often each word and end is in training targets.

        Each is counted once more than it was seen.
        """
        counts = np.bincount(_targets(train), minlength=vocabulary) + 1.0
        chances = np.log(counts / counts.sum())
        return perplexity(-float(chances[_targets(self._examples)].sum()), self.words)


class TitleRanking:
    """The dev pools, ranked by the cosine of the encoder's last states of titles alone."""

    def __init__(self, dataset: Dataset, words: KnownWords) -> None:
        self._pools, self._protocol = dataset.split("dev"), dataset.protocol
        self._qrels = pools_to_qrels(self._pools)
        texts: dict[bytes, int] = {}
        self._texts: list[np.ndarray] = []

        def place(post: Post) -> int:
            codes = words.headline(post)
            found = texts.setdefault(codes.tobytes(), len(texts))
            if found == len(self._texts):
                self._texts.append(codes)
            return found

        self._rows = [
            (place(pool.query), [place(post) for post in pool.candidates]) for pool in self._pools
        ]

    def metrics(self, encoder: QuestionEncoder) -> dict[str, float]:
        """The figures of the ranking."""
        vectors = last_states(encoder, self._texts).cpu()  # (n, d)
        scores = [(vectors[found] @ vectors[query]).numpy() for query, found in self._rows]
        run = pools_to_run(self._pools, scores)
        return evaluate(self._qrels, run, self._protocol).metrics


@torch.no_grad()
def last_states(encoder: QuestionEncoder, texts: Sequence[np.ndarray]) -> Tensor:
    """The normalised state after the last word of each text."""
    encoder.eval()
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    found = []
    for rows in batches(order):
        view = View.of([texts[place] for place in rows]).to(encoder.words.weight.device)
        found.append(F.normalize(encoder.states(view)[1][-1][0], dim=-1))  # (B, d)
    vectors = torch.cat(found)
    return torch.empty_like(vectors).index_copy_(
        0, torch.tensor(order, device=vectors.device), vectors
    )  # (n, d)


def batches(items: Sequence[Any], size: int = BATCH) -> Iterator[Sequence[Any]]:
    """The items in their order, so many at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _targets(examples: Sequence[Coded]) -> np.ndarray:
    """All words and ends that are to be foretold."""
    end = np.array([PAD])
    return np.concatenate([part for example in examples for part in (example.target, end)])
