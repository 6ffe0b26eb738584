"""How fast an archive of any size imports, starts and answers.

    python benchmarks/serve.py --posts 170000 --json F [--folder DIR]

``--posts`` counts questions; each second one has an answer besides. The forum comes from a seeded
grammar. The models are those that ``askonce train`` makes, untrained: speed does not depend on
their weights.
Latencies are the engine's: a suggestion is ``Engine.suggest``; an ask is ``Engine.answers``, which
searches questions and answers and has the pair model re-rank 50 candidates; ``ask_both_ms`` is
``Engine.ask``, which re-ranks 50 questions besides.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from forum import Forum

SUGGESTIONS, ASKS = 400, 200


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--posts", type=int, default=17_000, help="questions of the forum")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--folder", type=Path, help="keep the archive here, and use it again")
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.probe:
        print(json.dumps(probe(options.folder, options.posts)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "forum.askonce"
        result = {"posts": options.posts, **make(folder, options.posts, Path(scratch))}
        command = [sys.executable, __file__, "--probe", "--folder", folder, "--posts"]
        ran = subprocess.run([*command, str(options.posts)], stdout=subprocess.PIPE, check=True)
        result |= json.loads(ran.stdout)
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def make(folder: Path, questions: int, scratch: Path) -> dict[str, float]:
    """Import the forum, index it, leave models in it; what each of these took."""
    found: dict[str, float] = {}
    if not folder.exists():
        dump = scratch / "dump"
        dump.mkdir()
        posts = Forum(questions).write(dump)
        begin = time.perf_counter()
        askonce("import", "stackexchange", dump, "--into", folder)
        found["import_posts_per_s"] = round(posts / (time.perf_counter() - begin), 1)
        found["all_posts"] = posts
        begin = time.perf_counter()
        askonce("index", folder)
        found["lexical_index_s"] = round(time.perf_counter() - begin, 2)
        models(folder)
        begin = time.perf_counter()
        askonce("index", folder)
        found["vector_index_s"] = round(time.perf_counter() - begin, 2)
    found["disk_mb"] = round(
        sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6, 1
    )
    return found


def askonce(*words: object) -> None:
    """Run a command of the program as a user would."""
    command = [sys.executable, "-m", "askonce", *map(str, words)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def models(folder: Path) -> None:
    """Leave untrained models as a training would."""
    from askonce.archive import Archive
    from askonce.ranker import Ranker
    from askonce.serving.manifest import Manifest, Serving, new_folder, write_manifest
    from askonce.text.lexicon import Lexicon
    from askonce.training.archive_recipes import ENCODERS, PAIR

    archive = Archive.open(folder)
    lexicon = Lexicon.build(archive.iterate(), min_count=2)
    vectors = np.random.default_rng(1).normal(0, 0.1, (len(lexicon.vocabulary), 100))
    home = new_folder(folder)

    def leave(name: str, recipe: Mapping[str, Any]) -> str:
        settings = dict(recipe["model"])
        own = replace(lexicon, max_words=recipe.get("text", {}).get("max_words"))
        ranker = Ranker.create(settings.pop("name"), own, vectors.astype(np.float32), settings)
        ranker.save(home / name)
        return name

    pair, weights = leave("pair", PAIR), {"bm25": 1.0, "vectors": 0.5, "pair": 0.5}
    serving = [
        Serving(leave(task, ENCODERS[task]), pair, weights=weights)
        for task in ("questions", "answers")
    ]
    write_manifest(home, Manifest("2026-01-01T00:00:00+00:00", *serving))
    archive.close()


def probe(folder: Path, questions: int) -> dict[str, object]:
    """In a process of its own: start, first answer, models, latencies, memory."""
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


def resident_mb() -> float:
    """Memory of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


if __name__ == "__main__":
    main()
