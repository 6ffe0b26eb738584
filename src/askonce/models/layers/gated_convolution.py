"""The gated non-consecutive convolution of Lei et al. 2016, section 4.1.

The recurrence is one differentiable operation with a backward pass of its own: products with words
are done for all steps at once, a step adds one d×d product and a few passes over cached values, and
the gradient of U is one product after the last step.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable
from torch.nn import functional as F

from askonce.models.layers.cells import Cell, Packing, State, weight
from askonce.text.vocabulary import PAD

KNOWN_VALUES = 4_000_000  # of words that a FewReader knows, 16 MB: 6,600 words of 200 × 3 numbers


class GatedConvolution(Cell):
    """The RCNN cell: the word and the state before decide how much of the n-gram averages to keep.

    λ_t = σ(W^λ x_t + U^λ h_{t-1} + b^λ), c^(i) ← λ_t ⊙ c^(i) + (1-λ_t) ⊙ (c^(i-1) + W_i x_t) where
    c^(i-1) is that of the step before, h_t = tanh(c^(n) + b). A scalar gate has one λ_t for all
    components. Its State is h and the accumulators c (B, n, d).
    """

    def __init__(self, input_dim: int, dim: int, order: int, scalar: bool = False) -> None:
        super().__init__(input_dim, dim)
        gates = 1 if scalar else dim
        self.order = order
        self.filters = weight(order, dim, input_dim)  # W_1 … W_n
        self.bias = weight(dim)
        self.gate_input = weight(gates, input_dim)  # W^λ
        self.gate_recurrent = weight(gates, dim)  # U^λ
        self.gate_bias = weight(gates)

    def forward(
        self, vectors: Tensor, mask: Tensor, initial: State | None = None
    ) -> tuple[Tensor, State]:
        packing = Packing.of(mask)
        _, states, final = self._read(packing, vectors, initial)
        return packing.pad(states), final

    def look_up(self, table: Tensor, rows: Tensor, mask: Tensor) -> tuple[Tensor, State]:
        """Without gradients, multiply each distinct word once."""
        if torch.is_grad_enabled():
            return super().look_up(table, rows, mask)
        packing = Packing.of(mask)
        share, news = self._products(table)
        final = self._start(packing, None).clone()
        states = table.new_empty(len(packing.rows), self.dim)
        words_by_step = torch.split(packing.pack(rows.unsqueeze(-1)).squeeze(-1), packing.sizes)
        steps = (
            (share.index_select(0, words), [new.index_select(0, words) for new in news], state)
            for words, state in zip(words_by_step, torch.split(states, packing.sizes), strict=True)
        )
        _advance(final, -self.gate_recurrent.T, steps)
        return packing.pad(states), self._end(packing, final)

    @torch.no_grad()
    def shares(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """1 - λ_t per component: how much of each word is read; zero on padding."""
        packing = Packing.of(mask)
        return packing.pad(self._read(packing, vectors, None)[0])  # (B, T, d), or (B, T, 1)

    def _read(
        self, packing: Packing, vectors: Tensor, initial: State | None
    ) -> tuple[Tensor, Tensor, State]:
        share, news = self._products(packing.pack(vectors))
        start = self._start(packing, initial)
        share, _, states, final = Recurrence.apply(  # type: ignore[no-untyped-call]
            share, news, -self.gate_recurrent, start, packing.sizes
        )
        return share, states, self._end(packing, final)

    def _products(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Terms of words (N, E) in 1 - λ before its sigmoid (1 - σ(z) = σ(-z)), and W_i x + b."""
        share = F.linear(words, -self.gate_input, -self.gate_bias)  # (N, d), or (N, 1)
        many = words.expand(self.order, -1, -1)
        return share, torch.baddbmm(self._bias_row()[:-1], many, self.filters.mT)  # (n, N, d)

    def _bias_row(self) -> Tensor:
        """The b of tanh(c^(n) + b) as a part of c^(n) from the start, since gates only average."""
        return F.pad(self.bias.view(1, 1, -1), (0, 0, 0, 0, self.order - 1, 1))  # (n+1, 1, d)

    def _start(self, packing: Packing, initial: State | None) -> Tensor:
        start = self._bias_row().expand(-1, len(packing.order), -1)  # (n+1, B, d)
        if initial is None:
            return start
        h, c = initial
        return start + torch.cat([c.transpose(0, 1), h.unsqueeze(0)])[:, packing.order]

    def _end(self, packing: Packing, final: Tensor) -> State:
        final = (final - self._bias_row())[:, packing.rank]  # (n+1, B, d)
        return final[-1], final[:-1].transpose(0, 1)


