"""Measurements of pre-training: perplexity of held-out titles, and dev ranked by titles alone."""

from collections.abc import Sequence
from typing import NamedTuple

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
from askonce.training.batches import slices
from askonce.training.pretraining.pairs import TitleExample
from askonce.types import Dataset, Post

BATCH = 256


class EncodedExample(NamedTuple):
    """The ids of an example's known words."""

    title: np.ndarray
    body: np.ndarray
    target: np.ndarray


class KnownWords:
    """Turns texts into ids of known words; like the encoders, it drops unknown ones."""

    def __init__(self, lexicon: Lexicon, body_words: int) -> None:
        self._lexicon = lexicon
        self._body_words = body_words or None  # 0 reads all
        self._cache: dict[str, np.ndarray] = {}  # labelled questions are in many examples

    def examples(self, examples: Sequence[TitleExample]) -> list[EncodedExample]:
        """The examples whose target has a known word."""
        encoded = (
            EncodedExample(self(e.title), self(e.body)[: self._body_words], self(e.target))
            for e in examples
        )
        return [example for example in encoded if len(example.target)]

    def headline(self, post: Post) -> np.ndarray:
        """The title; the body of a post without one."""
        return self(post.title) if post.title else self(post.body)[: self._body_words]

    def __call__(self, text: str) -> np.ndarray:
        if text not in self._cache:
            ids = self._lexicon.vocabulary.encode(self._lexicon.words(text))
            self._cache[text] = ids[ids > UNK]
        return self._cache[text]


class HeldOutTitles:
    """Titles that are in no training example, to be generated from their bodies."""

    def __init__(self, examples: Sequence[EncodedExample]) -> None:
        self._examples = sorted((e for e in examples if len(e.body)), key=lambda e: len(e.body))
        self.words = sum(len(example.target) + 1 for example in self._examples)

    @torch.no_grad()
    def perplexity(self, model: EncoderDecoder) -> float:
        """The exp of the mean -ln p over all words and ends, among the whole vocabulary."""
        model.eval()
        total = 0.0
        for batch in slices(self._examples, BATCH):
            source, target = (View.of([e[side] for e in batch]) for side in (1, 2))
            device = model.output.device
            total += float(model(source.to(device), target.to(device)))
        return perplexity(total, self.words)

    def unigram_perplexity(self, train: Sequence[EncodedExample], vocabulary: int) -> float:
        """Perplexity under the frequencies of words and ends in training targets, plus one."""
        counts = np.bincount(_targets(train), minlength=vocabulary) + 1.0
        log_p = np.log(counts / counts.sum())
        return perplexity(-float(log_p[_targets(self._examples)].sum()), self.words)


class TitleRanking:
    """The dev pools, ranked by the cosine of the encoder's last states of titles alone."""

    def __init__(self, dataset: Dataset, words: KnownWords) -> None:
        self._pools, self._protocol = dataset.role("dev"), dataset.protocol
        self._qrels = pools_to_qrels(self._pools)
        rows: dict[bytes, int] = {}
        self._texts: list[np.ndarray] = []  # distinct

        def row(post: Post) -> int:
            ids = words.headline(post)
            number = rows.setdefault(ids.tobytes(), len(rows))
            if number == len(self._texts):
                self._texts.append(ids)
            return number

        self._rows = [
            (row(pool.query), [row(post) for post in pool.candidates]) for pool in self._pools
        ]

    def metrics(self, encoder: QuestionEncoder) -> dict[str, float]:
        vectors = last_states(encoder, self._texts).cpu()  # (n, d)
        scores = [
            (vectors[candidates] @ vectors[query]).numpy() for query, candidates in self._rows
        ]
        run = pools_to_run(self._pools, scores)
        return evaluate(self._qrels, run, self._protocol).metrics


@torch.no_grad()
def last_states(encoder: QuestionEncoder, texts: Sequence[np.ndarray]) -> Tensor:
    """The normalised state after the last word of each text."""
    encoder.eval()
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    states = []
    for rows in slices(order, BATCH):
        view = View.of([texts[row] for row in rows]).to(encoder.words.weight.device)
        states.append(F.normalize(encoder.states(view)[1][-1][0], dim=-1))  # (B, d)
    vectors = torch.cat(states)
    return torch.empty_like(vectors).index_copy_(
        0, torch.tensor(order, device=vectors.device), vectors
    )  # (n, d)


def _targets(examples: Sequence[EncodedExample]) -> np.ndarray:
    end = np.array([PAD])
    return np.concatenate([part for example in examples for part in (example.target, end)])
