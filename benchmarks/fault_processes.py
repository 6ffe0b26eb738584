"""Processes that are forked, tell of each write that was acknowledged, and are killed."""

import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

LOG = os.memfd_create("log")  # of all processes
SLOWEST = 120.0  # seconds that any process may take

Task = Callable[[int], None]  # gets the end of a pipe to tell of each acknowledged write


@dataclass(frozen=True)
class Outcome:
    """How a process ended, and how many of its writes it said were acknowledged."""

    acknowledged: int
    killed: bool
    code: int
    seconds: float  # from where the moment of the kill is counted

    @property
    def whole(self) -> bool:
        """Whether it ended by itself and well."""
        return not self.killed and self.code == 0


@dataclass(frozen=True)
class Process:
    """A forked process, and the pipe through which it tells of acknowledged writes."""

    number: int
    journal: int

    def until_killed(
        self, after: float, begins: int = 0, instead: "Process | None" = None
    ) -> Outcome:
        """Kill it, or ``instead``, ``after`` seconds after it acknowledged ``begins`` writes."""
        acknowledged = self._wait_for(begins)
        target, begin = instead or self, time.monotonic()
        while time.monotonic() - begin < after and not target.ended() and not self.ended():
            time.sleep(min(0.002, after))
        seconds = time.monotonic() - begin
        mine = self.ended()
        if seconds > SLOWEST and not mine:
            raise SystemExit("a process does not end")
        killed, code = False, 0
        if instead is not None and mine:  # the client is done before its server was killed
            instead.end(signal.SIGTERM)
            code = instead.code()
        else:
            killed, code = target.end(signal.SIGKILL), target.code()
            self.code() if instead is not None else 0
        acknowledged += self._rest()
        return Outcome(acknowledged, killed, 0 if killed else code, seconds)

    def ended(self) -> bool:
        """Whether it has ended; its exit code can still be read."""
        return os.waitid(os.P_PID, self.number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self, how: signal.Signals) -> bool:
        """Send a signal; whether the process was still running."""
        alive = not self.ended()
        os.kill(self.number, how)
        return alive

    def code(self) -> int:
        """Wait for its end."""
        end = time.monotonic() + SLOWEST
        while not self.ended():
            if time.monotonic() > end:
                os.kill(self.number, signal.SIGKILL)
            time.sleep(0.002)
        return os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])

    def _wait_for(self, writes: int) -> int:
        acknowledged, end = 0, time.monotonic() + SLOWEST
        while acknowledged < writes and time.monotonic() < end and not self.ended():
            if select.select([self.journal], [], [], 0.1)[0]:
                acknowledged += len(os.read(self.journal, writes - acknowledged))
        return acknowledged

    def _rest(self) -> int:
        acknowledged = 0
        while part := os.read(self.journal, 1000):
            acknowledged += len(part)
        os.close(self.journal)
        return acknowledged


def last_line() -> str:
    """What a process said last."""
    said = os.pread(LOG, os.fstat(LOG).st_size, 0).decode(errors="replace")
    return (said.strip().splitlines() or [""])[-1]


def started(task: Task) -> Process:
    """Run a task in a process of its own; what it says is kept aside."""
    end, journal = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(end)
        code = 1
        try:
            for stream in (1, 2):
                os.dup2(LOG, stream)
            task(journal)
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(code)
    os.close(journal)
    return Process(number, end)


def in_process(task: Callable[[], object]):  # noqa: ANN201 - what the task returns
    """The result of a task that runs in a process of its own."""
    end, journal = os.pipe()
    number = os.fork()
    if number == 0:
        try:
            with os.fdopen(journal, "wb") as stream:
                pickle.dump(task(), stream)
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(journal)
    with os.fdopen(end, "rb") as stream:
        content = stream.read()
    if os.waitpid(number, 0)[1] or not content:
        raise SystemExit("a check ended with an error")
    return pickle.loads(content)
