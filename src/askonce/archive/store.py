"""The posts and links of one forum, durable: the truth that indexes follow.

Every write is one transaction, on the disk when the call returns. Each changed post gets the next
change number, so whoever remembers the last number it saw can ask for all that came after.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, func, inspect, or_, select
from sqlalchemy.exc import DBAPIError, TimeoutError
from sqlalchemy.pool import StaticPool

from askonce.archive import database, overview
from askonce.archive.rows import as_post, as_row, check
from askonce.archive.snapshot import Snapshot
from askonce.archive.tables import FORMAT, WITHOUT_HTML, links, metadata, posts, revisions, state
from askonce.archive.writing import CHUNK, Written, chunks, delete_rows, write_rows
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.types import Link, LinkKind, Post, PostKind


class Change(NamedTuple):
    """The latest change of one post; ``post`` is None once it was deleted."""

    number: int
    id: str
    kind: PostKind
    post: Post | None


@dataclass(frozen=True)
class Revision:
    """What a post said before an edit."""

    title: str
    body: str
    html: str
    replaced: str  # when, ISO 8601


class Archive:
    """One forum's posts and links. Threads may share it."""

    def __init__(self, engine: Engine, folder: Path | None, name: str) -> None:
        self._engine, self.folder, self.name = engine, folder, name
        self._reader = database.for_reading(engine)
        # a database in memory has one connection, which threads use in turn
        shared = isinstance(engine.pool, StaticPool)
        self._turn: AbstractContextManager[object] = RLock() if shared else nullcontext()
        with self._reading() as connection:
            if not inspect(connection).has_table(state.name):
                raise AskonceError(f"{name!r} is no archive; make one with `askonce import`")
            found = connection.execute(select(state.c.format)).scalar_one()
        if found != FORMAT:
            raise AskonceError(
                f"archive {name!r} has format {found}, this version reads {FORMAT}; "
                + ("update askonce" if found > FORMAT else "import its source again")
            )

    @classmethod
    def open(cls, place: Path | str, create: bool = False, folder: Path | None = None) -> "Archive":
        """An archive by its folder, or by the address of its PostgreSQL database.

        ``folder`` is where this machine keeps the indexes and models of an archive with an address;
        unless given, it is NAME.askonce in the current folder.
        """
        if isinstance(place, str) and database.is_address(place):
            engine = database.open_address(place)
            name = engine.url.database or "archive"
            folder = _work_folder(folder or Path(f"{name}.askonce"), name)
        else:
            if folder is not None:
                raise AskonceError("--folder is for an archive with an address; others have theirs")
            folder = Path(place)
            name = folder.name.removesuffix(".askonce")
            _check_folder(folder, create)
            engine = database.open_file(folder)
        try:
            if create:
                _create(engine, name)
            return cls(engine, folder, name)
        except BaseException:
            engine.dispose()
            raise

    @classmethod
    def in_memory(cls, name: str = "memory") -> "Archive":
        """An empty archive that ends with the process."""
        engine = database.open_memory()
        _create(engine, name)
        return cls(engine, None, name)

    def close(self) -> None:
        """Give up all connections."""
        self._engine.dispose()

    # -- write ------------------------------------------------------------------------------------

    def write(self, new: Iterable[Post], new_links: Iterable[Link] = ()) -> Written:
        """Add posts, or take the place of those with the same ids; add links. One transaction."""
        rows = {post.id: as_row(check(post)) for post in new}
        with self._writing() as connection:
            return write_rows(connection, rows, new_links)

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete posts, the answers of deleted questions too; the ids of all that are gone now.

        Their text, revisions and links go as well; unknown ids are no error.
        """
        with self._writing() as connection:
            return delete_rows(connection, ids)

    @contextmanager
    def turn(self, what: str) -> Iterator[None]:
        """Do something to what several servers share while no other server does the same."""
        with self._told(), database.turn(self._engine, what):
            yield

    # -- read -------------------------------------------------------------------------------------

    @property
    def change(self) -> int:
        """The number of the latest change."""
        with self._reading() as connection:
            return int(connection.execute(select(state.c.change)).scalar_one())

    def post(self, post_id: str) -> Post | None:
        """One post, or None."""
        return self.posts([post_id]).get(post_id)

    def posts(self, ids: Sequence[str], html: bool = True) -> dict[str, Post]:
        """Those of these posts that exist, by id."""
        columns = posts.c if html else WITHOUT_HTML
        return {row.id: as_post(row) for row in self._where(posts.c.id, ids, columns)}

    def kinds(self, ids: Iterable[str]) -> dict[str, PostKind]:
        """Those of these posts that exist, as question or answer."""
        columns = (posts.c.id, posts.c.kind)
        return {row.id: row.kind for row in self._where(posts.c.id, list(ids), columns)}

    def answers_to(self, ids: Sequence[str], html: bool = True) -> dict[str, list[Post]]:
        """The answers to each question: the accepted one first, then by votes."""
        columns = posts.c if html else WITHOUT_HTML
        found: dict[str, list[Post]] = {}
        for row in self._where(posts.c.parent, ids, columns):
            found.setdefault(row.parent, []).append(as_post(row))
        for answers in found.values():
            answers.sort(key=lambda a: (not a.accepted, -(a.score or 0), a.id))
        return found

    def answer_marks(self, ids: Sequence[str]) -> dict[str, dict[str, bool]]:
        """The ids of each question's answers, and whether each is accepted."""
        found: dict[str, dict[str, bool]] = {}
        for row in self._where(posts.c.parent, ids, [posts.c.parent, posts.c.id, posts.c.accepted]):
            found.setdefault(row.parent, {})[row.id] = row.accepted
        return found

    def duplicates_of(self, ids: Sequence[str]) -> dict[str, str]:
        """The question that each was marked a duplicate of, where there is such a mark."""
        found: dict[str, str] = {}
        with self._reading() as connection:
            for some in chunks(list(ids)):
                query = (
                    select(links.c.source, links.c.target)
                    .where(links.c.source.in_(some), links.c.kind == "duplicate")
                    .order_by(links.c.source, links.c.target)
                )
                for row in connection.execute(query):
                    found.setdefault(row.source, row.target)
        return found

    def linked(self, ids: Sequence[str]) -> dict[str, set[str]]:
        """The questions that each is linked with, in either direction."""
        found: dict[str, set[str]] = {}
        with self._reading() as connection:
            for some in chunks(list(ids)):
                ends = or_(links.c.source.in_(some), links.c.target.in_(some))
                query = select(links.c.source, links.c.target).where(ends)
                for source, target in connection.execute(query):
                    found.setdefault(source, set()).add(target)
                    found.setdefault(target, set()).add(source)
        return found

    def originals(self, ids: Sequence[str]) -> dict[str, str]:
        """The end of the chain of duplicates from each; a cycle ends where it would close."""
        ends = {name: name for name in ids}
        seen = {name: {name} for name in ids}
        moving = set(ids)
        while moving:
            steps = self.duplicates_of(sorted({ends[name] for name in moving}))
            moving = {name for name in moving if steps.get(ends[name], name) not in seen[name]}
            for name in moving:
                ends[name] = steps[ends[name]]
                seen[name].add(ends[name])
        return ends

    def changes(self, after: int, limit: int = CHUNK) -> list[Change]:
        """What became of posts after a change number, oldest first, without HTML."""
        query = (
            select(*WITHOUT_HTML)
            .where(posts.c.change > after)
            .order_by(posts.c.change)
            .limit(limit)
        )
        with self._reading() as connection:
            return [
                Change(row.change, row.id, row.kind, None if row.deleted else as_post(row))
                for row in connection.execute(query)
            ]

    def iterate(self, kind: PostKind | None = None, html: bool = False) -> Iterator[Post]:
        """All posts in the order in which they came, a chunk in memory at a time."""
        columns = list(posts.c) if html else WITHOUT_HTML
        last = 0
        while True:
            query = select(*columns).where(posts.c.number > last, ~posts.c.deleted)
            if kind is not None:
                query = query.where(posts.c.kind == kind)
            with self._reading() as connection:
                rows = connection.execute(query.order_by(posts.c.number).limit(CHUNK)).all()
            if not rows:
                return
            yield from map(as_post, rows)
            last = rows[-1].number

    def links(self, kind: LinkKind | None = None) -> list[Link]:
        """All links between questions."""
        query = select(links) if kind is None else select(links).where(links.c.kind == kind)
        order = query.order_by(links.c.source, links.c.target, links.c.kind)
        with self._reading() as connection:
            return [Link(row.source, row.target, row.kind) for row in connection.execute(order)]

    def revisions(self, post_id: str) -> list[Revision]:
        """What a post said before each edit, oldest first."""
        query = select(revisions).where(revisions.c.id == post_id).order_by(revisions.c.change)
        with self._reading() as connection:
            return [
                Revision(row.title, row.body, row.html, row.replaced)
                for row in connection.execute(query)
            ]

    def counts(self) -> dict[str, int]:
        """How many posts and links of each kind there are."""
        with self._reading() as connection:
            return overview.counts(connection)

    def growth(self) -> list[tuple[str, int, int]]:
        """Month, questions and answers that came in it; posts without a date are left out."""
        with self._reading() as connection:
            return overview.growth(connection)

    def unanswered(self, limit: int) -> list[Post]:
        """Questions without an answer, the newest first."""
        with self._reading() as connection:
            return [as_post(row) for row in overview.newest(connection, limit, unanswered=True)]

    def newest(self, limit: int) -> list[Post]:
        """The questions that came last, the last one first."""
        with self._reading() as connection:
            return [as_post(row) for row in overview.newest(connection, limit)]

    def orphans(self) -> list[str]:
        """Answers whose question is not there."""
        with self._reading() as connection:
            return overview.orphans(connection)

    def snapshot(self) -> Snapshot:
        """All posts and links in memory, without HTML, as training reads them.

        Answers without their question and links to unknown questions are left out.
        """
        questions = {post.id: post for post in self.iterate("question")}
        answers = {post.id: post for post in self.iterate("answer") if post.parent in questions}
        kept = (x for x in self.links() if x.source in questions and x.target in questions)
        return Snapshot(self.name, questions, answers, tuple(kept))

    # -- inside -----------------------------------------------------------------------------------

    def _where(self, column: Any, ids: Sequence[str], columns: Iterable[Any]) -> Iterator[Any]:  # noqa: ANN401
        with self._reading() as connection:
            for some in chunks(list(ids)):
                query = select(*columns).where(column.in_(some), ~posts.c.deleted)
                yield from connection.execute(query)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._told(), self._turn, self._reader.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._told(), self._turn, database.writing(self._engine) as connection:
            # PostgreSQL's writers wait here for each other, before they look at what is known
            connection.execute(select(state.c.change).with_for_update())
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        """A lost database, a full disk or a read-only folder in one line."""
        try:
            yield
        except DBAPIError as error:
            raise _unavailable(self._engine, self.name, error) from error
        except TimeoutError as error:
            raise ArchiveUnavailable(f"archive {self.name!r}: too many readers at once") from error


