"""Archive, indexes and models together: the one thing that the command line and the server call.

It works from the first minute: without a trained model it is BM25. What ``askonce train`` leaves is
loaded beside the running search and takes its place when it is ready, without a restart.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askonce.archive import Archive, Written, open_archive
from askonce.engine.explaining import explain
from askonce.engine.following import Tell, follow
from askonce.engine.hits import NEAR, answer_hits, lent_scores, similar_hits
from askonce.engine.loading import Loader
from askonce.engine.lock import FolderLock
from askonce.engine.reranking import rerank
from askonce.engine.results import NotReady, RankedAnswer, SimilarQuestion, Status, Why
from askonce.engine.search import DEPTH, RANKERS, VECTORS, Ranked, Search
from askonce.errors import ArchiveUnavailable, AskonceError, NotAnEncoder
from askonce.index.base import Index, IndexDamaged, IndexUnavailable
from askonce.index.homes import FolderHome, index_home
from askonce.serving.manifest import current, read_manifest
from askonce.types import Link, Post, PostKind

if TYPE_CHECKING:
    import numpy as np

KINDS: tuple[PostKind, ...] = ("question", "answer")
MOST = 1000  # results
TYPED, TYPED_DEPTH = "fused", 20  # how questions are ranked while they are being typed
PAUSE = 0.5  # seconds between two looks at what other processes changed
LAST_ASKS = 30  # seconds that closing waits for those who ask
SAVE_EVERY = 120  # looks between two saves of vectors, about a minute


@dataclass(frozen=True)
class _Searches:
    """What serves at one moment; readers take it once and keep it until they are done."""

    question: Search
    answer: Search
    model: str | None = None

    def rankers(self) -> list[str]:
        """The ways of ranking that make a difference for either kind."""
        return list(dict.fromkeys((*self.question.rankers(), *self.answer.rankers())))

    def need(self, ranker: str) -> None:
        """An error for a way of ranking that makes no difference here."""
        if ranker not in RANKERS:
            raise AskonceError(f"no ranker {ranker!r}; choose one of {', '.join(self.rankers())}")
        if ranker == VECTORS and ranker not in self.rankers():
            raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")


class Engine:
    """Search over one archive. Threads may share it."""

    def __init__(
        self,
        archive: Archive,
        folder: Path | None,
        tell: Tell | None = None,
        index: str | None = None,
    ) -> None:
        self.archive, self._folder = archive, folder
        self._tell: Tell = tell or (lambda text: None)
        place = folder / "index" if folder else None
        self._lock = FolderLock(place) if place else None
        self.read_only = not self._lock.acquire() if self._lock else False
        home = index_home(index, place, archive.name, not self.read_only)
        self._loader = Loader(archive, home, self._say)
        self._changing = threading.RLock()  # of indexes; readers need none
        self._stop = threading.Event()
        self._asked, self._asking_now = threading.Condition(), 0
        self._thread: threading.Thread | None = None
        self._building: str | None = None
        self._lost = self._anew = False  # indexes that cannot be read, and are being made anew
        self._searches: _Searches | None = None
        self._refused: str | None = None  # a model folder that could not be loaded
        self._overview: tuple[tuple[int, int], dict[str, Any]] | None = None

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        index: str | None = None,
        folder: Path | None = None,
        background: bool = False,
        exclusive: bool = False,
        rebuild: bool = False,
        tell: Tell | None = None,
    ) -> "Engine":
        """The engine of an archive: a folder, a JSONL file, 'bicycles', or a database's address.

        ``index`` is the address of the index, where it is not to be embedded: a file NAME.db for
        milvus-lite, http://… for a Milvus server. ``folder`` is where this machine keeps the
        indexes and models of an archive with an address.

        With ``background`` it goes on following the archive and its models until it is closed, and
        models load after the call returns; without, everything is loaded when it returns. While
        another process keeps the indexes it reads them, or is refused if it is to be ``exclusive``.
        With ``rebuild`` the indexes are made anew.
        """
        archive = open_archive(str(place), folder)
        try:
            engine = cls(archive, archive.folder, tell, index)
        except BaseException:
            archive.close()
            raise
        try:
            if exclusive or rebuild:
                engine.need_indexes()
            if rebuild:
                engine._loader.home.clear()
            engine.start(background)
        except BaseException:
            engine.close()
            raise
        return engine

    def need_indexes(self) -> None:
        """An error if the indexes are another process's, or cannot be written."""
        if self.read_only and self._lock is not None:
            raise self._lock.refusal(self.archive.name)

    def start(self, background: bool) -> None:
        """Open the indexes, bring them up to date and, in the background, keep them so."""
        self._searches = self._reopened()
        if background:
            self._thread = threading.Thread(target=self._maintain, name="askonce", daemon=True)
            self._thread.start()
        else:
            self.refresh_models()

    def _opened(self) -> _Searches:
        """Searches by BM25; in memory where the folder has no index and we may not make one."""
        try:
            question, answer = (self._loader.lexical(kind) for kind in KINDS)
        except IndexDamaged:
            if self._loader.home.writable:
                raise
            self._loader = replace(self._loader, home=FolderHome(None))
            question, answer = (self._loader.lexical(kind) for kind in KINDS)
        return _Searches(Search(self.archive, question), Search(self.archive, answer))

    def close(self) -> None:
        """Stop following, let who asks finish, save, let others keep the indexes."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._searches is not None:
            try:
                self._save()
            except AskonceError as error:  # a full disk; the next start catches up
                self._tell(str(error))
            searches, self._searches = self._searches, None
            with self._asked:
                self._asked.wait_for(lambda: self._asking_now == 0, LAST_ASKS)
            for index in self._indexes(searches):
                index.close()
        if self._lock is not None:
            self._lock.release()
        self.archive.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- ask --------------------------------------------------------------------------------------

    def similar(self, question: str, k: int = 10, ranker: str = "best") -> list[SimilarQuestion]:
        """The questions already asked that match best."""
        return self.similar_many([question], k, ranker)[0]

    def answers(
        self, question: str, k: int = 10, ranker: str = "best", votes: bool = False
    ) -> list[RankedAnswer]:
        """The answers already given that match best, by their own words and by their question's.

        With ``votes``, what the crowd thought of an answer counts too.
        """
        return self.answers_many([question], k, ranker, votes)[0]

    def ask(
        self, question: str, k: int = 10, ranker: str = "best", votes: bool = False
    ) -> tuple[list[SimilarQuestion], list[RankedAnswer]]:
        """Both: the questions already asked and the answers already given."""
        return self.ask_many([question], k, ranker, votes)[0]

    def suggest(self, question: str, k: int = 5) -> list[SimilarQuestion]:
        """Similar questions while one is being typed: all stages but the slow pair model."""
        return self.similar(question, k, TYPED)

    def similar_many(
        self, questions: Sequence[str], k: int = 10, ranker: str = "best"
    ) -> list[list[SimilarQuestion]]:
        """The same for several questions, which go through the models together."""
        _check(questions, k)
        depth = TYPED_DEPTH if ranker == TYPED else DEPTH
        with self._asking() as searches:
            searches.need(ranker)
            search = searches.question
            ranked = search.rank(questions, ranker, max(k, depth))
            return [
                similar_hits(self.archive, search, question, found, k)
                for question, found in zip(questions, ranked, strict=True)
            ]

    def answers_many(
        self, questions: Sequence[str], k: int = 10, ranker: str = "best", votes: bool = False
    ) -> list[list[RankedAnswer]]:
        """The same for several questions, which go through the models together."""
        _check(questions, k)
        with self._asking() as searches:
            searches.need(ranker)
            near = searches.question.find(questions, ranker, NEAR)
            return self._answers(searches, questions, near, k, ranker, votes)

    def ask_many(
        self, questions: Sequence[str], k: int = 10, ranker: str = "best", votes: bool = False
    ) -> list[tuple[list[SimilarQuestion], list[RankedAnswer]]]:
        """Similar questions and answers for each; the first search of questions serves both."""
        _check(questions, k)
        with self._asking() as searches:
            searches.need(ranker)
            search = searches.question
            near = search.find(questions, ranker, max(k, DEPTH))
            answers = self._answers(searches, questions, near, k, ranker, votes)
            reranked = search.rerank(questions, near, ranker)
            similar = (
                similar_hits(self.archive, search, question, found, k)
                for question, found in zip(questions, reranked, strict=True)
            )
            return list(zip(similar, answers, strict=True))

    def rankers(self) -> list[str]:
        """The ways of ranking that can be compared."""
        return self._ready().rankers()

    def why(self, question: str, post_id: str) -> Why:
        """Why a post stands where it stands for a question."""
        _check([question], 1)
        with self._asking() as searches:
            post = self.archive.post(post_id)
            if post is None:
                raise AskonceError(f"no post {post_id!r} in this archive")
            search = searches.question if post.kind == "question" else searches.answer
            asked = {post_id: 0.0}  # a candidate, whether a search finds it or not
            if post.kind == "answer":
                near = searches.question.find([question], "best", NEAR)[0]
                asked |= lent_scores(self.archive, near)
            ranked = search.rank([question], "best", DEPTH, [asked])[0]
            return explain(search, question, post, ranked)

    def embed(self, texts: Sequence[str]) -> "np.ndarray":
        """One vector per text, by the encoder in service."""
        with self._asking() as searches:
            for search in (searches.question, searches.answer):
                if search.vectors is not None:
                    return search.vectors.coder.query_keys(texts)
        raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")

    def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """A score for each document; higher is better."""
        _check([query], 1)
        with self._asking() as searches:
            return rerank(searches.answer, query, documents)

    # -- change -----------------------------------------------------------------------------------

    def write(self, posts: Iterable[Post], links: Iterable[Link] = ()) -> Written:
        """Add or replace posts; when this returns they are safe, and the next query finds them."""
        written = self.archive.write(posts, links)
        self._refresh_after_write()
        return written

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete posts; the next query does not find them."""
        gone = self.archive.delete(ids)
        self._refresh_after_write()
        return gone

    def refresh(self) -> None:
        """Bring the indexes up to date with the archive."""
        searches = self._searches
        if searches is None or self._anew:
            return
        with self._changing:
            self._follow(searches)

    def _refresh_after_write(self) -> None:
        """What is written is safe; while an index is lost, who asks is told, not who wrote."""
        try:
            self.refresh()
        except (ArchiveUnavailable, IndexDamaged, IndexUnavailable) as error:
            self._tell(str(error))

    def refresh_models(self) -> bool:
        """Load the models that training left, if they are others than those in service."""
        found = current(self._folder) if self._folder else None
        searches = self._ready()
        if found is None or found.name in (searches.model, self._refused):
            return False
        try:
            with self._busy("loading models"):
                self._swap(found)
        except AskonceError as error:
            self._refused = found.name  # until training leaves others
            self._tell(f"models {found.name} cannot serve: {error}")
            return False
        return True

    # -- tell -------------------------------------------------------------------------------------

    def status(self) -> Status:
        """How far the engine has come."""
        searches = self._searches
        position = 0
        posts = 0
        if searches is not None:
            both = (searches.question.lexical, searches.answer.lexical)
            position = min(index.position for index in both)
            posts = sum(len(index) for index in both)
        return Status(
            ready=searches is not None,
            archive=self.archive.name,
            posts=posts,
            change=self.archive.change,
            indexed=position,
            model=searches.model if searches else None,
            building=self._building,
            read_only=self.read_only,
        )

    def models(self) -> dict[str, Any]:
        """The models in service with what dev said of them, and the training that is going on."""
        from askonce.engine.overview import describe_models

        return describe_models(self._folder, self._ready().model, self.status())

    def overview(self, limit: int = 20) -> dict[str, Any]:
        """What the archive holds, and where it repeats itself or could answer itself."""
        from askonce.engine.overview import describe_archive

        change = self.archive.change
        if self._overview is None or self._overview[0] != (change, limit):
            self._overview = ((change, limit), describe_archive(self, limit))
        return self._overview[1]

    # -- inside -----------------------------------------------------------------------------------

    def _ready(self) -> _Searches:
        if self._searches is None:
            raise NotReady("the archive is being opened or closed; try again in a moment")
        return self._searches

    def _answers(
        self,
        searches: _Searches,
        questions: Sequence[str],
        near: Sequence[Ranked],
        k: int,
        ranker: str,
        votes: bool,
    ) -> list[list[RankedAnswer]]:
        asked = [lent_scores(self.archive, found) for found in near]
        ranked = searches.answer.rank(questions, ranker, max(k, DEPTH), asked)
        return [
            answer_hits(self.archive, searches.answer, question, found, k, votes)
            for question, found in zip(questions, ranked, strict=True)
        ]

    def _follow(self, searches: _Searches) -> None:
        if not self._loader.home.writable:
            for index in self._indexes(searches):
                index.reload()
            return
        for kind, search in zip(KINDS, (searches.question, searches.answer), strict=True):
            follow(self.archive, kind, search.indexes(), self._loader.home, self._say)

    def _swap(self, models: Path) -> None:
        """Load new models and make their vectors aside, then serve with them."""
        manifest = read_manifest(models)
        old = self._ready()
        load = self._loader.search
        question = load("question", old.question.lexical, manifest.questions, models)
        answer = load("answer", old.answer.lexical, manifest.answers, models)
        with self._changing:
            searches = _Searches(question, answer, models.name)
            self._follow(searches)
            self._searches = searches
        self._loader.home.keep_only(models.name, old.model)

    def _maintain(self) -> None:
        looks = 0
        while not self._stop.is_set():
            looks += 1
            try:
                self._look()
                if looks % SAVE_EVERY == 0:
                    self._save()
            except AskonceError as error:  # a lost database comes back; we go on looking
                self._tell(str(error))
            self._stop.wait(PAUSE)

    def _look(self) -> None:
        """See what others changed; indexes that were lost while they served are made anew."""
        try:
            if self._searches is None:
                self._searches = self._reopened()
            self.refresh()
        except IndexDamaged as error:
            self._tell(str(error))
            self._lost = True
        if self._lost:
            self._make_anew()
        else:
            self.refresh_models()

    def _make_anew(self) -> None:
        """Make lost indexes anew. Embedded ones answer from what they hold open meanwhile."""
        with self._changing:
            old = self._ready()
            if not isinstance(self._loader.home, FolderHome):
                self._searches = None
            self._anew = True  # who writes need not wait: what is made anew will hold it
            for index in self._indexes(old):
                index.close()
        try:
            if self._searches is not None:
                self._loader.home.clear()
                self._searches = self._reopened()
            self._lost = False
        finally:
            self._anew = False

    def _reopened(self) -> _Searches:
        searches = self._opened()
        with self._changing, self._busy("indexing"):
            self._follow(searches)
        return searches

    def _save(self) -> None:
        if self._loader.home.writable:
            with self._changing:
                for index in self._indexes(self._ready()):
                    index.save()

    def _indexes(self, searches: _Searches) -> list[Index]:
        return [*searches.question.indexes(), *searches.answer.indexes()]

    @contextmanager
    def _asking(self) -> Iterator[_Searches]:
        """What serves now; the engine closes nothing of it before the caller is done."""
        with self._asked:
            searches = self._ready()
            self._asking_now += 1
        try:
            yield searches
        except IndexDamaged:
            self._lost = True
            raise
        finally:
            with self._asked:
                self._asking_now -= 1
                self._asked.notify_all()

    @contextmanager
    def _busy(self, text: str) -> Iterator[None]:
        self._building = text
        try:
            yield
        finally:
            self._building = None

    def _say(self, text: str) -> None:
        self._building = text
        self._tell(text)


def _check(questions: Sequence[str], k: int) -> None:
    if not all(question.strip() for question in questions):
        raise AskonceError("the question is empty; write what you want to know")
    if not 1 <= k <= MOST:
        raise AskonceError(f"k = {k}; ask for 1 to {MOST} results")
