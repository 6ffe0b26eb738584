"""Keep indexes and models in service up to date with the archive and its trainings."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from askonce.archive import Archive
from askonce.archive.cache import PostCache
from askonce.engine.lifecycle.following import EngineEvent, OnEngineEvent, follow
from askonce.engine.lifecycle.loading import Loader
from askonce.engine.lifecycle.reading import BackgroundReading, read_some
from askonce.engine.lifecycle.warming import SHARE, Warming
from askonce.engine.results import NotReady, Status
from askonce.errors import ArchiveUnavailable, AskonceError, NotAnEncoder
from askonce.files import Lock
from askonce.index.base import Index, IndexDamaged, IndexState, IndexUnavailable, KeyIndex
from askonce.index.storage import FolderStorage, index_storage
from askonce.ranking.manifest import current, named, read_manifest
from askonce.ranking.pipeline import Search
from askonce.ranking.stages import RANKERS, VECTORS
from askonce.types import PostKind

KINDS: tuple[PostKind, ...] = ("question", "answer")
POLL_SECONDS = 0.5  # between checks for changes by other processes
DRAIN_SECONDS = 30  # that closing waits for running queries
SAVE_EVERY = 120  # polls between two saves of vectors, about a minute


@dataclass(frozen=True)
class Searches:
    """What serves at one moment; a query takes it once and keeps it until it is done."""

    question: Search
    answer: Search
    model: str | None = None

    def rankers(self) -> list[str]:
        """The rankers that differ for either kind of posts."""
        return list(dict.fromkeys((*self.question.rankers(), *self.answer.rankers())))

    def need(self, ranker: str) -> None:
        """Raise an error for an unknown ranker, or for vectors where no encoder serves."""
        if ranker not in RANKERS:
            raise AskonceError(f"no ranker {ranker!r}; choose one of {', '.join(self.rankers())}")
        if ranker == VECTORS and ranker not in self.rankers():
            raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")

    def indexes(self) -> list[Index]:
        return [*self.question.indexes(), *self.answer.indexes()]

    def key_indexes(self) -> list[KeyIndex]:
        both = (self.question.vectors, self.answer.vectors)
        return [index for index in both if index is not None]

    def read_share(self) -> float | None:
        """The share of posts that the slow one of two readers has read; None with one reader."""
        indexes = [i for i in self.key_indexes() if i.coder.slow is not None]
        posts = sum(map(len, indexes))
        if not posts:
            return None
        return 1 - sum(index.unread_count() for index in indexes) / posts


@dataclass(frozen=True)
class SharedState:
    """What serves in one process, for others that answer questions beside it."""

    model: str | None
    indexes: tuple[IndexState, ...]  # in the order of ``Searches.indexes``


class IndexManager:
    """The searches of one archive. Queries borrow them; one thread at a time changes them.

    With ``follows``, it never owns the indexes: it reads what another process has published.
    """

    def __init__(
        self,
        archive: Archive,
        on_event: OnEngineEvent | None,
        index: str | None,
        reading: float,
        follows: bool = False,
        warms: bool = True,
    ) -> None:
        self.archive, self._folder = archive, archive.folder
        self.posts = PostCache(archive)
        self._on_event: OnEngineEvent = on_event or (lambda event: None)
        path = archive.folder / "index" if archive.folder else None
        self._lock = Lock(path / "lock") if path and not follows else None
        self.read_only = not self._lock.acquire() if self._lock else follows
        storage = index_storage(index, path, archive.name, not self.read_only)
        self._loader = Loader(archive, self.posts, storage, self._report)
        self._follows = follows
        self._changing = threading.RLock()  # for changes of indexes; queries need none
        self._stop = threading.Event()
        self._query_ended, self._running_queries = threading.Condition(), 0
        self._thread: threading.Thread | None = None
        self._building: EngineEvent | None = None
        self._lost = self._rebuilding = False  # indexes cannot be read; are being rebuilt
        self._searches: Searches | None = None
        self._refused: str | None = None  # the model folder that could not be loaded
        self._shares = False
        self.shared_state: SharedState | None = None  # None: nothing to follow now
        self._reading = BackgroundReading(self._read_some, reading)
        warming = Warming(archive, self.posts, lambda: self._searches, self._warn)
        self._warming = BackgroundReading(warming.step, SHARE if warms else 0, "warming")

    def need_indexes(self) -> None:
        if self.read_only and self._lock is not None:
            raise self._lock.refusal(f"the indexes of {self.archive.name!r}")

    def clear(self) -> None:
        """Remove the indexes, so that ``start`` rebuilds them."""
        self._loader.storage.clear()

    def share(self) -> None:
        """From now on, publish every change for processes that follow."""
        self._shares = True
        with self._changing:
            self._publish(self._searches)

    def follow(self, state: SharedState) -> None:
        """See everything that another process has published, also its models."""
        with self._changing:
            if self._searches is None:
                self._searches = self._open()
            if self._folder is not None and state.model not in (None, self.ready().model):
                self._swap(named(self._folder, str(state.model)))
            searches = self.ready()
            indexes = searches.indexes()
            if searches.model != state.model or len(indexes) != len(state.indexes):
                raise IndexDamaged(f"the indexes of models {state.model!r} cannot be followed")
            for index, published in zip(indexes, state.indexes, strict=True):
                index.follow(published)
        self._warming.start()

    def start(self, background: bool) -> None:
        self._searches = self._open()
        with self._changing:
            self._publish(self._searches)
        if background:
            self._thread = threading.Thread(target=self._maintain, name="askonce", daemon=True)
            self._thread.start()
            self._warming.start()
            if self._loader.storage.writable:
                self._reading.start()
        else:
            self.refresh_models()

    def _open_lexical(self) -> Searches:
        """Searches by BM25; in memory if the folder has no index and we may not write one."""
        try:
            question, answer = (self._loader.lexical(kind) for kind in KINDS)
        except IndexDamaged:
            if self._loader.storage.writable or self._follows:
                raise
            self._loader = replace(self._loader, storage=FolderStorage(None))
            question, answer = (self._loader.lexical(kind) for kind in KINDS)
        return Searches(Search(self.posts, question), Search(self.posts, answer))

    def close(self) -> None:
        self._stop.set()
        self._reading.stop()
        self._warming.stop()
        if self._thread is not None:
            self._thread.join()
        if self._searches is not None:
            try:
                self._save()
            except AskonceError as error:  # a full disk; the next start catches up
                self._warn(error)
            searches, self._searches = self._searches, None
            with self._query_ended:
                self._query_ended.wait_for(lambda: self._running_queries == 0, DRAIN_SECONDS)
            for index in searches.indexes():
                index.close()
        if self._lock is not None:
            self._lock.release()
        self.archive.close()

    def refresh(self) -> None:
        searches = self._searches
        if searches is None or self._rebuilding:
            return
        with self._changing:
            self._follow(searches)
            self._publish(searches)

    def refresh_after_write(self) -> None:
        """Refresh after a write, which is safe already: index errors reach readers, not writers."""
        try:
            self.refresh()
        except (ArchiveUnavailable, IndexDamaged, IndexUnavailable) as error:
            self._warn(error)

    def refresh_models(self) -> bool:
        models = current(self._folder) if self._folder else None
        searches = self.ready()
        if models is None or models.name in (searches.model, self._refused):
            return False
        try:
            with self._busy("loading models"):
                self._swap(models)
        except AskonceError as error:
            self._refused = models.name  # until there is a newer training
            self._on_event(_problem(f"models {models.name} cannot serve: {error}"))
            return False
        return True

    def read_all(self) -> None:
        """Let the slow reader read every post that only the fast one has read; it can be resumed.

        Keys are saved once in a while, and what was read is in the teacher's cache at once.
        """
        total = sum(index.unread_count() for index in self.ready().key_indexes())
        done = 0
        while read := self._read_some():
            done += read
            self._report(EngineEvent("reading posts", done, total))
        self._building = None
        self._save()

    def _read_some(self) -> int:
        """Read some posts of the kind, questions or answers, of which less has been read."""
        searches = self._searches
        if searches is None or self._rebuilding:
            return 0
        try:
            for index in sorted(searches.key_indexes(), key=lambda index: index.read_share()):
                if read := read_some(self.archive, index, self._changing):
                    with self._changing:
                        self._publish(self._searches)
                    return read
        except AskonceError as error:  # such as a database that does not answer: try again later
            self._warn(error)
        return 0

    def status(self) -> Status:
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
            building=str(self._building) if self._building else None,
            read_only=self.read_only,
            read=searches.read_share() if searches else None,
        )

    def ready(self) -> Searches:
        """The searches in service; an error while there are none."""
        if self._searches is None:
            raise NotReady("the archive is being opened or closed; try again in a moment")
        return self._searches

    def _follow(self, searches: Searches) -> None:
        if not self._loader.storage.writable:
            for index in searches.indexes():
                index.reload()
            return
        for kind, search in zip(KINDS, (searches.question, searches.answer), strict=True):
            follow(self.archive, kind, search.indexes(), self._report)

    def _publish(self, searches: Searches | None) -> None:
        """Note what serves, for processes that follow."""
        if not self._shares or searches is None or searches is not self._searches:
            return
        try:
            published = tuple(index.publish() for index in searches.indexes())
            self.shared_state = SharedState(searches.model, published)
        except IndexUnavailable as error:  # a full disk: only this process can answer
            self.shared_state = None
            self._warn(error)

    def _swap(self, models: Path) -> None:
        """Load new models and make their vectors while the old ones serve, then switch."""
        manifest = read_manifest(models)
        old = self.ready()
        load = self._loader.search
        question = load("question", old.question.lexical, manifest.questions, models)
        answer = load("answer", old.answer.lexical, manifest.answers, models)
        searches = Searches(question, answer, models.name)
        serves = self._thread is not None or self._follows
        coders = [index.coder for index in searches.key_indexes()] if serves else []
        later = self._loader.warm(coders, may_postpone=not self._follows)
        with self._changing:
            self._follow(searches)
            self._searches = searches
            self._publish(searches)
        self._loader.storage.keep_only(models.name, old.model)
        self._loader.warm(later, may_postpone=False)  # until then, their fast readers answer

    def _maintain(self) -> None:
        polls = 0
        while not self._stop.is_set():
            polls += 1
            try:
                self._poll()
                if polls % SAVE_EVERY == 0:
                    self._save()
            except AskonceError as error:  # such as a database that does not answer: keep polling
                self._warn(error)
            self._stop.wait(POLL_SECONDS)

    def _poll(self) -> None:
        """Follow changes by other processes; rebuild indexes that were lost while they served."""
        try:
            if self._searches is None:
                self._searches = self._open()
            self.refresh()
        except IndexDamaged as error:
            self._warn(error)
            self._lost = True
        if self._lost:
            self._rebuild()
        else:
            self.refresh_models()

    def _rebuild(self) -> None:
        """Rebuild lost indexes; the old ones answer meanwhile, if their storage allows it."""
        with self._changing:
            old = self.ready()
            self.shared_state = None
            if not self._loader.storage.open_indexes_survive_clear:
                self._searches = None
            self._rebuilding = True  # writers need not wait: the new index will include their posts
            for index in old.indexes():
                index.close()
        try:
            if self._searches is not None:
                self._loader.storage.clear()
                self._searches = self._open()
            self._lost = False
        finally:
            self._rebuilding = False

    def _open(self) -> Searches:
        searches = self._open_lexical()
        with self._changing, self._busy("indexing"):
            self._follow(searches)
        return searches

    def _save(self) -> None:
        if self._loader.storage.writable:
            with self._changing:
                for index in self.ready().indexes():
                    index.save()
                self._publish(self._searches)

    @contextmanager
    def asking(self) -> Iterator[Searches]:
        """The searches in service, which stay open until the caller is done."""
        with self._query_ended:
            searches = self.ready()
            self._running_queries += 1
        try:
            self.posts.refresh()
            yield searches
        except IndexDamaged:
            self._lost = True
            raise
        finally:
            with self._query_ended:
                self._running_queries -= 1
                self._query_ended.notify_all()

    @contextmanager
    def _busy(self, text: str) -> Iterator[None]:
        self._building = EngineEvent(text)
        try:
            yield
        finally:
            self._building = None

    def _report(self, event: EngineEvent) -> None:
        self._building = event
        self._on_event(event)

    def _warn(self, error: AskonceError) -> None:
        self._on_event(_problem(str(error)))


def _problem(text: str) -> EngineEvent:
    return EngineEvent(text, problem=True)
