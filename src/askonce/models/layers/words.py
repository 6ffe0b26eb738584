"""Word vectors, the words that two texts share, and tables of what is computed from words."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.models.base import EmbeddingInit
from askonce.text.batch import View
from askonce.text.vocabulary import PAD

ROWS = 4_096  # words computed at a time


class WordEmbedding(nn.Module):
    """Word vectors by row; padding and empty texts are zero, whatever the padding row holds.

    Words that were read in their context come with vectors of their own.
    """

    def __init__(self, vectors: Tensor, trainable: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(vectors.detach().clone(), requires_grad=trainable)

    @property
    def dim(self) -> int:
        return self.weight.shape[1]

    def forward(self, view: View) -> Tensor:
        if view.vectors is not None:
            return view.vectors  # (B, T, E)
        return F.embedding(view.ids, self.weight) * view.real.unsqueeze(-1)  # (B, T, E)


def occurs_in(view: View, partner: View) -> Tensor:
    """True for each word that the partner text has too; unknown words match by their hash."""
    members = partner.codes.sort(1).values  # (B, S)
    rank = torch.searchsorted(members, view.codes).clamp_max(members.shape[1] - 1)  # (B, T)
    return (members.gather(1, rank) == view.codes) & view.real  # (B, T)


def first_occurrence(view: View) -> Tensor:
    """True for the first occurrence of each word in its text: the text as a set."""
    ordered, order = view.codes.sort(stable=True, dim=1)  # (B, T)
    fresh = torch.ones_like(ordered, dtype=torch.bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.zeros_like(fresh).scatter(1, order, fresh) & view.real  # (B, T)


def inverse_frequency(words: EmbeddingInit) -> Tensor:
    """idf(w) = ln(N/df) per word; an unknown word counts as seen once."""
    share = words.documents / words.document_frequency.clamp_min(1).double()  # (V,)
    return share.log().clamp_min(0).float()  # (V,)


class Scaling(nn.Module):
    """(x - mean) / spread of each of N values; both are measured once, on training pairs."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("spread", torch.ones(shape))
        self.mean: Tensor
        self.spread: Tensor

    def scaled(self, values: Tensor) -> Tensor:
        return (values - self.mean) / self.spread  # (B, N)

    def fit_values(self, values: Tensor) -> None:
        """Take mean and standard deviation from the values (B, N) of these pairs."""
        self.mean.copy_(values.mean(0))
        spread = values.std(0, correction=0)
        self.spread.copy_(torch.where(spread > 0, spread, 1))  # a constant feature stays zero


class Overlap(Scaling):
    """The four word-overlap features of Severyn & Moschitti, with a true idf and a true stop list.

    With Q and A the sets of words: |Q∩A| / (|Q|+|A|), then Σ idf(Q∩A) / (|Q|+|A|), then both
    again without stop words. idf(w) = ln(N/df), with df = 1 for an unknown word. All four are small
    beside the states of a network, so ``fit`` standardises them.
    """

    size = 4

    def __init__(self, words: EmbeddingInit) -> None:
        super().__init__(self.size)
        self.register_buffer("idf", inverse_frequency(words), persistent=False)
        self.register_buffer("stop", words.stop, persistent=False)
        self.idf: Tensor
        self.stop: Tensor

    def forward(self, query: View, candidate: View) -> Tensor:
        return self.scaled(self.shares(query, candidate))  # (B, size)

    def fit(self, query: View, candidate: View) -> None:
        self.fit_values(self.shares(query, candidate))

    def shares(self, query: View, candidate: View) -> Tensor:
        in_query, in_candidate = first_occurrence(query), first_occurrence(candidate)
        shared = in_query & occurs_in(query, candidate)  # (B, Tq)
        idf = self.idf[query.ids]  # (B, Tq)
        content, other = ~self.stop[query.ids], ~self.stop[candidate.ids]
        features = []
        for keep_query, keep_candidate in ((None, None), (content, other)):
            words = in_query if keep_query is None else in_query & keep_query
            partner = in_candidate if keep_candidate is None else in_candidate & keep_candidate
            both = (shared & words).to(idf.dtype)  # (B, Tq)
            size = (words.sum(1) + partner.sum(1)).clamp_min(1)  # (B,)
            features += [both.sum(1) / size, (both * idf).sum(1) / size]
        return torch.stack(features, dim=1)  # (B, 4)


class SharedCounts(Overlap):
    """The two counts that Yu et al. give to a logistic regression, and WikiQA's authors after them.

    The number of content words that both texts have, and the same weighted by idf.
    """

    size = 2

    def shares(self, query: View, candidate: View) -> Tensor:
        content = first_occurrence(query) & ~self.stop[query.ids]  # (B, Tq)
        shared = (content & occurs_in(query, candidate)).to(self.idf.dtype)  # (B, Tq)
        return torch.stack([shared.sum(1), (shared * self.idf[query.ids]).sum(1)], dim=1)  # (B, 2)


class MeanCosine(Scaling):
    """The cosine of both texts' mean word vectors; ``fit`` standardises it."""

    def forward(self, query: Tensor, candidate: Tensor) -> Tensor:
        """One feature per pair (B, 1) from word vectors (B, Tq, E) and (B, Ta, E)."""
        return self.scaled(self.cosine(query, candidate)).unsqueeze(-1)

    def fit(self, query: Tensor, candidate: Tensor) -> None:
        self.fit_values(self.cosine(query, candidate))

    def cosine(self, query: Tensor, candidate: Tensor) -> Tensor:
        """The sum has the direction of the mean, and padding is zero."""
        return F.cosine_similarity(query.sum(1), candidate.sum(1), dim=-1)  # (B,)


class WordTable(nn.Module):
    """One row per word of the vocabulary, or None; training and loaded weights discard it."""

    rows: Tensor | None  # (V, D)

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", None, persistent=False)
        self.register_load_state_dict_post_hook(_discard)  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def fill(self, words: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
        """Compute the rows (V, D) of all word vectors (V, E); padding has a vector of zeros."""
        padding = compute(words.new_zeros(1, words.shape[1]))  # (1, D)
        self.rows = words.new_empty(len(words), padding.shape[1])
        for part, rows in zip(torch.split(words, ROWS), torch.split(self.rows, ROWS), strict=True):
            rows.copy_(compute(part))
        self.rows[PAD] = padding
        return self.rows

    def train(self, mode: bool = True) -> "WordTable":
        if mode:
            self.rows = None
        return super().train(mode)


def _discard(module: WordTable, _: object) -> None:
    module.rows = None
