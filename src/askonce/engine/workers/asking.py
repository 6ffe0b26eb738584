"""How to answer a question, and its hits as the JSON of a response."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from askonce.engine.engine import Engine
from askonce.engine.options import DEFAULT, ResultOptions
from askonce.engine.results import RankedAnswer, SimilarQuestion


class AskOptions(NamedTuple):
    """How to answer a question; questions with the same settings share a batch."""

    what: Literal["similar", "answers", "ask"]
    k: int
    ranker: str
    votes: bool = True
    results: ResultOptions = DEFAULT

    def as_json(self) -> dict[str, Any]:
        return self._asdict() | {"results": asdict(self.results)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "AskOptions":
        results = dict(values["results"])
        results["tags"] = tuple(results["tags"])
        return cls(**{**values, "results": ResultOptions(**results)})


class FoundHits(NamedTuple):
    """The hits for one question as JSON, and what a server must know of them."""

    similar: bytes
    answers: bytes
    claimed: bool  # whether one of them is said to be the same question
    good: bool  # whether the search counts as successful
    answered: bool  # and a good hit has an answer


_SIMILAR = TypeAdapter(list[SimilarQuestion])
_ANSWERS = TypeAdapter(list[RankedAnswer])


def ask(engine: Engine, options: AskOptions, questions: Sequence[str]) -> Sequence[Any]:
    """For each question its similar questions, its answers, or a pair of both."""
    what, k, ranker, votes, results = options
    if what == "similar":
        return engine.similar_many(questions, k, ranker, results)
    if what == "answers":
        return engine.answers_many(questions, k, ranker, votes, results)
    return engine.ask_many(questions, k, ranker, votes, results)


def find(engine: Engine, options: AskOptions, questions: Sequence[str]) -> list[FoundHits]:
    """The same as JSON."""
    hits = ask(engine, options, questions)
    if options.what == "similar":
        return [encode(similar, []) for similar in hits]
    if options.what == "answers":
        return [encode([], answers) for answers in hits]
    return [encode(similar, answers) for similar, answers in hits]


def encode(similar: list[SimilarQuestion], answers: list[RankedAnswer]) -> FoundHits:
    good = good_hits(similar)
    return FoundHits(
        _SIMILAR.dump_json(similar),
        _ANSWERS.dump_json(answers),
        any(hit.claimed for hit in similar),
        bool(good),
        any(hit.answers for hit in good),
    )


def good_hits(similar: Sequence[SimilarQuestion]) -> list[SimilarQuestion]:
    """Those that are the same question; without calibrated probabilities, any hit."""
    calibrated = any(hit.duplicate_probability is not None for hit in similar)
    return [hit for hit in similar if hit.claimed or not calibrated]
