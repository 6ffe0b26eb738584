"""The operator's options by name, stored as JSON."""

import json
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, select

from askonce.archive.tables import options

Connect = Callable[[], AbstractContextManager[Connection]]
SALT = "salt"
IMPORTING = "importing"  # the import that is running, or was interrupted


class Options:
    """A few settings that belong to the archive rather than to a server."""

    def __init__(self, reading: Connect, writing: Connect) -> None:
        self._reading, self._writing = reading, writing

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - any JSON value
        query = select(options.c.value).where(options.c.name == name)
        with self._reading() as connection:
            value = connection.execute(query).scalar()
        return default if value is None else json.loads(value)

    def set(self, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        with self._writing() as connection:
            connection.execute(options.delete().where(options.c.name == name))
            row = {"name": name, "value": json.dumps(value, ensure_ascii=False)}
            connection.execute(options.insert(), row)

    def salt(self) -> bytes:
        """The archive's own salt for hashes of visitors; made on first use."""
        salt = self.get(SALT)
        if salt is None:
            with self._writing() as connection:
                query = select(options.c.value).where(options.c.name == SALT)
                stored = connection.execute(query).scalar()
                salt = json.loads(stored) if stored is not None else secrets.token_hex(32)
                if stored is None:
                    row = {"name": SALT, "value": json.dumps(salt)}
                    connection.execute(options.insert(), row)
        return bytes.fromhex(salt)