class FewReader:
    """Reads a few words, such as a question, by numpy, whose calls take less time than torch's.

    Of a cell and word vectors (V, E), each times its scale (V,), which do not change any more. What
    a word gives to its step is kept for the next question. Threads may share it.
    """

    def __init__(self, cell: GatedConvolution, words: Tensor, scales: Tensor) -> None:
        with torch.no_grad():
            weights = torch.cat([-cell.gate_input, *cell.filters]).T  # (E, g + n·d), g is d or 1
            bias = torch.cat([-cell.gate_bias, cell._bias_row()[:-1].flatten()])  # (g + n·d,)
        self._weights, self._term_bias = weights.contiguous().numpy(), bias.numpy()
        self._recurrent = -cell.gate_recurrent.detach().numpy().T  # (d, g)
        self._bias = cell.bias.detach().numpy()  # (d,)
        self._words, self._scales = words.detach().numpy(), scales.detach().numpy()
        self._order, self._gates = cell.order, len(cell.gate_bias)
        self._terms: dict[int, np.ndarray] = {}  # (g + n·d,) by word

    def __call__(self, texts: Sequence[Sequence[int]]) -> np.ndarray:
        """The h (B, d) after the last word of each text, whose words are rows of the vocabulary."""
        order = sorted(range(len(texts)), key=lambda text: -len(texts[text]))
        longest_first = [texts[text] for text in order]
        steps = range(len(longest_first[0]))
        words = [[text[step] for text in longest_first if step < len(text)] for step in steps]
        terms = self._terms_of([word for at_step in words for word in at_step])  # (N, g + n·d)
        c = np.zeros((len(texts), self._order, len(self._bias)), dtype=terms.dtype)
        c[:, -1] = self._bias
        h, start = np.zeros_like(c[:, 0]), 0  # (B, d)
        for count in map(len, words):
            here, term = c[:count], terms[start : start + count]
            start += count
            z = term[:, : self._gates] + h[:count] @ self._recurrent
            mu = 0.5 * np.tanh(0.5 * z) + 0.5  # σ(z), (b, d) or (b, 1)
            new = term[:, self._gates :].reshape(here.shape)  # (b, n, d)
            new[:, 1:] += here[:, :-1]
            here += mu[:, None] * (new - here)
            h = np.tanh(here[:, -1])
        final = np.empty_like(c[:, 0])
        final[order] = np.tanh(c[:, -1])
        return final

    def _terms_of(self, words: Sequence[int]) -> np.ndarray:
        """A copy of what these words give to their steps (N, g + n·d)."""
        known = self._terms
        missing = [word for word in dict.fromkeys(words) if word not in known]
        if missing:
            if (len(known) + len(missing)) * len(self._term_bias) > KNOWN_VALUES:
                known = self._terms = {}
                missing = list(dict.fromkeys(words))
            rows = np.array(missing)  # (m,)
            vectors = self._words[rows] * self._scales[rows, None]  # (m, E)
            vectors[rows == PAD] = 0
            known.update(zip(missing, vectors @ self._weights + self._term_bias, strict=True))
        return np.concatenate([known[word] for word in words]).reshape(len(words), -1)


