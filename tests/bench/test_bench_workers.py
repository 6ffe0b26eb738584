"""Jobs in processes: several at a time, in order of need, one failure not stopping the rest."""

import multiprocessing
import os
import time
from functools import partial
from pathlib import Path

import pytest

from askonce.bench.workers import Job, run_jobs
from askonce.errors import AskonceError


def fail(kind: type[Exception]) -> str:
    raise kind("no such thing")


def test_what_fails_takes_only_its_followers_along(capfd):
    jobs = [
        Job("c", partial(str, "after a"), after=("a",)),
        Job("bad", partial(fail, AskonceError)),
        Job("follower", partial(str, "never"), after=("bad",)),
        Job("worse", partial(fail, ValueError)),
        Job("killed", partial(os._exit, 9)),  # as the kernel does when memory runs out
        Job("a", partial(str, "fine")),
        Job("left", partial(str, "never"), skip=lambda: "it is late"),
    ]
    said: list[str] = []
    failed = run_jobs(jobs, 2, said.append)
    assert failed == {
        "bad": "no such thing",
        "follower": "needs bad",
        "worse": "ValueError: no such thing",
        "killed": "its process was killed; it may have run out of memory",
    }
    names = [line.partition(":")[0] for line in said]
    assert names.index("a") < names.index("c")
    assert "left: left out, it is late" in said
    assert "Traceback" in capfd.readouterr().err


def interrupt(line: str) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_bench_ends_its_jobs():
    jobs = [Job("quick", partial(str, "done")), Job("long", partial(time.sleep, 600))]
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, 2, interrupt)
    for process in multiprocessing.active_children():
        process.join(60)
        assert process.exitcode is not None


def test_jobs_run_side_by_side(tmp_path):
    jobs = [Job(str(n), partial(meet, tmp_path, str(n), 3)) for n in range(3)]
    assert run_jobs(jobs, 3, lambda line: None) == {}


def meet(workspace: Path, name: str, count: int) -> str:
    """Wait for as many as there should be."""
    (workspace / name).touch()
    deadline = time.monotonic() + 120
    while len(list(workspace.iterdir())) < count:
        if time.monotonic() > deadline:
            raise AskonceError("the others did not come")
        time.sleep(0.05)
    return "met"
