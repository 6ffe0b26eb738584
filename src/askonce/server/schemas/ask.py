"""Responses to questions. The hits themselves are defined in ``askonce.engine.results``."""

from askonce.engine import RankedAnswer, SimilarQuestion
from askonce.engine.results import ANSWER, SIMILAR
from askonce.server.schemas import Shape, closed

_QUERY = "my back wheel loses air"


class Asked(Shape):
    """What was asked, and how long the answer took."""

    query: str
    ranker: str
    took_ms: float


class SimilarResponse(Asked):
    """Similar questions, best first."""

    model_config = closed(query=_QUERY, ranker="best", took_ms=4.2, similar=[SIMILAR])

    similar: list[SimilarQuestion]


class AnswersResponse(Asked):
    """Answers, best first."""

    model_config = closed(query=_QUERY, ranker="best", took_ms=8.1, answers=[ANSWER])

    answers: list[RankedAnswer]


class AskResponse(Asked):
    """Similar questions and answers, best first."""

    model_config = closed(
        query=_QUERY, ranker="best", took_ms=9.0, similar=[SIMILAR], answers=[ANSWER]
    )

    similar: list[SimilarQuestion]
    answers: list[RankedAnswer]


class DuplicatesResponse(Shape):
    """Whether a draft was asked before; ``duplicate`` is false without a calibrated model."""

    model_config = closed(took_ms=4.0, duplicate=True, similar=[SIMILAR])

    took_ms: float
    duplicate: bool
    similar: list[SimilarQuestion]


class RankersResponse(Shape):
    """The available rankers."""

    model_config = closed(rankers=["best", "bm25"])

    rankers: list[str]
