"""Log searches without personal data, off the path of the request."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from askonce.archive import Archive
from askonce.archive.desk.searches import LoggedSearch, loggable
from askonce.engine.options import ResultOptions
from askonce.errors import AskonceError

EVERY_SECONDS = 2.0  # between two writes
MOST = 10_000  # searches waiting to be written; the oldest is dropped first
log = logging.getLogger("askonce.server")


def _today() -> date:
    return datetime.now(UTC).date()


class SearchLog:
    """Writes searches in the background, and forgets them after some days; 0 days: logs nothing."""

    def __init__(self, archive: Archive, days: int, today: Callable[[], date] = _today) -> None:
        self.days, self._archive, self._today = days, archive, today
        self._waiting: deque[LoggedSearch] = deque(maxlen=MOST)
        self._pruned: date | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="askonce-searches", daemon=True)
        if days:
            self._thread.start()

    def add(self, question: str, good: bool, answered: bool, results: ResultOptions) -> None:
        """Note a search: whether it has a good hit, and one with an answer."""
        if self.days and not results.deep:  # no later page, nor a filter of the same search
            day = self._today().isoformat()
            self._waiting.append(LoggedSearch(day, loggable(question), good, answered))

    def flush(self) -> None:
        """Write what waits, and remove what is too old."""
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        self._archive.searches.add(batch)
        if self._pruned != self._today():
            oldest = self._today() - timedelta(days=self.days)
            self._archive.searches.remove_before(oldest.isoformat())
            self._pruned = self._today()

    def close(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            stopped = self._stopped.wait(EVERY_SECONDS)
            try:
                self.flush()
            except AskonceError as error:
                log.warning("searches were not logged: %s", error)
            if stopped:
                return
