"""Log a fault that repeats once a minute, whatever a client does."""

import logging
import time
from collections.abc import Callable

SECONDS = 60.0
LOGGERS = ("askonce.server", "asyncio", "uvicorn.error")
MOST = 1000  # kinds of faults in memory


class OncePerMinute(logging.Filter):
    """Lets one record of each kind through in a minute; the next one says how many were left out.

    A kind is a message before its values are filled in, with the type of its exception.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._logged: dict[tuple[object, ...], tuple[float, int]] = {}  # when, left out since

    def filter(self, record: logging.LogRecord) -> bool:
        fault = record.exc_info[0] if record.exc_info else None
        kind = (record.name, record.levelno, record.msg, fault)
        now = self._clock()
        logged, left_out = self._logged.get(kind, (-SECONDS, 0))
        if now - logged < SECONDS:
            self._logged[kind] = (logged, left_out + 1)
            return False
        if len(self._logged) >= MOST:
            self._logged.clear()
        self._logged[kind] = (now, 0)
        if left_out:
            record.msg = f"{record.msg} (and {left_out} more since the last such line)"
        return True


def limit_logs() -> None:
    """Limit the records of the server's loggers."""
    limit = OncePerMinute()
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(known, OncePerMinute) for known in logger.filters):
            logger.addFilter(limit)
