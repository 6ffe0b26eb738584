"""Jobs in processes: several at a time, in order of need, one failure not stopping the rest."""

import time
from functools import partial

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
        Job("a", partial(str, "fine")),
        Job("left", partial(str, "never"), skip=lambda: "it is late"),
    ]
    said: list[str] = []
    failed = run_jobs(jobs, 2, said.append)
    assert failed == {
        "bad": "no such thing",
        "follower": "needs bad",
        "worse": "ValueError: no such thing",
    }
    names = [line.partition(":")[0] for line in said]
    assert names.index("a") < names.index("c")
    assert "left: left out, it is late" in said
    assert "Traceback" in capfd.readouterr().err


def test_jobs_run_side_by_side():
    begin = time.monotonic()
    assert not run_jobs([Job(str(n), partial(_sleep, 2.0)) for n in range(3)], 3, lambda line: None)
    assert time.monotonic() - begin < 6


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"
