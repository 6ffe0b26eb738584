"""Keep what serves up to date: indexes that follow the archive, and models that training leaves."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from askonce.archive import Archive
from askonce.engine.lifecycle.following import Tell, follow
from askonce.engine.lifecycle.loading import Loader
from askonce.engine.results import NotReady, Status
from askonce.errors import ArchiveUnavailable, AskonceError, NotAnEncoder
from askonce.files import Lock
from askonce.index.base import Index, IndexDamaged, IndexUnavailable
from askonce.index.storage import FolderStorage, index_storage
from askonce.ranking.manifest import current, read_manifest
from askonce.ranking.pipeline import RANKERS, VECTORS, Search
from askonce.types import PostKind

KINDS: tuple[PostKind, ...] = ("question", "answer")
PAUSE = 0.5  # seconds between two looks at what other processes changed
LAST_ASKS = 30  # seconds that closing waits for those who ask
SAVE_EVERY = 120  # looks between two saves of vectors, about a minute


@dataclass(frozen=True)
class Searches:
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

    def indexes(self) -> list[Index]:
        """Every index of both kinds."""
        return [*self.question.indexes(), *self.answer.indexes()]


class IndexManager:
    """The searches of one archive. Who asks borrows them; one thread at a time changes them."""

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
        self._lock = Lock(place / "lock") if place else None
        self.read_only = not self._lock.acquire() if self._lock else False
        home = index_storage(index, place, archive.name, not self.read_only)
        self._loader = Loader(archive, home, self._say)
        self._changing = threading.RLock()  # of indexes; readers need none
        self._stop = threading.Event()
        self._asked, self._asking_now = threading.Condition(), 0
        self._thread: threading.Thread | None = None
        self._building: str | None = None
        self._lost = self._anew = False  # indexes that cannot be read, and are being made anew
        self._searches: Searches | None = None
        self._refused: str | None = None  # a model folder that could not be loaded

    def need_indexes(self) -> None:
        """An error if the indexes are another process's, or cannot be written."""
        if self.read_only and self._lock is not None:
            raise self._lock.refusal(f"the indexes of {self.archive.name!r}")

    def clear(self) -> None:
        """Remove the indexes, so that ``start`` makes them anew."""
        self._loader.home.clear()

    def start(self, background: bool) -> None:
        """Open the indexes, bring them up to date and, in the background, keep them so."""
        self._searches = self._reopened()
        if background:
            self._thread = threading.Thread(target=self._maintain, name="askonce", daemon=True)
            self._thread.start()
        else:
            self.refresh_models()

    def _opened(self) -> Searches:
        """Searches by BM25; in memory where the folder has no index and we may not make one."""
        try:
            question, answer = (self._loader.lexical(kind) for kind in KINDS)
        except IndexDamaged:
            if self._loader.home.writable:
                raise
            self._loader = replace(self._loader, home=FolderStorage(None))
            question, answer = (self._loader.lexical(kind) for kind in KINDS)
        return Searches(Search(self.archive, question), Search(self.archive, answer))

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
            for index in searches.indexes():
                index.close()
        if self._lock is not None:
            self._lock.release()
        self.archive.close()

    def refresh(self) -> None:
        """Bring the indexes up to date with the archive."""
        searches = self._searches
        if searches is None or self._anew:
            return
        with self._changing:
            self._follow(searches)

    def refresh_after_write(self) -> None:
        """What is written is safe; while an index is lost, who asks is told, not who wrote."""
        try:
            self.refresh()
        except (ArchiveUnavailable, IndexDamaged, IndexUnavailable) as error:
            self._tell(str(error))

    def refresh_models(self) -> bool:
        """Load the models that training left, if they are others than those in service."""
        found = current(self._folder) if self._folder else None
        searches = self.ready()
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

    def ready(self) -> Searches:
        """What serves now; an error while nothing does."""
        if self._searches is None:
            raise NotReady("the archive is being opened or closed; try again in a moment")
        return self._searches

    def _follow(self, searches: Searches) -> None:
        if not self._loader.home.writable:
            for index in searches.indexes():
                index.reload()
            return
        for kind, search in zip(KINDS, (searches.question, searches.answer), strict=True):
            follow(self.archive, kind, search.indexes(), self._loader.home, self._say)

    def _swap(self, models: Path) -> None:
        """Load new models and make their vectors aside, then serve with them."""
        manifest = read_manifest(models)
        old = self.ready()
        load = self._loader.search
        question = load("question", old.question.lexical, manifest.questions, models)
        answer = load("answer", old.answer.lexical, manifest.answers, models)
        with self._changing:
            searches = Searches(question, answer, models.name)
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
            old = self.ready()
            if not isinstance(self._loader.home, FolderStorage):
                self._searches = None
            self._anew = True  # who writes need not wait: what is made anew will hold it
            for index in old.indexes():
                index.close()
        try:
            if self._searches is not None:
                self._loader.home.clear()
                self._searches = self._reopened()
            self._lost = False
        finally:
            self._anew = False

    def _reopened(self) -> Searches:
        searches = self._opened()
        with self._changing, self._busy("indexing"):
            self._follow(searches)
        return searches

    def _save(self) -> None:
        if self._loader.home.writable:
            with self._changing:
                for index in self.ready().indexes():
                    index.save()

    @contextmanager
    def asking(self) -> Iterator[Searches]:
        """What serves now; the engine closes nothing of it before the caller is done."""
        with self._asked:
            searches = self.ready()
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
