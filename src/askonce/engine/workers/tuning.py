"""Settings of a process that answers many questions."""

import ctypes
import gc
import sys

from threadpoolctl import threadpool_limits

# numbers of glibc's malloc.h, with bytes: larger blocks are mapped one by one, and a thread returns
# freed memory beyond this to the system
MALLOC_OPTIONS = {-3: 32 * 2**20, -1: 64 * 2**20}  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD

# How long a thread keeps Python's lock while another waits for it. By Python's default a query
# keeps it for 5 ms while the event loop has requests to hand to other processes. With 0.5 ms, eight
# clients get a quarter more suggestions (297 a second instead of 225), and as many asks.
SWITCH_SECONDS = 0.0005


def tune_process() -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    keep_freed_memory()
    collect_rarely()
    threadpool_limits(1, "blas")  # numpy: queries run in parallel, each on one thread


def keep_freed_memory() -> bool:
    """Let threads reuse the memory of the last query; whether the C library can.

    By default glibc returns it to the system after each matrix, and the system clears the same
    pages again for the next one.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    return all(set_option(option, size) for option, size in MALLOC_OPTIONS.items())


def collect_rarely() -> None:
    """Look for reference cycles less often than after every 700 objects.

    Requests leave few of them, and every look goes through all objects of the queries under way.
    """
    gc.set_threshold(20_000, 20, 20)
