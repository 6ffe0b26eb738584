"""Start, first answer, models, latencies and memory of an engine, in a process of its own.

Latencies are the engine's: a suggestion is ``Engine.suggest``; an ask is ``Engine.answers``, which
searches questions and answers and has the pair model re-rank 50 candidates; ``ask_both_ms`` is
``Engine.ask``, which re-ranks 50 questions besides. ``compare`` measures two versions in turns.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from forum import Forum

SUGGESTIONS, ASKS = 400, 200
BLOCK = 10  # asks of one turn, with four suggestions each


def measure(folder: Path, questions: int) -> dict[str, Any]:
    """What ``probe`` finds in a new process."""
    command = [sys.executable, __file__, str(folder), str(questions)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout)


def probe(folder: Path, questions: int) -> dict[str, Any]:
    """Start, first answer, models, latencies, memory."""
    forum = Forum(questions)
    asked = [forum.question(questions + 1 + number)[0] for number in range(ASKS)]
    begin = time.perf_counter()  # numpy is loaded by now; everything else is not
    from askonce.engine import Engine

    with Engine.open(folder, background=True) as engine:
        engine.answers(asked[0])
        first = time.perf_counter() - begin
        while engine.status().model is None:
            time.sleep(0.02)
        model = time.perf_counter() - begin
        wait_until_idle(time.process_time)
        for text in asked[:20]:
            engine.ask(text)
        # what a person has typed of a question when the page asks
        typed = [" ".join(text.split()[:count]) for text in asked for count in (2, 4, 6, 9)][
            :SUGGESTIONS
        ]
        suggest = [timed(lambda text=text: engine.suggest(text, 5)) for text in typed]
        ask = [timed(lambda text=text: engine.answers(text)) for text in asked]
        both = [timed(lambda text=text: engine.ask(text)) for text in asked]
        return {
            "first_answer_s": round(first, 3),
            "model_ready_s": round(model, 3),
            "rss_mb": round(resident_mb(), 1),
            "rss_own_mb": round(resident_mb("RssAnon"), 1),  # the rest is files, mapped
            "suggest_ms": quantiles(suggest),
            "ask_ms": quantiles(ask),
            "ask_both_ms": quantiles(both),
        }


def compare(trees: Mapping[str, Path], questions: int, scratch: Path) -> dict[str, Any]:
    """Processor milliseconds per call of each version, and the median ratio of the turns."""
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in trees}
    with ExitStack() as stack:
        probes = {
            name: stack.enter_context(taking_turns(tree, scratch / f"{name}.askonce", questions))
            for name, tree in trees.items()
        }
        for block in range(ASKS // BLOCK):
            order = list(probes) if block % 2 else list(probes)[::-1]
            for name in order:
                turns[name].append(turn(probes[name], block))
    calls = turns["this"][0]
    medians = {
        name: {call: round(statistics.median(one[call] for one in ones), 2) for call in calls}
        for name, ones in turns.items()
    }
    both = list(zip(turns["this"], turns["other"], strict=True))
    ratios = {call: statistics.median(a[call] / b[call] for a, b in both) for call in calls}
    return {
        "processor_ms": medians,
        "this_by_other": {call: round(ratio, 3) for call, ratio in ratios.items()},
    }


@contextmanager
def taking_turns(tree: Path, folder: Path, questions: int) -> Iterator[subprocess.Popen[str]]:
    """A process with an engine of a version, over an archive that this version has made."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    script = Path(__file__)
    make = [sys.executable, script.with_name("forum_archive.py"), folder, str(questions)]
    subprocess.run(make, check=True, env=environment, stdout=sys.stderr)
    command = [sys.executable, script, str(folder), str(questions), "turns"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        yield process
        if process.stdin:
            process.stdin.close()


def turn(process: subprocess.Popen[str], block: int) -> dict[str, float]:
    """Let a process answer one block of questions; processor milliseconds per call."""
    if process.stdin is None or process.stdout is None:
        raise SystemExit("the probe has no pipes")
    process.stdin.write(f"{block}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def answer_turns(folder: Path, questions: int) -> None:
    """Answer the blocks whose numbers come in on stdin."""
    from askonce.engine import Engine

    forum = Forum(questions)
    asked = [forum.question(questions + 1 + number)[0] for number in range(ASKS)]
    with Engine.open(folder, background=True) as engine:
        while engine.status().model is None:
            time.sleep(0.02)
        wait_until_idle(time.process_time)
        for text in asked[:BLOCK]:
            engine.suggest(text, 5)
            engine.ask(text)
        for line in sys.stdin:
            texts = asked[int(line) * BLOCK :][:BLOCK]
            typed = [" ".join(text.split()[:count]) for text in texts for count in (2, 4, 6, 9)]
            calls = {
                "suggest": [lambda text=text: engine.suggest(text, 5) for text in typed],
                "ask": [lambda text=text: engine.answers(text) for text in texts],
                "ask_both": [lambda text=text: engine.ask(text) for text in texts],
            }
            print(json.dumps({name: processor_ms(tasks) for name, tasks in calls.items()}))
            sys.stdout.flush()


def wait_until_idle(processor_seconds: Callable[[], float], most: float = 300) -> None:
    """Until posts are read in the background: two seconds with little processor time."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        before = processor_seconds()
        time.sleep(2)
        if processor_seconds() - before < 0.2:
            return


def processor_ms(tasks) -> float:  # noqa: ANN001 - functions without arguments
    """Processor milliseconds per call, of all threads."""
    begin = time.process_time()
    for task in tasks:
        task()
    return 1000 * (time.process_time() - begin) / len(tasks)


def timed(task) -> float:  # noqa: ANN001 - a function without arguments
    """Milliseconds of one call."""
    begin = time.perf_counter()
    task()
    return 1000 * (time.perf_counter() - begin)


def quantiles(values: list[float]) -> dict[str, float]:
    """The median and the time that one call in twenty exceeds."""
    return {
        "p50": round(float(np.quantile(values, 0.5)), 2),
        "p95": round(float(np.quantile(values, 0.95)), 2),
    }


def resident_mb(which: str = "VmRSS") -> float:
    """Memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(which)) / 1024


if __name__ == "__main__":
    if sys.argv[3:] == ["turns"]:
        answer_turns(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        print(json.dumps(probe(Path(sys.argv[1]), int(sys.argv[2]))))
