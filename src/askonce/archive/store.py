"""The posts and links of one forum, stored durably: indexes are derived from it.

Every write is one transaction, on the disk when the call returns. Each changed post or
link takes the next change number, so a reader that remembers the last number it saw can ask for
everything after it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, Select, bindparam, select
from sqlalchemy.exc import DBAPIError, TimeoutError
from sqlalchemy.pool import StaticPool

from askonce.archive import database, links, overview, schema, tables
from askonce.archive.desk.decisions import DecisionTable
from askonce.archive.desk.feedback import FeedbackTable, WeightedLabel, weigh_marks
from askonce.archive.desk.options import Options
from askonce.archive.desk.searches import SearchTable
from askonce.archive.rows import FIELDS, as_post, as_row, check, post_of
from askonce.archive.snapshot import Snapshot
from askonce.archive.tables import (
    FORMAT,
    LATEST_CHANGE,
    WITHOUT_HTML,
    positions,
    posts,
    revisions,
    state,
)
from askonce.archive.writing import (
    CHUNK,
    Written,
    added_after,
    chunks,
    delete_rows,
    forget_synced,
    mark_seen,
    partners,
    read_value,
    take_unseen,
    write_rows,
    write_value,
)
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.types import Link, LinkKind, Post, PostKind

P = ParamSpec("P")
T = TypeVar("T")


class Change(NamedTuple):
    """The latest change of one post; ``post`` is None if it was deleted."""

    number: int
    id: str
    kind: PostKind
    post: Post | None


@dataclass(frozen=True)
class Revision:
    title: str
    body: str
    html: str
    replaced: str  # time of the edit, ISO 8601


class SyncBatch(NamedTuple):
    """Records of a source, and the number of the pass that delivered them."""

    posts: Sequence[Post]
    links: Sequence[Link]
    deleted: Sequence[str]
    number: int


class Archive:
    """One forum's posts and links. Threads may share it."""

    format = FORMAT

    def __init__(self, engine: Engine, folder: Path | None, name: str) -> None:
        self._engine, self.folder, self.name = engine, folder, name
        self._reader = database.for_reading(engine)
        # an in-memory database has a single connection, which threads use in turn
        shared = isinstance(engine.pool, StaticPool)
        self._mutex: AbstractContextManager[object] = RLock() if shared else nullcontext()
        self.options = Options(self._reading, self._writing)
        self.feedback = FeedbackTable(self._reading, self._writing)
        self.decisions = DecisionTable(self._reading, self._writing)
        self.searches = SearchTable(self._reading, self._writing)

    @classmethod
    def open(
        cls, location: Path | str, create: bool = False, folder: Path | None = None
    ) -> "Archive":
        """Open an archive by its folder, or by the address of its PostgreSQL database.

        An archive of an older format is upgraded in place first. ``folder`` is where this machine
        keeps the indexes and models of an archive with an address; by default NAME.askonce in the
        current folder.
        """
        if isinstance(location, str) and database.is_address(location):
            engine = database.open_address(location)
            name = engine.url.database or "archive"
            folder = folder or Path(f"{name}.askonce")
            if (folder / database.FILE).exists():
                raise AskonceError(
                    f"{str(folder)!r} is another archive; name a folder for the indexes and models "
                    f"of {name!r} with --folder"
                )
        else:
            if folder is not None:
                raise AskonceError(
                    "--folder is for an archive with an address; the others are folders themselves"
                )
            folder = Path(location)
            name = folder.name.removesuffix(".askonce")
            _check_folder(folder, create)
            engine = database.open_file(folder)
        try:
            schema.prepare(engine, name, create)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, folder, name)

    @classmethod
    def in_memory(cls, name: str = "memory") -> "Archive":
        """An empty archive that ends with the process."""
        engine = database.open_memory()
        schema.prepare(engine, name, create=True)
        return cls(engine, None, name)

    def close(self) -> None:
        self._engine.dispose()

    # -- write ------------------------------------------------------------------------------------

    def write(self, new: Iterable[Post], new_links: Iterable[Link] = ()) -> Written:
        """Add posts, replacing those with the same ids, and links, in one transaction.

        A link that makes a question a duplicate of itself is an error.
        """
        rows = {post.id: as_row(check(post)) for post in new}
        with self._writing() as connection:
            written = write_rows(connection, rows)
            added = links.add_links(connection, new_links).all_or_error()
            return written._replace(change=added.change, links_added=len(added.added))

    def add_links(self, new: Iterable[Link]) -> links.AddedLinks:
        """Add links; circular ones are left out and returned."""
        with self._writing() as connection:
            return links.add_links(connection, new)

    def remove_links(self, unwanted: Iterable[Link]) -> list[Link]:
        with self._writing() as connection:
            return links.remove_links(connection, unwanted)

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete posts, with the answers to deleted questions; return all deleted ids.

        Their text, revisions and links go too. Unknown ids are ignored.
        """
        with self._writing() as connection:
            return delete_rows(connection, ids)

    def sync(
        self,
        source: str,
        batch: SyncBatch,
        position: Any,  # noqa: ANN401 - JSON
    ) -> tuple[Written, list[str]]:
        """Write what a source delivered, and how far it was read, in one transaction.

        The second value are the ids of all deleted posts.
        """
        rows = {post.id: as_row(check(post)) for post in batch.posts}
        with self._writing() as connection:
            written = write_rows(connection, rows)
            added = links.add_links(connection, batch.links)
            mark_seen(connection, source, rows, batch.number)
            deleted = delete_rows(connection, batch.deleted)
            forget_synced(connection, source, [*batch.deleted, *deleted])
            write_value(connection, positions, source, position)
            return written._replace(links_added=len(added.added)), deleted

    def end_sync(self, source: str, number: int, position: Any) -> list[str]:  # noqa: ANN401 - JSON
        """End a pass over a whole source: delete what it no longer has; return the deleted ids."""
        with self._writing() as connection:
            gone = delete_rows(connection, take_unseen(connection, source, number))
            write_value(connection, positions, source, position)
            return gone

    def position(self, name: str) -> Any:  # noqa: ANN401 - JSON
        """How far the reader of this name has come; None if it has not begun."""
        return self._read(read_value, positions, name)

    def set_position(self, name: str, value: Any) -> None:  # noqa: ANN401 - JSON
        with self._writing() as connection:
            write_value(connection, positions, name, value)

    def added_after(self, number: int, limit: int = 1000) -> list[tuple[int, Post]]:
        """The posts that were added after a row number, oldest first, with their numbers."""
        rows = self._read(added_after, number, limit)
        return [(row.number, as_post(row)) for row in rows]

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Hold a named lock that at most one of the servers sharing this archive holds."""
        with self._one_line_errors(), database.turn(self._engine, name):
            yield

    # -- read -------------------------------------------------------------------------------------

    @property
    def change(self) -> int:
        """The number of the latest change."""
        with self._one_line_errors(), self._mutex:
            return database.read_number(self._reader, LATEST_CHANGE)

    def post(self, post_id: str) -> Post | None:
        return self.posts([post_id]).get(post_id)

    def posts(self, ids: Sequence[str], html: bool = True) -> dict[str, Post]:
        """Those of these posts that exist, by id."""
        rows = self._where(posts.c.id, ids, _columns_of_posts(html))
        return {post.id: post for post in map(post_of, rows)}

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """The titles of those of these posts that exist, by id."""
        columns = (posts.c.id, posts.c.title)
        return {row.id: row.title for row in self._where(posts.c.id, ids, columns)}

    def kinds(self, ids: Iterable[str]) -> dict[str, PostKind]:
        """Whether each of these posts is a question or an answer; unknown ids are left out."""
        columns = (posts.c.id, posts.c.kind)
        return {row.id: row.kind for row in self._where(posts.c.id, list(ids), columns)}

    def answers_to(self, ids: Sequence[str], html: bool = True) -> dict[str, list[Post]]:
        """The answers to each question: the accepted one first, then by votes."""
        columns = posts.c if html else WITHOUT_HTML
        answers: dict[str, list[Post]] = {}
        for row in self._where(posts.c.parent, ids, columns):
            answers.setdefault(row.parent, []).append(as_post(row))
        for group in answers.values():
            group.sort(key=lambda a: (not a.accepted, -(a.score or 0), a.id))
        return answers

    def answer_marks(self, ids: Sequence[str]) -> dict[str, dict[str, bool]]:
        """The ids of each question's answers, and whether each is accepted."""
        marks: dict[str, dict[str, bool]] = {}
        for row in self._where(posts.c.parent, ids, [posts.c.parent, posts.c.id, posts.c.accepted]):
            marks.setdefault(row.parent, {})[row.id] = row.accepted
        return marks

    def changes(self, after: int, limit: int = CHUNK) -> list[Change]:
        """The changes after a change number, oldest first, with posts without HTML."""
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

    def changed_ids(self, after: int) -> list[str]:
        """The ids of the posts that have changed after a change number."""
        query = select(posts.c.id).where(posts.c.change > after)
        with self._reading() as connection:
            return list(connection.execute(query).scalars())

    def newest_ids(self, limit: int) -> list[str]:
        """The ids of the posts that were added last, newest first."""
        query = select(posts.c.id).where(~posts.c.deleted).order_by(posts.c.number.desc())
        with self._reading() as connection:
            return list(connection.execute(query.limit(limit)).scalars())

    def iterate(self, kind: PostKind | None = None, html: bool = False) -> Iterator[Post]:
        """All posts in the order in which they were added, one chunk in memory at a time."""
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

    def revisions(self, post_id: str) -> list[Revision]:
        query = select(revisions).where(revisions.c.id == post_id).order_by(revisions.c.change)
        with self._reading() as connection:
            return [
                Revision(row.title, row.body, row.html, row.replaced)
                for row in connection.execute(query)
            ]

    def snapshot(self) -> Snapshot:
        """All posts and links in memory, without HTML, for training.

        Answers without their question and links to unknown questions are left out.
        """
        questions = {post.id: post for post in self.iterate("question")}
        answers = {post.id: post for post in self.iterate("answer") if post.parent in questions}
        known = (x for x in self.links() if x.source in questions and x.target in questions)
        known_posts = questions.keys() | answers.keys()
        weighted_labels = [x for x in weigh_marks(self.feedback.all()) if x.post in known_posts]
        for source, target in self.decisions.dismissed():
            if source in questions and target in questions:
                text = questions[source].text
                weighted_labels.append(WeightedLabel(text, target, 1.0, right=False, source=source))
        return Snapshot(self.name, questions, answers, tuple(known), tuple(weighted_labels))

    # -- links ------------------------------------------------------------------------------------

    def links(self, kind: LinkKind | None = None) -> list[Link]:
        return self._read(links.all_links, kind)

    def duplicates_of(self, ids: Sequence[str]) -> dict[str, str]:
        return self._read(links.duplicates_of, ids)

    def linked(self, ids: Sequence[str]) -> dict[str, set[str]]:
        """The questions that each of these is linked with, in either direction."""
        return self._read(partners, tables.links, ids)

    def originals(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The end of each question's chain of duplicates; a cycle ends where it would close."""
        with self._reading() as connection:
            return links.originals(ids, partial(links.duplicates_of, connection))

    # -- overview ---------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        return self._read(overview.counts)

    def growth(self) -> list[tuple[str, int, int]]:
        """New questions and answers by month; posts without a date are left out."""
        return self._read(overview.growth)

    def newest(self, limit: int, unanswered: bool = False) -> list[Post]:
        """The latest questions, newest first; or the latest without an answer.

        A marked duplicate is not listed as unanswered: the answers of its original count.
        """
        return [as_post(row) for row in self._read(overview.newest, limit, unanswered)]

    def popular(self, limit: int) -> list[Post]:
        """The questions with most votes that have an answer."""
        return [as_post(row) for row in self._read(overview.popular, limit)]

    # -- connections ------------------------------------------------------------------------------

    def _where(self, column: Any, ids: Sequence[str], columns: Iterable[Any]) -> Iterator[Any]:  # noqa: ANN401
        with self._reading() as connection:
            for chunk in chunks(list(ids)):
                yield from connection.execute(_by_ids(column, tuple(columns)), {"ids": chunk}).all()

    def _read(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **named: P.kwargs
    ) -> T:
        with self._reading() as connection:
            return query(connection, *args, **named)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._one_line_errors(), self._mutex, self._reader.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._one_line_errors(), self._mutex, database.writing(self._engine) as connection:
            # PostgreSQL's writers wait for each other here, before they read anything
            connection.execute(select(state.c.change).with_for_update())
            yield connection

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        """Report a lost database, a full disk or a read-only folder in one line."""
        try:
            yield
        except DBAPIError as error:
            raise database.unavailable(self._engine, self.name, error) from error
        except TimeoutError as error:
            raise ArchiveUnavailable(f"archive {self.name!r}: too many readers at once") from error


@cache
def _columns_of_posts(html: bool) -> tuple[Any, ...]:
    columns = {column.name: column for column in (posts.c if html else WITHOUT_HTML)}
    return tuple(columns[name] for name in FIELDS)


@cache
def _by_ids(column: Any, columns: tuple[Any, ...]) -> Select[Any]:  # noqa: ANN401 - columns
    """Posts by ids; made once, since SQLAlchemy takes longer to build it than to run it."""
    among = column.in_(bindparam("ids", expanding=True))
    return select(*columns).where(among, ~posts.c.deleted)


def _check_folder(folder: Path, create: bool) -> None:
    if (folder / database.FILE).is_file():
        return
    if not create:
        raise AskonceError(
            f"no archive at {str(folder)!r}; make one with `askonce import … --into {folder}`"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # looked at twice, as another process may create the archive meanwhile
        foreign = any(folder.iterdir()) and not (folder / database.FILE).is_file()
    except OSError as error:
        raise AskonceError(f"cannot make the folder {str(folder)!r}: {error}") from None
    if foreign:
        raise AskonceError(f"{str(folder)!r} is not an archive and not empty; name a new folder")
