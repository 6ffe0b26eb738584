"""Where the processor time of a question goes.

    python benchmarks/where.py --posts 17000 --folder F --json F

Asks an engine on a generated forum with untrained models and random vectors, all in one thread:
first alone, so that nothing distorts the time of a question, then with a profiler, which shows the
share of each part. The profiler makes Python code look slower than torch, SQLite and tantivy.
"""

import argparse
import cProfile
import json
import os
import pstats
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

from forum import Forum
from forum_archive import make

# functions whose time, with all that they call, is a part; the reading for hits is in two parts
PARTS = {
    "BM25": (("lexical.py", "search"), ("lexical.py", "score")),
    "vectors": (("pipeline.py", "_ask_vectors"), ("vectors.py", "score_key")),
    "pair model": (("ranker.py", "predict"),),
    "database": tuple(
        ("store.py", name)
        for name in ("change", "posts", "titles", "answer_marks", "duplicates_of", "originals")
    ),
    "hits": (("hits.py", "similar_hits"), ("hits.py", "answer_hits"), ("hits.py", "lent_scores")),
}


Call = Callable[[Sequence[str]], object]


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--posts", type=int, default=17_000, help="questions of the forum")
    parser.add_argument("--folder", type=Path, help="keep the archive here, and use it again")
    parser.add_argument("--batch", type=int, default=8, help="questions asked together")
    parser.add_argument("--warm", type=int, default=25, help="batches before")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--typing", default="typed", help="ranker of suggestions")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "forum.askonce"
        make(folder, options.posts, Path(scratch), encode=False)
        result = measure(folder, options)
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def measure(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    """Processor time of asks and suggestions, then the shares of their parts."""
    from askonce.engine import Engine

    forum = Forum(options.posts)
    numbers = iter(range(options.posts + 1, options.posts + 10**6))
    with Engine.open(folder) as engine:
        calls = {
            "ask": engine.ask_many,
            "suggestion": lambda texts: engine.similar_many(texts, 5, options.typing),
        }
        result: dict[str, object] = {"posts": options.posts, "batch": options.batch}
        for name, call in calls.items():

            def run(batches: int, call: Call = call) -> float:
                texts = [
                    [forum.question(next(numbers))[0] for _ in range(options.batch)]
                    for _ in range(batches)
                ]
                before = time.process_time()
                for batch in texts:
                    call(batch)
                return 1000 * (time.process_time() - before) / (batches * options.batch)

            first, _ = run(1), run(options.warm)
            milliseconds = run(options.batches)
            profile = cProfile.Profile(time.process_time)
            profile.runcall(run, options.batches)
            result[name] = {
                "processor_ms": {"first": round(first, 1), "warm": round(milliseconds, 1)},
                "shares": shares(pstats.Stats(profile)),
            }
    return result


def shares(stats: pstats.Stats) -> dict[str, float]:
    """The share of each part."""
    functions = stats.stats
    whole = sum(row[3] for key, row in functions.items() if key[2] in ("ask_many", "similar_many"))
    parts = {
        name: sum(row[3] for key, row in functions.items() if _matches(key, part)) / whole
        for name, part in PARTS.items()
    }
    return {name: round(share, 3) for name, share in parts.items()}


def _matches(key: tuple[str, int, str], part: tuple[tuple[str, str], ...]) -> bool:
    return "askonce" in key[0] and (Path(key[0]).name, key[2]) in part


if __name__ == "__main__":
    main()
