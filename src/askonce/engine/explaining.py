"""Why a post stands where it stands: the score of each stage, and the words that models weigh."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from askonce.engine.results import StageScore, Why
from askonce.engine.words import shared_words
from askonce.ranking.calibration import content_stems
from askonce.ranking.fusion import zscores
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import Ranked
from askonce.types import Post

if TYPE_CHECKING:
    from askonce.ranker import Ranker, WordsExplained


def explain(search: Search, question: str, post: Post, ranked: Ranked) -> Why:
    """The explanation of one post among the candidates that it was ranked with."""
    place = ranked.ids.index(post.id) if post.id in ranked.ids else None
    terms = search.lexical.terms
    return Why(
        score=float(ranked.scores[place]) if place is not None else 0.0,
        stages=_stages(ranked, place) if place is not None else (),
        words=_words(search, question, post),
        shared=shared_words(post.text, content_stems(question, terms), terms),
    )


def _stages(ranked: Ranked, place: int) -> list[StageScore]:
    return [
        StageScore(name, float(values[place]), float(zscores(values)[place]), ranked.weights[name])
        for name, values in ranked.stages.items()
    ]


def _words(search: Search, question: str, post: Post) -> "Sequence[WordsExplained]":
    found: list[WordsExplained] = []
    for ranker in _rankers(search):
        found += ranker.explain(question, post).words
    return found


def _rankers(search: Search) -> "list[Ranker]":
    """The models of ours that serve; one of sentence-transformers weighs no words."""
    coder = search.vectors.coder if search.vectors is not None else None
    encoder = getattr(coder, "ranker", None)
    return [ranker for ranker in (encoder, search.pair) if ranker is not None]
