"""The operator's options by name, stored as JSON."""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection

from askonce.archive.tables import options
from askonce.archive.writing import read_value, write_value

Connect = Callable[[], AbstractContextManager[Connection]]
SALT = "salt"
IMPORTING = "importing"  # the import that is running, or was interrupted


class DeskTable:
    """A table of the desk, with connections to read and to write it."""

    def __init__(self, reading: Connect, writing: Connect) -> None:
        self._reading, self._writing = reading, writing


class Options(DeskTable):
    """A few settings that belong to the archive rather than to a server."""

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - any JSON value
        with self._reading() as connection:
            value = read_value(connection, options, name)
        return default if value is None else value

    def set(self, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        with self._writing() as connection:
            write_value(connection, options, name, value)

    def salt(self) -> bytes:
        """The archive's own salt for hashes of visitors; made on first use."""
        salt = self.get(SALT)
        if salt is None:
            with self._writing() as connection:
                salt = read_value(connection, options, SALT)  # another process may have made one
                if salt is None:
                    salt = secrets.token_hex(32)
                    write_value(connection, options, SALT, salt)
        return bytes.fromhex(salt)
