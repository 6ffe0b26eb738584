"""Open the database of an archive: SQLite in a folder, PostgreSQL by address, or memory."""

import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.pool import StaticPool

from askonce.errors import MissingExtra

FILE = "archive.sqlite3"
PATIENCE_MS = 30_000  # how long a writer waits for the one before it


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
    url = make_url(address)
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    try:
        return create_engine(url, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise MissingExtra("psycopg", "postgres", "an archive on PostgreSQL") from None


def is_address(place: str) -> bool:
    """Whether a place names a database server rather than a folder."""
    return place.startswith(("postgres://", "postgresql://", "postgresql+psycopg://"))


def writing(engine: Engine) -> Connection:
    """A connection whose transaction is a writer's from its first statement on.

    SQLite refuses a reader that wants to write once another wrote; so a writer says it at once.
    """
    return engine.connect().execution_options(begin="BEGIN IMMEDIATE")


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
