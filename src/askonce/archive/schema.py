"""Create the tables of an archive, check their format, and upgrade an older one in place.

The format number is the number of the last step in ``migrations/versions``. All steps run in one
transaction, so a crash leaves either the old format or the new one. The way back is the backup.
"""

import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, func, inspect, select, update
from sqlalchemy.exc import DBAPIError

from askonce.archive import database
from askonce.archive.tables import FORMAT, metadata, state
from askonce.errors import ArchiveUnavailable, AskonceError
from askonce.files import flush_to_disk

STEPS = Path(__file__).parent / "migrations"
OLDEST = 1
log = logging.getLogger("askonce.archive")


def prepare(engine: Engine, name: str, create: bool = False) -> None:
    """Make sure that the database is an archive of the present format."""
    try:
        with database.for_reading(engine).connect() as connection:
            present = _format(connection)
        if present is None:
            if not create:
                raise AskonceError(f"{name!r} is not an archive; make one with `askonce import`")
            with database.writing(engine) as connection:
                database.lock_for_transaction(connection, "create")
                if _format(connection) is None:  # else another process has just created it
                    metadata.create_all(connection)
                    connection.execute(state.insert(), {"one": 1, "format": FORMAT, "change": 0})
            return
    except DBAPIError as error:
        raise database.unavailable(engine, name, error) from error
    if not OLDEST <= present <= FORMAT:
        raise AskonceError(
            f"archive {name!r} has format {present}, this version reads {FORMAT}; "
            + ("update askonce" if present > FORMAT else "import its source again")
        )
    if present < FORMAT:
        _upgrade(engine, name, present)


def _format(connection: Connection) -> int | None:
    if not inspect(connection).has_table(state.name):
        return None
    return int(connection.execute(select(state.c.format)).scalar_one())


def _upgrade(engine: Engine, name: str, old: int) -> None:
    task = f"upgrade archive {name!r} from format {old} to {FORMAT}"
    if database.is_read_only(engine):
        raise AskonceError(
            f"cannot {task}: its folder is read-only; open it once as a user who may write to it, "
            "or copy it to a writable folder"
        )
    try:
        with database.writing(engine) as connection:
            lock = select(state.c.format).with_for_update()  # PostgreSQL's writers wait here
            if connection.execute(lock).scalar_one() == FORMAT:
                return  # another process has upgraded it meanwhile
            if database.is_sqlite(engine):
                backup = _back_up(Path(str(engine.url.database)), old, task)
                log.warning("archive %r: format %d is backed up as %s", name, old, backup)
            _migrate(connection, old, task)
    except DBAPIError as error:
        message = database.reason(engine, error)
        if "database is locked" in message or "lock timeout" in message:
            message = "another process is writing to it or upgrading it; try again"
        raise ArchiveUnavailable(f"cannot {task}: {message}") from error
    log.warning("archive %r: upgraded from format %d to %d", name, old, FORMAT)


def _back_up(archive: Path, old: int, task: str) -> Path:
    """Copy a SQLite file beside itself: complete and on the disk, or not at all."""
    backup = archive.with_name(f"{archive.name}.backup-{old}")
    part = archive.with_name(f"{backup.name}.part")
    try:
        for leftover in (part, Path(f"{part}-journal")):  # of an upgrade that was killed
            leftover.unlink(missing_ok=True)
        part.touch(mode=0o600)
        # the caller holds the write lock, so a second connection reads what will be upgraded
        with closing(sqlite3.connect(archive)) as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
        shutil.copymode(archive, part)
        flush_to_disk(part)
        part.replace(backup)
        flush_to_disk(backup.parent)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        message = f"cannot {task}: no backup at {str(backup)!r} ({error}); nothing was changed"
        raise ArchiveUnavailable(message) from error
    return backup


def _migrate(connection: Connection, old: int, task: str) -> None:
    """Run the steps after format ``old`` and check that every row is still there."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    before = _count_rows(connection)
    operations = Operations(MigrationContext.configure(connection))
    for step in reversed(list(ScriptDirectory(str(STEPS)).walk_revisions())):
        if int(step.revision) > old:
            step.module.upgrade(operations)
    connection.execute(update(state).values(format=FORMAT))
    missing = [
        f"{table.name}.{column}"
        for table in metadata.sorted_tables
        for column in set(table.c.keys()) - _column_names(connection, table.name)
    ]
    if missing or not before.items() <= _count_rows(connection).items():
        raise AskonceError(f"cannot {task}: rows or columns {missing} would be missing")


def _count_rows(connection: Connection) -> dict[str, int]:
    present = set(inspect(connection).get_table_names())
    return {
        name: connection.execute(select(func.count()).select_from(table)).scalar_one()
        for name, table in metadata.tables.items()
        if name in present
    }


def _column_names(connection: Connection, table: str) -> set[str]:
    tables = inspect(connection)
    return {c["name"] for c in tables.get_columns(table)} if tables.has_table(table) else set()
