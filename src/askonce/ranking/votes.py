"""How much the crowd's judgement of an answer may add to its score."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class VoteWeights:
    """Votes and the accepted mark in units of the fused score, fitted on the archive's answers."""

    votes: float  # per doubling of votes
    accepted: float

    def bonus(self, score: int | None, accepted: bool) -> float:
        """What an answer with these votes gets on top; negative for what was voted down."""
        return self.votes * doublings(score) + (self.accepted if accepted else 0.0)


def doublings(score: int | None) -> float:
    """Votes as they count: each doubling as much as the one before, votes against as negative."""
    votes = score or 0
    return math.copysign(math.log2(1 + abs(votes)), votes)
