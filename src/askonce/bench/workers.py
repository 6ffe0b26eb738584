"""Run jobs in processes of their own, several at a time; one that fails does not stop the others.

Each job gets a process of its own, so that its peak memory can be measured, and a pool of its own:
a killed process breaks its whole ``ProcessPoolExecutor``.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for_sentinel

from askonce.errors import AskonceError

Work = Callable[[], str]  # picklable; returns a line for the user
Ending = tuple[bool, str]  # success, and a line for the user


@dataclass(frozen=True)
class Job:
    """Work to do, its name, and the names of jobs that must finish first."""

    name: str
    work: Work
    after: tuple[str, ...] = ()
    skip: Callable[[], str | None] = lambda: None  # called just before the start: a reason to skip


def run_jobs(jobs: Sequence[Job], workers: int, say: Callable[[str], None]) -> dict[str, str]:
    """Run all jobs; returns the reasons of those that failed."""
    waiting, failed = list(jobs), dict[str, str]()
    done: set[str] = set()
    running: dict[Future[Ending], tuple[Job, ProcessPoolExecutor]] = {}
    others = set(multiprocessing.active_children())
    try:
        while waiting or running:
            for job in _startable(waiting, done, failed, workers - len(running)):
                waiting.remove(job)
                if reason := job.skip():
                    say(f"{job.name}: left out, {reason}")
                    done.add(job.name)
                else:
                    context = multiprocessing.get_context("spawn")
                    pool = ProcessPoolExecutor(1, context, _start_child, max_tasks_per_child=1)
                    running[pool.submit(_run, job.work)] = job, pool
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, pool = running.pop(future)
                success, line = _ending(future)
                pool.shutdown()
                done.add(job.name)
                if not success:
                    failed[job.name] = line
                say(f"{job.name}: {line} [{len(done)} of {len(jobs)}]")
    finally:
        if running:  # interrupted: the executor itself would wait for its jobs
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
    return failed


def run_here(jobs: Sequence[Job], say: Callable[[str], None]) -> dict[str, str]:
    """Run jobs one after another in this process, in the given order; failures are raised."""
    for job in jobs:
        reason = job.skip()
        say(f"{job.name}: " + (f"left out, {reason}" if reason else job.work()))
    return {}


def _startable(waiting: list[Job], done: set[str], failed: dict[str, str], free: int) -> list[Job]:
    """The first jobs whose needs are met; those that need a failed job fail too."""
    for job in list(waiting):
        if lost := [name for name in job.after if name in failed]:
            failed[job.name] = f"needs {lost[0]}"
            done.add(job.name)
            waiting.remove(job)
    ready = [job for job in waiting if done.issuperset(job.after)]
    return ready[: max(free, 0)]


def _start_child() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its jobs
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed bench leaves no process behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for_sentinel([parent.sentinel])
        os._exit(1)


def _run(work: Work) -> Ending:
    """In the child: errors become lines, since not every exception can be pickled."""
    try:
        return True, work()
    except AskonceError as error:
        return False, str(error)
    except Exception as error:
        traceback.print_exc()
        return False, f"{type(error).__name__}: {error}"


def _ending(future: Future[Ending]) -> Ending:
    try:
        return future.result()
    except BrokenProcessPool:
        return False, "its process was killed; it may have run out of memory"
