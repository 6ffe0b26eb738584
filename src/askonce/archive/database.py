"""Open the database of an archive: SQLite in a folder, PostgreSQL by address, or in memory.

This file holds the differences between the two databases.
"""

import os
import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import StaticPool

from askonce.errors import ArchiveUnavailable, AskonceError, MissingExtra

FILE = "archive.sqlite3"
LOCK_TIMEOUT_MS = 30_000  # how long a writer waits for another
IDLE_TIMEOUT_MS = 30_000  # after which PostgreSQL ends the transaction of a stuck writer
# How soon a client notices that its PostgreSQL server has vanished, in seconds.
TIMEOUTS = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
SCHEMES = ("postgres", "postgresql", "postgresql+psycopg")

NumberType = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite auto-increments INTEGER
# Ordered by code point whatever the server's locale, so both databases sort alike.
NameType = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def open_file(folder: Path) -> Engine:
    """The SQLite file of a folder: many readers beside one writer, each commit on the disk.

    A folder without write permission is opened for reading only.
    """
    path = folder / FILE
    if os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK)):
        return _sqlite(sa.create_engine(sa.URL.create("sqlite", database=str(path))))
    # readers need SQLite's -wal file, which they cannot create here, unless nobody writes
    mode = {"mode": "ro"} if path.with_name(f"{FILE}-wal").exists() else {"immutable": "1"}
    url = sa.URL.create("sqlite", database=path.resolve().as_uri(), query={**mode, "uri": "true"})
    return _sqlite(sa.create_engine(url))


def open_memory() -> Engine:
    """A database that ends with the process; all threads share one connection."""
    share = {"check_same_thread": False}
    return _sqlite(sa.create_engine("sqlite://", poolclass=StaticPool, connect_args=share))


def open_address(address: str) -> Engine:
    try:
        url = sa.make_url(address)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in SCHEMES or not url.database:
        raise AskonceError(
            f"{without_password(address)!r} is not the address of an archive; "
            "expected postgresql://user@host/database"
        )
    url = url.set(drivername="postgresql+psycopg")
    timeouts = {name: value for name, value in TIMEOUTS.items() if name not in url.query}
    try:
        # pre-ping replaces connections that died while idle
        return sa.create_engine(
            url, pool_pre_ping=True, connect_args=timeouts, hide_parameters=True
        )
    except ModuleNotFoundError:
        raise MissingExtra("psycopg", "postgres", "an archive on PostgreSQL") from None


def is_address(location: str) -> bool:
    """Whether this is the address of a database server rather than a folder."""
    return "://" in location


def is_sqlite(engine: Engine) -> bool:
    return engine.dialect.name == "sqlite"


def is_read_only(engine: Engine) -> bool:
    return is_sqlite(engine) and "uri" in engine.url.query


def without_password(location: str) -> str:
    location = re.sub(r"(://[^:/?#]*):.*@", r"\1:***@", location)
    return re.sub(r"(password=)[^&]*", r"\1***", location)


def reason(engine: Engine, error: DBAPIError) -> str:
    """The database's own error message, in one line and without the password."""
    message = str(error.orig).strip().partition("\n")[0]
    password = engine.url.password
    return message.replace(str(password), "***") if password else message


def unavailable(engine: Engine, name: str, error: DBAPIError) -> ArchiveUnavailable:
    return ArchiveUnavailable(f"archive {name!r}: {reason(engine, error)}")


def for_reading(engine: Engine) -> Engine:
    """The engine with connections for single statements.

    On a server, a transaction around each statement would cost two more round trips.
    """
    if is_sqlite(engine):
        return engine
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def read_number(engine: Engine, statement: str) -> int:
    """The number that a statement gives; every question asks for the archive's change number.

    On SQLite it is read by the driver: SQLAlchemy takes eight times longer to do so.
    """
    if not is_sqlite(engine):
        with engine.connect() as connection:
            return int(connection.exec_driver_sql(statement).scalar_one())
    driver = engine.raw_connection()
    try:
        cursor = driver.cursor()
        cursor.execute(statement)
        return int(next(row[0] for row in cursor.fetchall()))
    except sqlite3.Error as error:
        raise DBAPIError(statement, None, error) from error
    finally:
        driver.close()


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A connection in a write transaction.

    SQLite does not let a reader become a writer once another process has written, so the write
    lock is taken at the start. On PostgreSQL, timeouts release the locks of a vanished writer.
    """
    options = {"begin": "BEGIN IMMEDIATE"}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        if not is_sqlite(engine):
            connection.exec_driver_sql(
                f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}; "
                f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_TIMEOUT_MS}"
            )
        yield connection


def lock_for_transaction(connection: Connection, name: str) -> None:
    """Hold a named lock until the transaction ends; a SQLite writer excludes all others anyway."""
    if connection.dialect.name != "sqlite":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _lock_key(name)})


@contextmanager
def turn(engine: Engine, name: str) -> Iterator[None]:
    """Hold a named lock that at most one process holds; it is freed when the process ends.

    SQLite needs none: its processes share a machine, where a lock file in the folder does the same.
    """
    if is_sqlite(engine):
        yield
        return
    with for_reading(engine).connect() as connection:
        key = {"key": _lock_key(name)}
        connection.execute(sa.text("SELECT pg_advisory_lock(:key)"), key)
        try:
            yield
        finally:
            if not connection.invalidated:  # a lost connection has lost the lock too
                connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), key)


def _lock_key(name: str) -> int:
    return zlib.crc32(f"askonce {name}".encode())


def _sqlite(engine: Engine) -> Engine:
    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _: Any) -> None:  # noqa: ANN401 - the driver's connection
        connection.isolation_level = None  # we begin transactions, not the driver
        for pragma in (
            f"busy_timeout = {LOCK_TIMEOUT_MS}",  # first: the next pragma may have to wait
            "journal_mode = WAL",
            "synchronous = FULL",  # acknowledged writes survive a power cut
            "cache_size = -32000",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

    return engine
