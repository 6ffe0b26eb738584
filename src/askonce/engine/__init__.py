"""Answer new questions from an archive: the questions already asked, the answers already given."""

from askonce.engine.engine import Engine
from askonce.engine.results import NotReady, RankedAnswer, SimilarQuestion, Status, Why

__all__ = ["Engine", "NotReady", "RankedAnswer", "SimilarQuestion", "Status", "Why"]