def _unavailable(engine: Engine, name: str, error: DBAPIError) -> ArchiveUnavailable:
    return ArchiveUnavailable(f"archive {name!r}: {database.reason(engine, error)}")


def _work_folder(folder: Path, name: str) -> Path:
    if (folder / database.FILE).exists():
        raise AskonceError(
            f"{str(folder)!r} is another archive; name a folder for the indexes and models of "
            f"{name!r} with --folder"
        )
    return folder


def _check_folder(folder: Path, create: bool) -> None:
    if (folder / database.FILE).is_file():
        return
    if create:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            strange = any(folder.iterdir()) and not (folder / database.FILE).is_file()
        except OSError as error:
            raise AskonceError(f"cannot make the folder {str(folder)!r}: {error}") from None
        if strange:
            raise AskonceError(f"{str(folder)!r} is no archive and not empty; name a new folder")
    else:
        raise AskonceError(
            f"no archive at {str(folder)!r}; make one with `askonce import … --into {folder}`"
        )


def _create(engine: Engine, name: str) -> None:
    try:
        with database.writing(engine) as connection:
            database.alone(connection, "create")
            metadata.create_all(connection)
            if connection.execute(select(func.count()).select_from(state)).scalar_one() == 0:
                connection.execute(state.insert(), {"one": 1, "format": FORMAT, "change": 0})
    except DBAPIError as error:
        raise _unavailable(engine, name, error) from error
