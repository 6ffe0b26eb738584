"""A bidirectional LSTM that never reads padding."""

import torch
from torch import Tensor, nn


class BiLSTM(nn.Module):
    """Reads each text forwards and backwards; a word's state is both directions' output.

    Each direction is an ``nn.LSTM`` over padded rows, the backward one over reversed texts: on CPU,
    packed sequences of unequal lengths took over twice as long to train.
    """

    def __init__(self, input_dim: int, hidden: int) -> None:
        super().__init__()
        self.forwards = single_bias(nn.LSTM(input_dim, hidden, batch_first=True))
        self.backwards = single_bias(nn.LSTM(input_dim, hidden, batch_first=True))

    @property
    def output_dim(self) -> int:
        return 2 * self.forwards.hidden_size

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """States (B, T, 2H) of word vectors (B, T, E); zeros on padding."""
        steps = torch.arange(vectors.shape[1], device=vectors.device)
        mask = steps < lengths[:, None]  # (B, T)
        mirrored = torch.where(mask, lengths[:, None] - 1 - steps, steps)  # (B, T)
        forwards = self.forwards(vectors)[0]  # (B, T, H)
        backwards = _rearranged(self.backwards(_rearranged(vectors, mirrored))[0], mirrored)
        states = torch.cat([forwards, backwards], dim=-1)  # (B, T, 2H)
        states.flatten(0, 1).index_fill_(0, (~mask).flatten().nonzero().squeeze(1), 0.0)
        return states


def single_bias(lstm: nn.LSTM) -> nn.LSTM:
    """One bias per gate, as papers count: the second of ``nn.LSTM`` stays zero."""
    bias = lstm.get_parameter("bias_hh_l0")
    nn.init.zeros_(bias).requires_grad_(False)
    return lstm


def _rearranged(vectors: Tensor, steps: Tensor) -> Tensor:
    """Gather the vectors of each row by index_select, which has the cheapest gradient."""
    starts = torch.arange(len(vectors), device=vectors.device) * vectors.shape[1]
    rows = (steps + starts[:, None]).flatten()  # (B·T,)
    return vectors.flatten(0, 1).index_select(0, rows).view_as(vectors)  # (B, T, E)
