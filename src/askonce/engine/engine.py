"""Archive, indexes and models together: what the command line and the server call.

Without a trained model it searches by BM25. Models that ``askonce train`` makes are loaded while
the old ones serve, and take over without a restart.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.archive import Archive, Written, open_archive
from askonce.engine.checked import CheckedQuestions
from askonce.engine.explaining import explain
from askonce.engine.hits import (
    NEAR,
    answer_hits,
    lent_scores,
    read_answers,
    read_questions,
    similar_hits,
)
from askonce.engine.lifecycle.following import OnEngineEvent
from askonce.engine.lifecycle.manager import IndexManager, Searches, SharedState
from askonce.engine.options import DEEP, DEFAULT, ResultOptions
from askonce.engine.results import RankedAnswer, SimilarQuestion, Status, Why
from askonce.engine.wording import CurrentWording
from askonce.errors import AskonceError, NotAnEncoder
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import DEPTH, TYPED, Query, Ranked
from askonce.types import Link, Post, PostKind

if TYPE_CHECKING:
    import numpy as np

MOST = 1000  # results
TYPED_DEPTH = 20  # candidates of each index for a question that is being typed


class Engine:
    """Search over one archive. Threads may share it.

    ``reading`` is the share of one core's time in which a teacher reads posts in the background.
    With ``follows``, it reads the indexes that another process owns, as ``follow`` tells it to.
    With ``warms``, an engine in the background fills its caches before it is asked.
    """

    def __init__(
        self,
        archive: Archive,
        on_event: OnEngineEvent | None = None,
        index: str | None = None,
        reading: float = 0.5,
        follows: bool = False,
        warms: bool = True,
    ) -> None:
        self.archive = archive
        self._manager = IndexManager(archive, on_event, index, reading, follows, warms)
        self.wording = CurrentWording(archive)
        self.checked = CheckedQuestions(self)
        # what it was made of: change number, model, length of lists
        self._overview: tuple[tuple[int, str | None, int], dict[str, Any]] | None = None

    @classmethod
    def open(
        cls,
        source: str | Path,
        *,
        index: str | None = None,
        folder: Path | None = None,
        background: bool = False,
        exclusive: bool = False,
        rebuild: bool = False,
        on_event: OnEngineEvent | None = None,
    ) -> "Engine":
        """The engine of an archive: a folder, a JSONL file, 'bicycles', or a database's address.

        ``index`` is the address of the index unless it is embedded: a file NAME.db for milvus-lite,
        http://… for a Milvus server. ``folder`` holds the indexes and models of an archive that is
        in a database.

        With ``background`` the engine follows the archive and its models until it is closed, and
        models load after the call returns; without, everything is loaded when it returns. If
        another process owns the indexes, they are read only; with ``exclusive`` that is an error.
        ``rebuild`` discards the indexes first. ``on_event`` is called with progress and problems.
        """
        archive = open_archive(str(source), folder)
        try:
            engine = cls(archive, on_event, index)
        except BaseException:
            archive.close()
            raise
        try:
            if exclusive or rebuild:
                engine.need_indexes()
            if rebuild:
                engine._manager.clear()
            engine.start(background)
        except BaseException:
            engine.close()
            raise
        return engine

    def need_indexes(self) -> None:
        """Raise an error if another process owns the indexes, or they cannot be written."""
        self._manager.need_indexes()

    def start(self, background: bool) -> None:
        """Open the indexes and bring them up to date; with ``background``, keep them so."""
        self._manager.start(background)

    def close(self) -> None:
        """Stop following the archive, save, drain running queries, release the lock."""
        self._manager.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- ask --------------------------------------------------------------------------------------

    def similar(
        self,
        question: str,
        k: int = 10,
        ranker: str = "best",
        options: ResultOptions = DEFAULT,
    ) -> list[SimilarQuestion]:
        """The questions already asked that match best, duplicates folded into their original."""
        return self.similar_many([question], k, ranker, options)[0]

    def answers(
        self,
        question: str,
        k: int = 10,
        ranker: str = "best",
        votes: bool = True,
        options: ResultOptions = DEFAULT,
    ) -> list[RankedAnswer]:
        """The answers already given that match best, by their own words and by their question's.

        Answers of one thread stand together. With ``votes``, what the crowd thought of an answer
        counts too.
        """
        return self.answers_many([question], k, ranker, votes, options)[0]

    def ask(
        self,
        question: str,
        k: int = 10,
        ranker: str = "best",
        votes: bool = True,
        options: ResultOptions = DEFAULT,
    ) -> tuple[list[SimilarQuestion], list[RankedAnswer]]:
        """Both: the questions already asked and the answers already given."""
        return self.ask_many([question], k, ranker, votes, options)[0]

    def suggest(self, question: str, k: int = 5) -> list[SimilarQuestion]:
        """Similar questions while one is being typed: no pair model, queries by a fast reader."""
        return self.similar(question, k, TYPED)

    def similar_many(
        self,
        questions: Sequence[str],
        k: int = 10,
        ranker: str = "best",
        options: ResultOptions = DEFAULT,
    ) -> list[list[SimilarQuestion]]:
        """The same for several questions, which go through the models together."""
        _check(questions, k)
        depth = TYPED_DEPTH if ranker == TYPED else DEPTH
        with self._manager.asking() as searches:
            searches.need(ranker)
            search, queries = searches.question, self._queries(questions)
            ranked = search.rank(queries, ranker, max(k, depth))
            ranked = _deepened(search, queries, ranked, ranker, options)
            return self._similar(search, questions, ranked, k, options)

    def answers_many(
        self,
        questions: Sequence[str],
        k: int = 10,
        ranker: str = "best",
        votes: bool = True,
        options: ResultOptions = DEFAULT,
    ) -> list[list[RankedAnswer]]:
        """The same for several questions, which go through the models together."""
        _check(questions, k)
        with self._manager.asking() as searches:
            searches.need(ranker)
            near = searches.question.retrieve(self._queries(questions), ranker, NEAR)
            return self._answers(searches, questions, near, k, ranker, votes, options)

    def ask_many(
        self,
        questions: Sequence[str],
        k: int = 10,
        ranker: str = "best",
        votes: bool = True,
        options: ResultOptions = DEFAULT,
    ) -> list[tuple[list[SimilarQuestion], list[RankedAnswer]]]:
        """Similar questions and answers for each; the first search of questions serves both."""
        _check(questions, k)
        with self._manager.asking() as searches:
            searches.need(ranker)
            search, queries = searches.question, self._queries(questions)
            near = search.retrieve(queries, ranker, max(k, DEPTH))
            answers = self._answers(searches, questions, near, k, ranker, votes, options)
            ranked = search.rerank(queries, near, ranker)
            ranked = _deepened(search, queries, ranked, ranker, options)
            similar = self._similar(search, questions, ranked, k, options)
            return list(zip(similar, answers, strict=True))

    @contextmanager
    def searching(self, kind: PostKind = "question") -> Iterator[Search]:
        """The search of a kind of posts in service, which stays open until the caller is done."""
        with self._manager.asking() as searches:
            yield searches.question if kind == "question" else searches.answer

    def rankers(self) -> list[str]:
        """The ways of ranking that can be compared."""
        return self._manager.ready().rankers()

    def why(self, question: str, post_id: str) -> Why:
        """Why a post stands where it stands for a question."""
        _check([question], 1)
        with self._manager.asking() as searches:
            post = self.archive.post(post_id)
            if post is None:
                raise AskonceError(f"no post {post_id!r} in this archive")
            search = searches.question if post.kind == "question" else searches.answer
            lent = {post_id: 0.0}  # a candidate, whether a search finds it or not
            if post.kind == "answer":
                near = searches.question.retrieve([Query(question)], "best", NEAR)[0]
                lent |= lent_scores(self._manager.posts, near)
            ranked = search.rank([Query(question, lent)])[0]
            return explain(search, question, post, ranked)

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        """One vector per text, by the encoder in service."""
        with self._manager.asking() as searches:
            for search in (searches.question, searches.answer):
                if search.vectors is not None:
                    return search.vectors.coder.query_keys(texts)
        raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")

    def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """A score for each document; higher is better."""
        _check([query], 1)
        with self._manager.asking() as searches:
            return searches.answer.score_documents(query, documents)

    # -- change -----------------------------------------------------------------------------------

    def write(self, posts: Iterable[Post], links: Iterable[Link] = ()) -> Written:
        """Add or replace posts; when this returns they are safe, and the next query finds them."""
        written = self.archive.write(posts, links)
        self._manager.refresh_after_write()
        return written

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete posts; the next query does not find them."""
        gone = self.archive.delete(ids)
        self._manager.refresh_after_write()
        return gone

    def remove_links(self, links: Iterable[Link]) -> list[Link]:
        """Remove links between questions; return those that existed."""
        removed = self.archive.remove_links(links)
        self._manager.refresh_after_write()
        return removed

    def refresh(self) -> None:
        """Bring the indexes up to date with the archive."""
        self._manager.refresh()

    def refresh_models(self) -> bool:
        """Load the latest training, if it is not in service yet; whether it was loaded."""
        return self._manager.refresh_models()

    def read_all(self) -> None:
        """Let a teacher read every post that only its student has read; a stopped call resumes."""
        self._manager.read_all()

    # -- share ------------------------------------------------------------------------------------

    def share(self) -> None:
        """From now on, let other processes follow the indexes and models in service."""
        self._manager.share()

    @property
    def shared_state(self) -> SharedState | None:
        """What a process that follows must have loaded; None while only this one can answer."""
        return self._manager.shared_state

    def follow(self, state: SharedState) -> None:
        """Load what another process serves; its changes are found by the next query."""
        self._manager.follow(state)

    # -- state ------------------------------------------------------------------------------------

    @property
    def read_only(self) -> bool:
        return self._manager.read_only

    def status(self) -> Status:
        return self._manager.status()

    def models(self) -> dict[str, Any]:
        """The models in service with their figures on dev, and the training in progress."""
        from askonce.engine.overview import describe_models

        return describe_models(self.archive, self._manager.ready().model, self.status())

    def overview(self, limit: int = 20) -> dict[str, Any]:
        """What the archive holds: counts, likely duplicates, questions with a likely answer."""
        from askonce.engine.overview import describe_archive

        seen = self.archive.change, self._manager.ready().model, limit
        if self._overview is None or self._overview[0] != seen:
            self._overview = (seen, describe_archive(self, limit))
        return self._overview[1]

    # -- inside -----------------------------------------------------------------------------------

    def _queries(self, questions: Sequence[str]) -> list[Query]:
        wording = self.wording.get()
        return [Query(text, synonyms=wording.added_words(text)) for text in questions]

    def _similar(
        self,
        search: Search,
        questions: Sequence[str],
        ranked: Sequence[Ranked],
        k: int,
        options: ResultOptions,
    ) -> list[list[SimilarQuestion]]:
        pinned = [self.wording.get().pinned_to(question) for question in questions]
        read_questions(self._manager.posts, ranked, k)
        return [
            similar_hits(self._manager.posts, search, question, ranking, k, options, first)
            for question, ranking, first in zip(questions, ranked, pinned, strict=True)
        ]

    def _answers(
        self,
        searches: Searches,
        questions: Sequence[str],
        near: Sequence[Ranked],
        k: int,
        ranker: str,
        votes: bool,
        options: ResultOptions,
    ) -> list[list[RankedAnswer]]:
        read_questions(self._manager.posts, near, NEAR)
        lent = [lent_scores(self._manager.posts, ranked) for ranked in near]
        search = searches.answer
        plain = self._queries(questions)
        queries = [replace(query, lent=own) for query, own in zip(plain, lent, strict=True)]
        ranked = search.rank(queries, ranker, max(k, DEPTH))
        ranked = _deepened(search, queries, ranked, ranker, options)
        read_answers(self._manager.posts, ranked)
        return [
            answer_hits(self._manager.posts, search, question, ranking, k, votes, options)
            for question, ranking in zip(questions, ranked, strict=True)
        ]


def _deepened(
    search: Search,
    queries: Sequence[Query],
    ranked: list[Ranked],
    ranker: str,
    options: ResultOptions,
) -> list[Ranked]:
    """The rankings, followed by more candidates where results are filtered or paged."""
    if not options.deep:
        return ranked
    more = search.retrieve(queries, ranker, DEEP)
    return [one.followed_by(rest) for one, rest in zip(ranked, more, strict=True)]


def _check(questions: Sequence[str], k: int) -> None:
    if not all(question.strip() for question in questions):
        raise AskonceError("the question is empty; write what you want to know")
    if not 1 <= k <= MOST:
        raise AskonceError(f"k = {k}; ask for 1 to {MOST} results")