class Recurrence(torch.autograd.Function):
    """c^(i) ← c^(i) + μ_t ⊙ (c^(i-1) + W_i x_t - c^(i)), h_t = tanh(c^(n)), with μ = 1-λ.

    Takes of N packed words what they give to μ before its sigmoid (N, d) or (N, 1) and W_i x_t
    (n, N, d); -U^λ; the initial accumulators and h (n+1, B, d) by falling length; and the number of
    texts at each step. Returns μ and the brackets instead of the first two, for the backward
    pass; then all h (N, d) and the final accumulators and h.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        share: Tensor,
        news: Tensor,
        recurrent: Tensor,
        start: Tensor,
        sizes: list[int],
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Each step overwrites its inputs with values for the backward pass."""
        final, states = start.clone(), torch.empty_like(news[0])
        steps = zip(
            torch.split(share, sizes), _split(news, sizes), torch.split(states, sizes), strict=True
        )
        _advance(final, recurrent.T, steps)
        ctx.mark_dirty(share, news)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(share, news, states, recurrent, start[-1], torch.tensor(sizes))
        return share, news, states, final

    @staticmethod
    @once_differentiable
    def backward(
        ctx: BackwardCFunction,
        _share: None,
        _news: None,
        by_state: Tensor | None,
        by_final: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        """Last step first. The gradient of a final State waits in its row for the last word."""
        share, news, states, recurrent, first, counts = list(ctx.saved_tensors)
        sizes: list[int] = counts.tolist()
        d_state = first.new_zeros(len(news) + 1, *first.shape)  # (n+1, B, d)
        if by_final is not None:
            d_state.copy_(by_final)
        d_share, d_news = torch.empty_like(share), torch.empty_like(news)
        from_later = [None] * len(sizes) if by_state is None else torch.split(by_state, sizes)
        steps = zip(
            torch.split(share, sizes),
            _split(news, sizes),
            torch.split(states, sizes),
            from_later,
            torch.split(d_share, sizes),
            _split(d_news, sizes),
            strict=True,
        )
        for mu, new, state, later, d_mu, d_new in reversed(list(steps)):
            *dc, dh = (part[: len(mu)] for part in d_state.unbind())
            if later is not None:
                dh += later
            dc[-1] += torch.ops.aten.tanh_backward(dh, state)
            _gate_backward(dc, mu, new, d_mu)
            for i, d_bracket in enumerate(d_new):
                torch.mul(dc[i], mu, out=d_bracket)
                dc[i] -= d_bracket
                if i > 0:
                    dc[i - 1] += d_bracket
            torch.mm(d_mu, recurrent, out=dh)
        before = [first]
        before += [h[:size] for h, size in zip(torch.split(states, sizes), sizes[1:], strict=False)]
        return d_share, d_news, d_share.T @ torch.cat(before), d_state, None


def _advance(
    final: Tensor, recurrent: Tensor, steps: Iterable[tuple[Tensor, list[Tensor], Tensor]]
) -> None:
    """Run accumulators and h (n+1, B, d) in place; the rows of a text that ended stay as they are.

    A step is what its words give to μ, W_i x_t for each i, and where to write its states.
    """
    *c, h = final.unbind()
    for mu, brackets, state in steps:
        mu.addmm_(h[: len(mu)], recurrent).sigmoid_()
        c = [average[: len(mu)] for average in c]
        for i in reversed(range(len(c))):  # from the top, since each reads the one below
            brackets[i] -= c[i]
            if i > 0:
                brackets[i] += c[i - 1]
            c[i].addcmul_(mu, brackets[i])
        h = torch.tanh(c[-1], out=state)
    torch.tanh(final[-2], out=final[-1])


def _gate_backward(dc: list[Tensor], mu: Tensor, brackets: list[Tensor], out: Tensor) -> None:
    """The gradient of μ's input: Σ_i dc^(i) ⊙ bracket^(i), through the sigmoid."""
    total = dc[0] * brackets[0]
    for d_average, bracket in zip(dc[1:], brackets[1:], strict=True):
        total.addcmul_(d_average, bracket)
    if mu.shape[1] == 1:
        total = total.sum(1, keepdim=True)
    torch.ops.aten.sigmoid_backward.grad_input(total, mu, grad_input=out)


def _split(stacked: Tensor, sizes: list[int]) -> list[list[Tensor]]:
    """Per step the n slices of (n, N, d), each contiguous."""
    return [
        list(parts) for parts in zip(*(torch.split(part, sizes) for part in stacked), strict=True)
    ]
