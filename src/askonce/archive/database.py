"""Open the database of an archive: SQLite in a folder, PostgreSQL by address, or memory.

All that the two databases do differently is in this file.
"""

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    Connection,
    Engine,
    Integer,
    Text,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import StaticPool

from askonce.errors import AskonceError, MissingExtra

FILE = "archive.sqlite3"
PATIENCE_MS = 30_000  # how long a writer waits for the one before it
# What a client of PostgreSQL waits for a server that is lost without a word, in seconds.
WAITS = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
SCHEMES = ("postgres", "postgresql", "postgresql+psycopg")

Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up INTEGER keys by itself
# Code points decide the order, whatever the language of the server: both databases agree on it.
Name = Text().with_variant(Text(collation="C"), "postgresql")


def open_file(folder: Path) -> Engine:
    """The SQLite file of a folder: many readers beside one writer, each commit on the disk.

    In a folder that we may not write to, it can be read only.
    """
    path = folder / FILE
    if os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK)):
        return _sqlite(create_engine(URL.create("sqlite", database=str(path))))
    # a reader needs SQLite's side files, which it cannot make here, unless nobody writes
    mode = {"mode": "ro"} if path.with_name(f"{FILE}-wal").exists() else {"immutable": "1"}
    url = URL.create("sqlite", database=path.resolve().as_uri(), query={**mode, "uri": "true"})
    return _sqlite(create_engine(url))


def open_memory() -> Engine:
    """A database that ends with the process; all threads share its one connection."""
    share = {"check_same_thread": False}
    return _sqlite(create_engine("sqlite://", poolclass=StaticPool, connect_args=share))


def open_address(address: str) -> Engine:
    """A PostgreSQL database by its address."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in SCHEMES or not url.database:
        raise AskonceError(
            f"{without_password(address)!r} is no archive's address; "
            "expected postgresql://user@host/database"
        )
    url = url.set(drivername="postgresql+psycopg")
    waits = {name: value for name, value in WAITS.items() if name not in url.query}
    try:
        # a connection that died while it was idle is found and replaced before it is used
        return create_engine(url, pool_pre_ping=True, connect_args=waits, hide_parameters=True)
    except ModuleNotFoundError:
        raise MissingExtra("psycopg", "postgres", "an archive on PostgreSQL") from None


def is_address(place: str) -> bool:
    """Whether a place names a database server rather than a folder."""
    return "://" in place


def without_password(place: str) -> str:
    """A place as it may be shown and logged."""
    place = re.sub(r"(://[^:/?#]*):.*@", r"\1:***@", place)
    return re.sub(r"(password=)[^&]*", r"\1***", place)


def reason(engine: Engine, error: DBAPIError) -> str:
    """What a database says of an error, in one line and without the password."""
    said = str(error.orig).strip().partition("\n")[0]
    password = engine.url.password
    return said.replace(str(password), "***") if password else said


def for_reading(engine: Engine) -> Engine:
    """The engine with connections for single statements.

    To begin and to end a transaction around each would be two more messages to a server.
    """
    if _is_sqlite(engine):
        return engine
    return engine.execution_options(isolation_level="AUTOCOMMIT")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A connection in a transaction that is a writer's from its first statement on.

    SQLite refuses a reader that wants to write once another wrote; so a writer says it at once.
    On PostgreSQL, a writer whose machine vanished must not keep the others waiting for ever.
    """
    options = {"begin": "BEGIN IMMEDIATE"}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if not _is_sqlite(engine):
            connection.exec_driver_sql(
                f"SET LOCAL lock_timeout = {PATIENCE_MS}; "
                f"SET LOCAL idle_in_transaction_session_timeout = {PATIENCE_MS}"
            )
        yield connection


def alone(connection: Connection, what: str) -> None:
    """Wait until no other transaction is alone with the same; SQLite's writers always are."""
    if connection.dialect.name != "sqlite":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _key(what)})


@contextmanager
def turn(engine: Engine, what: str) -> Iterator[None]:
    """One process at a time, of all that use the database; freed when its process ends.

    On SQLite the processes are of one machine, where a lock in the folder does the same.
    """
    if _is_sqlite(engine):
        yield
        return
    with for_reading(engine).connect() as connection:
        key = {"key": _key(what)}
        connection.execute(text("SELECT pg_advisory_lock(:key)"), key)
        try:
            yield
        finally:
            if not connection.invalidated:  # with a lost connection the lock is lost too
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), key)


def _key(what: str) -> int:
    return zlib.crc32(f"askonce {what}".encode())


def _is_sqlite(engine: Engine) -> bool:
    return engine.dialect.name == "sqlite"


def _sqlite(engine: Engine) -> Engine:
    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _: Any) -> None:  # noqa: ANN401 - of the driver
        connection.isolation_level = None  # transactions begin where we say, not where it guesses
        for pragma in (
            f"busy_timeout = {PATIENCE_MS}",  # first, since the next may have to wait
            "journal_mode = WAL",
            "synchronous = FULL",  # what is acknowledged survives a power cut
            "cache_size = -32000",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine
