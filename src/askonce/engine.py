"""Answer a new question from an archive: the questions already asked, the answers already given."""

from dataclasses import dataclass

from askonce.archive import Archive
from askonce.errors import AskonceError
from askonce.index.lexical import LexicalIndex
from askonce.types import Post

DEPTH = 50  # questions and answers that are looked at before the best are shown


@dataclass(frozen=True)
class SimilarQuestion:
    """A question of the archive that may be the one being asked."""

    post: Post
    score: float
    duplicate_of: str | None
    answers: int
    duplicate_probability: float | None = None  # unknown until a model is trained and calibrated


@dataclass(frozen=True)
class RankedAnswer:
    """An answer of the archive, with the question that it was given to."""

    post: Post
    question: Post
    score: float


class Engine:
    """Search over one archive. Without a trained model it ranks by BM25."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self._questions = LexicalIndex()
        self._questions.add(archive.questions.values())
        self._answers = LexicalIndex()
        self._answers.add(archive.answers.values())

    def similar(self, question: str, k: int = 5) -> list[SimilarQuestion]:
        """The questions already asked that match best."""
        _check(question, k)
        return [
            SimilarQuestion(
                post=self.archive.questions[hit.id],
                score=hit.score,
                duplicate_of=self.archive.duplicate_of(hit.id),
                answers=len(self.archive.answers_to(hit.id)),
            )
            for hit in self._questions.search(question, k)
        ]

    def answers(self, question: str, k: int = 5) -> list[RankedAnswer]:
        """The answers already given that match best, by their own words and by their question's.

        An answer rarely repeats the words of its question, so both scores are added. A question
        lends its score to the one that it duplicates.
        """
        _check(question, k)
        depth = max(DEPTH, k)
        asked: dict[str, float] = {}
        for hit in self._questions.search(question, depth):
            original = self.archive.original(hit.id)
            for post_id in (hit.id, original):
                asked[post_id] = max(asked.get(post_id, 0.0), hit.score)
        own = {hit.id: hit.score for hit in self._answers.search(question, depth)}
        near = (answer.id for post_id in asked for answer in self.archive.answers_to(post_id))
        found = [self._ranked(post_id, own, asked) for post_id in {*own, *near}]
        return sorted(found, key=_order)[:k]

    def _ranked(
        self, answer_id: str, own: dict[str, float], asked: dict[str, float]
    ) -> RankedAnswer:
        answer = self.archive.answers[answer_id]
        question = self.archive.questions[answer.parent or ""]
        return RankedAnswer(answer, question, own.get(answer_id, 0.0) + asked.get(question.id, 0.0))


def _order(hit: RankedAnswer) -> tuple[float, bool, int, str]:
    """Best first; among equal scores the accepted one, then by votes."""
    return (-hit.score, not hit.post.accepted, -(hit.post.score or 0), hit.post.id)


def _check(question: str, k: int) -> None:
    if not question.strip():
        raise AskonceError("the question is empty; write what you want to know")
    if k < 1:
        raise AskonceError(f"k = {k}; ask for at least one result")
