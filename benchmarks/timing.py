"""Time several things in turns, so that a busy moment of the machine hits all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping

Task = Callable[[], object]


def interleaved(tasks: Mapping[str, Task], repeats: int) -> dict[str, list[float]]:
    """Seconds of each task, measured ``repeats`` times in rounds after one round to warm up."""
    for task in tasks.values():
        task()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def ratio(slow: list[float], fast: list[float]) -> float:
    """How many times faster the second is: the median over rounds, each of one moment."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))
