"""Encoders of whole questions (Lei et al. 2016): what all share, and the rivals LSTM, GRU and CNN.

Word vectors are multiplied by idf and read by the layers, states are normalised and pooled, and the
vectors of title and body are averaged. Unknown words are left out, as in the authors' code.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.config import AtLeastOne, AtLeastZero, BelowOne
from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Encoder
from askonce.models.layers.cells import Cell, ConvolutionCell, GRUCell, LSTMCell, State
from askonce.models.layers.functional import cosine, masked_max, masked_mean
from askonce.models.layers.words import WordEmbedding
from askonce.text.batch import Batch, View
from askonce.text.vocabulary import PAD, UNK

Field = Literal["title", "body"]


@dataclass(frozen=True)
class QuestionConfig:
    """Settings of all encoders of Lei et al. 2016; "code": stated only by the authors' code."""

    dim: AtLeastOne = 400  # table 3
    depth: AtLeastOne = 1  # code
    pooling: Literal["last", "mean", "max"] = "last"  # table 2, the better on dev
    fields: Literal["title", "body", "both"] = "both"  # table 5
    body_words: AtLeastZero = 100  # footnote 5; 0 reads all
    dropout: BelowOne = 0.1  # code; the paper searches .1, .2, .3
    train_words: bool = False  # section 6: fixed


class QuestionEncoder(Encoder):
    """Title and body through the same layers into one vector; cosine compares.

    A title or body without a known word is ignored. A post without any known word is one word of
    zeros.
    """

    Config: ClassVar[type[QuestionConfig]]
    config: QuestionConfig
    cell: type[Cell]  # of models whose layers have no settings but the dimension

    def __init__(self, config: QuestionConfig, words: EmbeddingInit) -> None:
        super().__init__()
        self.config = config
        self.words = WordEmbedding(words.vectors, config.train_words)
        idf = smooth_idf(words).to(words.vectors.dtype)  # (V,), code: word vectors times idf
        self.register_buffer("word_weight", idf, persistent=False)
        self.word_weight: Tensor
        self.dropout = nn.Dropout(config.dropout)
        dims = [self.words.dim] + [config.dim] * (config.depth - 1)
        self.layers = nn.ModuleList(self.layer(dim) for dim in dims)

    def layer(self, input_dim: int) -> Cell:
        """A new layer of this model's kind; decoders use it too."""
        return self.cell(input_dim, self.config.dim)

    @property
    def fields(self) -> tuple[Field, ...]:
        return ("title", "body") if self.config.fields == "both" else (self.config.fields,)

    def encode(self, batch: Batch) -> Tensor:
        """The mean of the vectors of title and body, where they have known words."""
        view = stack([self.known(batch, field)[0] for field in self.fields])
        vectors = self.pool(view).view(len(self.fields), len(batch), -1)  # (F, B, d)
        counts = view.real.any(1).view(len(self.fields), len(batch), 1)  # (F, B, 1)
        counts = (counts | ~counts.any(0)).to(vectors.dtype)
        return self.dropout((vectors * counts).sum(0) / counts.sum(0))  # (B, d)

    def similarity(self, query: Tensor, candidate: Tensor) -> Tensor:
        return cosine(query, candidate)

    def known(self, batch: Batch, field: Field) -> tuple[View, Tensor]:
        """The known words of a field without gaps, and a mask (B, T) of where they were."""
        view = batch.title if field == "title" else batch.body
        return known_words(view, self.config.body_words if field == "body" else 0)

    def pool(self, view: View) -> Tensor:
        states, finals = self.states(view)
        # states are normalised before every pooling (footnote 4 and code)
        if self.config.pooling == "last":
            return F.normalize(finals[-1][0], dim=-1)  # (B, d)
        pool = masked_mean if self.config.pooling == "mean" else masked_max
        return pool(F.normalize(states, dim=-1), view.mask)  # (B, d)

    def states(self, view: View) -> tuple[Tensor, list[State]]:
        """States of the last layer for each word, and every layer's State after the last word."""
        first, *others = cast(list[Cell], list(self.layers))
        if self.training:  # dropout differs for each occurrence of a word
            states, final = first(self.inputs(view), view.mask)  # (B, T, d)
        else:
            distinct, rows = torch.unique(view.codes, return_inverse=True)  # (U,), (B, T)
            one_text = View(distinct.unsqueeze(0), distinct.new_tensor([len(distinct)]))
            states, final = first.look_up(self.inputs(one_text)[0], rows, view.mask)
        finals = [final]
        for layer in others:
            states, final = layer(states, view.mask)  # (B, T, d)
            finals.append(final)
        return states, finals

    def inputs(self, view: View) -> Tensor:
        """Word vectors as the first layer gets them."""
        weights = self.word_weight[view.ids].unsqueeze(-1)  # (B, T, 1)
        return self.dropout(self.words(view) * weights)  # (B, T, E)


def smooth_idf(words: EmbeddingInit) -> Tensor:
    """ln((1+N) / (1+df)) + 1; a quarter of the mean for a word without documents."""
    counts = words.document_frequency.double()
    idf = ((1 + words.documents) / (1 + counts)).log() + 1  # (V,)
    seen = counts > 0
    mean = idf[seen].mean() if seen.any() else idf.new_tensor(4.0)
    return torch.where(seen, idf, mean / 4)


def known_words(view: View, limit: int = 0) -> tuple[View, Tensor]:
    """The first ``limit`` known words (0: all), and a mask of where they were."""
    keep = view.codes > UNK  # (B, T)
    if limit:
        keep = keep & (keep.cumsum(1) <= limit)
    counts = keep.sum(1)  # (B,)
    lengths = counts.clamp_min(1)
    steps = torch.arange(int(lengths.max()), device=keep.device)
    codes = torch.full((len(keep), len(steps)), PAD, device=keep.device)
    codes[steps < counts.unsqueeze(1)] = view.codes[keep]
    return View(codes, lengths), keep


def stack(views: list[View]) -> View:
    """The texts of several views as one view, to read them in one pass."""
    longest = max(view.codes.shape[1] for view in views)
    codes = [F.pad(view.codes, (0, longest - view.codes.shape[1]), value=PAD) for view in views]
    return View(torch.cat(codes), torch.cat([view.lengths for view in views]))


@MODELS.add("lstm")
class LSTM(QuestionEncoder):
    """Question encoder with a long short-term memory."""

    @dataclass(frozen=True)
    class Config(QuestionConfig):
        dim: AtLeastOne = 240  # table 3
        pooling: Literal["last", "mean", "max"] = "mean"  # table 2

    cell = LSTMCell


@MODELS.add("gru")
class GRU(QuestionEncoder):
    """Question encoder with a gated recurrent unit."""

    @dataclass(frozen=True)
    class Config(QuestionConfig):
        dim: AtLeastOne = 280  # table 3
        pooling: Literal["last", "mean", "max"] = "mean"  # table 2

    cell = GRUCell


@MODELS.add("cnn")
class CNN(QuestionEncoder):
    """Question encoder with a causal convolution."""

    @dataclass(frozen=True)
    class Config(QuestionConfig):
        dim: AtLeastOne = 667  # table 3
        order: AtLeastOne = 3  # table 3, width of the filters
        pooling: Literal["last", "mean", "max"] = "mean"  # table 2

    config: Config

    def layer(self, input_dim: int) -> Cell:
        return ConvolutionCell(input_dim, self.config.dim, self.config.order)
