"""The non-consecutive convolution with constant decay (Lei et al. 2015), before it had gates."""

import torch
from torch import Tensor

from askonce.models.layers.cells import Cell, State, weight
from askonce.models.layers.functional import last_state


class DecayedConvolution(Cell):
    """All n-grams count, less by ``decay`` for each word they skip.

    c_t = Σ_{t'<t} λ^(t-t'-1) (W_1 x_t' + W_2 x_t) for n = 2, h_t = tanh(c_t + b), and so on for
    longer n-grams. It is not the gated cell with a constant gate: nothing is normalised by 1-λ. A
    text of fewer than n words has no n-gram. Its State is h and, for each i < n, the decayed
    sum of the i-grams so far (B, n-1, d) and of their weights (B, n-1).
    """

    def __init__(self, input_dim: int, dim: int, order: int, decay: float) -> None:
        super().__init__(input_dim, dim)
        self.order, self.decay = order, decay
        self.filters = weight(order, dim, input_dim)  # W_1 … W_n
        self.bias = weight(dim)

    def forward(
        self, vectors: Tensor, mask: Tensor, initial: State | None = None
    ) -> tuple[Tensor, State]:
        rows, time = mask.shape
        if initial is None:
            sums = vectors.new_zeros(rows, self.order - 1, self.dim)
            counts = vectors.new_zeros(rows, self.order - 1)
        else:
            _, sums, counts = initial
        past, carry = self._decays(time, vectors)
        lengths = mask.sum(1)
        grams = vectors @ self.filters[0].T  # (B, T, d): the i-grams that end at t
        weights = torch.ones_like(grams[..., :1])  # (B, T, 1): their number, each with its decay
        ends = []
        for i in range(self.order - 1):
            both = torch.cat([grams, weights], dim=-1)  # (B, T, d+1)
            begun = torch.cat([sums[:, i], counts[:, i, None]], dim=-1).unsqueeze(1)  # (B, 1, d+1)
            earlier = past @ both + carry * begun  # (B, T, d+1): the i-grams that end before t
            ends.append(last_state(self.decay * earlier + both, lengths))
            longer, weights = earlier[..., :-1], earlier[..., -1:]
            grams = longer + weights * (vectors @ self.filters[i + 1].T)
        states = (grams + self.bias).tanh()  # (B, T, d)
        end = torch.stack(ends, dim=1)  # (B, n-1, d+1)
        return states, (last_state(states, lengths), end[..., :-1], end[..., -1])

    def _decays(self, time: int, like: Tensor) -> tuple[Tensor, Tensor]:
        steps = torch.arange(time, device=like.device)
        skipped = (steps.unsqueeze(1) - 1 - steps).clamp_min(0)  # (T, T)
        base = torch.tensor(self.decay, dtype=like.dtype, device=like.device)
        return (base**skipped).tril(-1), (base**steps).unsqueeze(-1)  # (T, T), (T, 1)
