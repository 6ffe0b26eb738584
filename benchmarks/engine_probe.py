"""Start, first answer, models, latencies and memory of an engine, in a process of its own.

Latencies are the engine's: a suggestion is ``Engine.suggest``; an ask is ``Engine.answers``, which
searches questions and answers and has the pair model re-rank 50 candidates; ``ask_both_ms`` is
``Engine.ask``, which re-ranks 50 questions besides.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from forum import Forum

SUGGESTIONS, ASKS = 400, 200


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
    print(json.dumps(probe(Path(sys.argv[1]), int(sys.argv[2]))))
