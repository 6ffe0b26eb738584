"""CTRN: a QRNN in which the gates of each text also compose its partner (Tay et al., 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from askonce.models import MODELS
from askonce.models.base import Side, States, WordWeights
from askonce.models.layers.functional import masked_softmax
from askonce.models.qrnn import CANDIDATE, QRNN, QUERY, Gated, gate_weights, gated_mean
from askonce.text.batch import Batch, View

Alignment = Literal["proportional", "literal_clamp", "index", "soft"]


def aligned(own: Tensor, partner: Tensor, steps: int, alignment: Alignment) -> Tensor:
    """The partner's step t* for each own step, both from 0, for texts of lengths (B,)."""
    t = torch.arange(1, steps + 1, device=own.device)[:, None]  # (T, 1)
    if alignment == "proportional":  # the printed formula where it stays within the partner
        step = (t * partner + own - 1) // own  # ⌈t·Lp/Lo⌉
    elif alignment == "literal_clamp":
        longer, shorter = torch.maximum(own, partner), torch.minimum(own, partner)
        step = t * ((longer + shorter - 1) // shorter)
    else:
        step = t
    return step.minimum(partner) - 1  # (T, B)


@MODELS.add("ctrn")
class CTRN(QRNN):
    """QRNN in which each text is composed twice, by its own gates and by its partner's gates."""

    @dataclass(frozen=True)
    class Config(QRNN.Config):
        """Settings of QRNN, and which word of the partner gives its gates."""

        alignment: Alignment = (
            "proportional"  # t*; the printed formula can exceed the partner's length
        )

    config: Config

    def at_once(self, query: View, candidate: View) -> Tensor:
        if self.config.alignment != "soft":
            return super().at_once(query, candidate)
        # every word attends to all words of the partner, which needs padded states
        one = self.states(query, self.vectors(query, candidate), QUERY)
        two = self.states(candidate, self.vectors(candidate, query), CANDIDATE)
        return self.compare(one, two, self.features(query, candidate))

    def pooled(self, own: Gated, partner: Gated) -> Tensor:
        """Mean over the words of one side of h_t ⊙ h†_t, in which † has the partner's gates."""
        steps = own.packing.shape[1]
        step = aligned(own.lengths, partner.lengths, steps, self.config.alignment)  # (T, B)
        rows = partner.packing.starts[step] + partner.packing.rank  # (T, B)
        partner_gates = partner.gates.index_select(0, own.packing.pack(rows.T))  # (N, 2d)
        return own.mean(partner_gates)  # (B, d)

    def states(self, view: View, vectors: Tensor, side: Side) -> States:
        """Values (B, T, d) and gates (B, T, 2d) of each word."""
        values, gates = self.gates(view, vectors)  # (T, B, ·)
        return States(view, {"values": values.transpose(0, 1), "gates": gates.transpose(0, 1)})

    def compare(self, query: States, candidate: States, features: Tensor) -> Tensor:
        crossed = self.composed(query, candidate), self.composed(candidate, query)
        return self.odds(*crossed, features)  # (B,)

    def composed(self, own: States, partner: States) -> Tensor:
        """The same as ``pooled`` from padded states."""
        z, gates = (own[name].transpose(0, 1) for name in ("values", "gates"))
        return gated_mean(own.view, z, gates, self.partner_gates(own, partner))  # (B, d)

    def partner_gates(self, own: States, partner: States) -> Tensor:
        """The partner's gates (T, B, 2d) for each word of one side."""
        if self.config.alignment == "soft":
            return self.attended(own, partner)
        steps, count = own["values"].shape[1], len(own.view)
        step = aligned(own.view.lengths, partner.view.lengths, steps, self.config.alignment)
        rows = step * count + torch.arange(count, device=step.device)  # (T, B)
        gates = partner["gates"].transpose(0, 1).flatten(0, 1)  # (S·B, 2d)
        return gates.index_select(0, rows.flatten()).view(*rows.shape, -1)  # (T, B, 2d)

    def attended(self, own: States, partner: States) -> Tensor:
        """The partner's gates (T, B, 2d), weighted by the similarity of the values."""
        similarity = own["values"] @ partner["values"].transpose(1, 2)  # (B, T, S)
        weights = masked_softmax(similarity, partner.view.mask[:, None])  # (B, T, S)
        return (weights @ partner["gates"]).transpose(0, 1)

    def inspect(self, query: Batch, candidate: Batch) -> Sequence[WordWeights]:
        """The own and the partner's gates of each word, as means over the d values."""
        read = self.read_both(query, candidate)
        weights = []
        for own, partner, side in ((*read, QUERY), (*read[::-1], CANDIDATE)):
            weights += gate_weights("own", side, own["gates"].transpose(0, 1))
            weights += gate_weights("partner's", side, self.partner_gates(own, partner))
        return weights
