"""Explain a hit: the score of each stage, and the words that the models weigh."""

from typing import TYPE_CHECKING

from askonce.engine.hits import shared_words
from askonce.engine.results import StageScore, Why, WordWeights
from askonce.ranking.calibration import content_stems
from askonce.ranking.fusion import zscores
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import Ranked
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.ranker import Ranker


def explain(search: Search, question: str, post: Post, ranked: Ranked) -> Why:
    """Explain the score of one post among the candidates it was ranked with."""
    rank = ranked.ids.index(post.id) if post.id in ranked.ids else None
    stemmer = search.lexical.terms
    return Why(
        id=post.id,
        score=float(ranked.scores[rank]) if rank is not None else 0.0,
        stages=_stages(ranked, rank) if rank is not None else [],
        words=[
            WordWeights(
                kind=part.kind,
                side=part.side,
                words=list(part.words),
                weights=[float(weight) for weight in part.weights],
            )
            for ranker in _rankers(search)
            for part in ranker.explain(question, post).words
        ],
        shared=shared_words([post.text], content_stems(question, stemmer), stemmer),
    )


def _stages(ranked: Ranked, rank: int) -> list[StageScore]:
    return [
        StageScore(
            name=name,
            score=float(scores[rank]),
            z=float(zscores(scores)[rank]),
            weight=ranked.weights[name],
        )
        for name, scores in ranked.stages.items()
    ]


def _rankers(search: Search) -> "list[Ranker]":
    """The models in service that can weigh words; sentence-transformers models can't."""
    coder = search.vectors.coder if search.vectors is not None else None
    encoder = coder.ranker if coder is not None else None
    return [ranker for ranker in (encoder, search.pair) if ranker is not None]
