"""One pass of ``askonce sync``: read what is new, write it with the position, see deletions.

Every transaction holds posts together with the position after them, so a pass that is killed goes
on where it was: what is read again is the same posts under the same ids.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askonce.archive import Archive, SyncBatch
from askonce.archive.load import Tally, sound_posts, with_questions
from askonce.data.forums import IMPORTERS, Damaged, Imported, Source
from askonce.errors import AskonceError
from askonce.files import locked
from askonce.index.base import batches
from askonce.sync.feeds import Address, feed_of
from askonce.sync.http import Client
from askonce.types import Link, Post

BATCH = 1000  # records of a file per transaction


@dataclass
class SyncSummary(Tally):
    deleted: int = 0
    waiting: int = 0  # answers and links whose question the source has not delivered
    requests: int = 0
    full: bool = False  # whether the whole source was read, so that deletions are known


OnPage = Callable[[SyncSummary], None]


def sync(
    archive: Archive,
    source: Source,
    form: str,
    url: str | None = None,
    client: Client | None = None,
    full: bool = False,
    on_page: OnPage | None = None,
) -> SyncSummary:
    """Bring an archive up to date with a source: the file or folder of ``source``, or ``url``.

    A file or folder is read as a whole if it has changed, an address from the position of the last
    pass on; with ``full``, or the first time, from the beginning. What a whole pass does not bring
    again is deleted, unless a record was damaged. Posts from elsewhere stay.
    """
    name = f"sync {form} {url or source.path}"
    with locked(_lock(archive, name), f"{name!r} is running already"):
        run = _Pass(archive, name, on_page or (lambda _: None))
        if url is not None:
            return run.follow(Address(url, source), form, client or Client(), full)
        return run.read(source, form, full)


def _lock(archive: Archive, name: str) -> Path:
    folder = archive.folder or Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f".{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock"


class _Pass:
    def __init__(self, archive: Archive, name: str, on_page: OnPage) -> None:
        self.archive, self.name, self.on_page = archive, name, on_page
        self.summary = SyncSummary()
        self._damaged = self.summary.add_damaged
        self.state: dict[str, Any] = archive.position(name) or {"number": 0}
        self._answers: list[Post] = []  # whose questions have not come yet
        self._links: list[Link] = []

    def follow(self, address: Address, form: str, client: Client, full: bool) -> SyncSummary:
        """Read pages until there are no more."""
        feed = feed_of(form)
        whole = self.state.get("whole") or full or not self.state["number"]
        position = self.state.get("position", {})
        if whole and not self.state.get("whole"):  # begin; a killed one goes on
            position = {}
            self.state = {"number": self.state["number"] + 1, "whole": True, "position": {}}
        more = True
        while more:
            page = feed(client, address, position)
            position, more = page.position, page.more
            self.summary.requests = client.requests
            self._write(page.records, page.deleted, {"position": position})
        self._settle()
        return self._end(whole, {"position": position})

    def read(self, source: Source, form: str, full: bool) -> SyncSummary:
        """Read a file or folder as a whole, if it has changed."""
        signature = _signature(source)
        if signature == self.state.get("signature") and not full:
            return self.summary
        self.state["number"] += 1
        for batch in batches(_records(IMPORTERS[form](source)), BATCH):
            self._write(batch, [], {})
        self._settle()
        done = _signature(source) == signature  # else it was written to while we read it
        return self._end(True, {"signature": signature if done else None})

    def _write(
        self, records: Iterable[Imported], deleted: list[str], state: dict[str, Any]
    ) -> None:
        new = {post.id: post for post in sound_posts(records, self._links, self._damaged)}
        waiting = [*self._answers, *new.values()]
        ready, self._answers = with_questions(self.archive, waiting, self._damaged)
        links = self._with_both_ends(ready)
        if not (self._answers or self._links):  # else a killed pass must read these pages again
            self.state |= state
        ready = self.archive.decisions.keep_merged(ready)
        batch = SyncBatch(ready, links, deleted, self.state["number"])
        written, gone = self.archive.sync(self.name, batch, self.state)
        self.summary.add(written)
        self.summary.deleted += len(gone)
        self.on_page(self.summary)

    def _with_both_ends(self, ready: list[Post]) -> list[Link]:
        links, self._links = self._links, []
        ends = {end for link in links for end in (link.source, link.target)}
        kinds = self.archive.kinds(ends) | {post.id: post.kind for post in ready}
        writable: list[Link] = []
        for link in links:
            known = kinds.get(link.source) == kinds.get(link.target) == "question"
            (writable if known else self._links).append(link)
        return writable

    def _settle(self) -> None:
        """Write what has waited; what still lacks its question is left out and counted."""
        self._write([], [], {})
        self.summary.waiting = len(self._answers) + len(self._links)
        self._answers, self._links = [], []

    def _end(self, whole: bool, state: dict[str, Any]) -> SyncSummary:
        self.state = {"number": self.state["number"], **state}
        self.summary.full = whole
        if whole and self.summary.posts and not self.summary.damaged:
            gone = self.archive.end_sync(self.name, self.state["number"], self.state)
            self.summary.deleted += len(gone)
        else:
            self.archive.set_position(self.name, self.state)
        self.on_page(self.summary)
        return self.summary


def _records(records: Iterator[Imported]) -> Iterator[Imported]:
    """The records of an importer; a file that cannot be read on counts as damaged."""
    try:
        yield from records
    except AskonceError as error:
        if isinstance(error, OSError):
            raise
        yield Damaged("source", str(error))


def _signature(source: Source) -> str:
    """What changes when the files do: names, sizes and times."""
    path = source.need_path("the file or folder to follow")
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    facts = []
    for file in files:
        status = file.stat()
        facts.append(f"{file.relative_to(path)} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()
