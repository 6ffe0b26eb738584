"""Run jobs in processes of their own, several at a time; one that fails does not stop the others.

A process per job, so that its peak memory is its own.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from askonce.errors import AskonceError

Work = Callable[[], str]  # must be picklable; returns a line for the reader


@dataclass(frozen=True)
class Job:
    """Something to do, its name, and the names of jobs that must be done before."""

    name: str
    work: Work
    after: tuple[str, ...] = ()
    skip: Callable[[], str | None] = lambda: None  # asked at the last moment: a reason to leave it


def run_jobs(jobs: Sequence[Job], workers: int, say: Callable[[str], None]) -> dict[str, str]:
    """Run all jobs; returns what went wrong, by job."""
    waiting, failed = list(jobs), dict[str, str]()
    done: set[str] = set()
    running: dict[object, tuple[Job, Connection, BaseProcess]] = {}
    try:
        while waiting or running:
            for job in _startable(waiting, done, failed, workers - len(running)):
                waiting.remove(job)
                if reason := job.skip():
                    say(f"{job.name}: left out, {reason}")
                    done.add(job.name)
                    continue
                connection, process = _start(job)
                running[connection] = job, connection, process
            if not running:
                continue
            for ready in wait([connection for _, connection, _ in running.values()]):
                job, connection, process = running.pop(ready)
                right, line = _result(connection, process)
                done.add(job.name)
                if not right:
                    failed[job.name] = line
                say(f"{job.name}: {line} [{len(done)} of {len(jobs)}]")
    finally:
        for _, _, process in running.values():
            process.terminate()
    return failed


def run_here(jobs: Sequence[Job], say: Callable[[str], None]) -> dict[str, str]:
    """Run jobs one after another in this process, in the given order; failures are raised."""
    for job in jobs:
        reason = job.skip()
        say(f"{job.name}: " + (f"left out, {reason}" if reason else job.work()))
    return {}


def _startable(
    waiting: list[Job], done: set[str], failed: dict[str, str], places: int
) -> list[Job]:
    """The first jobs whose needs are met; those that need what failed fail too."""
    for job in list(waiting):
        if lost := [name for name in job.after if name in failed]:
            failed[job.name] = f"needs {lost[0]}"
            done.add(job.name)
            waiting.remove(job)
    ready = [job for job in waiting if done.issuperset(job.after)]
    return ready[: max(places, 0)]


def _start(job: Job) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(job.work, theirs), daemon=True)
    process.start()
    theirs.close()
    return ours, process


def _child(work: Work, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the bench ends its jobs
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        connection.send((True, work()))
    except AskonceError as error:
        connection.send((False, str(error)))
    except Exception as error:
        traceback.print_exc()
        connection.send((False, f"{type(error).__name__}: {error}"))
    sys.stderr.flush()


def _end_with_parent() -> None:
    """A killed bench leaves no process behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _result(connection: Connection, process: BaseProcess) -> tuple[bool, str]:
    try:
        result: tuple[bool, str] = connection.recv()
    except EOFError:  # killed, out of memory
        process.join()
        result = False, f"the process ended with code {process.exitcode}"
    process.join()
    connection.close()
    return result
