"""What an archive costs as it grows: time, disk, memory and latency at several sizes.

    python benchmarks/scale.py --posts 10000,100000,1000000 --json F
    python benchmarks/scale.py --plan 100e6 --json F

``--posts`` counts questions and answers, two to one. A size that the file holds already is not
measured again, so a run that was stopped goes on; it stops by itself after ``--minutes``. With
``--plan`` it measures nothing: it prints what that many questions need, by the figures in the file.
Forum and models are those of serve.py.
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engine_probe import measure
from forum_archive import make, sizes
from scale_plan import memory_per_million, per_million, plan

ENCODED = 2048  # posts, to see how many one core encodes in a second
MOST_GROWTH = 4.0  # of the 95th percentile of suggestions from 10⁵ to 10⁶ posts


def main() -> None:
    """Measure sizes that are not known yet, or print the plan."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--posts", default="10000,100000,1000000", help="sizes, with commas")
    parser.add_argument(
        "--json", type=Path, required=True, help="file of figures; the run adds to it"
    )
    parser.add_argument("--minutes", type=int, default=120, help="after which it stops")
    parser.add_argument(
        "--plan", type=float, help="instead: print the resources for this many questions"
    )
    options = parser.parse_args()
    known = json.loads(options.json.read_text()) if options.json.exists() else {"sizes": {}}
    if options.plan:
        print(plan(known, int(options.plan)))
        return
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(60 * options.minutes)
    sizes = known["sizes"]
    for posts in map(int, options.posts.split(",")):
        if str(posts) not in sizes:
            known["machine"] = machine()
            sizes[str(posts)] = size(posts)
            known |= growth(sizes)
            if len(sizes) > 1:
                known["memory_gb_per_million"] = memory_per_million([*sizes.values()])
            options.json.write_text(json.dumps(known, indent=2) + "\n")
    print(json.dumps(known, indent=2))


def stop(*_: object) -> None:
    """End at the time limit; finished sizes are in the file."""
    raise SystemExit("\nthe time is over; the same command goes on with the sizes that are missing")


def machine() -> dict[str, Any]:
    """Where it was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cores": os.cpu_count(), "memory_gb": round(memory / 1e9), "system": platform.machine()}


def size(posts: int) -> dict[str, Any]:
    """All figures of one size."""
    questions, begin = round(posts * 2 / 3), time.monotonic()

    def tell(step: str) -> None:
        print(f"{time.monotonic() - begin:6.0f} s  {posts:,} posts: {step}", file=sys.stderr)

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "forum.askonce"
        figures: dict[str, Any] = make(folder, questions, Path(scratch), tell)
        figures["disk"] = sizes(folder)
        tell("encoding")
        figures |= encoding(folder)
        tell("asking")
        figures |= measure(folder, questions)
    figures["per_million"] = per_million(figures)
    return figures


def encoding(folder: Path) -> dict[str, float]:
    """Posts that one core encodes in a second, questions and answers in their proportion."""
    import torch

    from askonce.archive import Archive
    from askonce.engine.lifecycle.loading import load_coder
    from askonce.ranking.manifest import current, read_manifest

    torch.set_num_threads(1)
    models, archive = current(folder), Archive.open(folder)
    manifest, seconds, bytes_ = read_manifest(models), 0.0, 0.0
    for kind, serving, share in (
        ("question", manifest.questions, 2 / 3),
        ("answer", manifest.answers, 1 / 3),
    ):
        coder = load_coder(serving.encoder, models)
        posts = [post for post, _ in zip(archive.iterate(kind), range(ENCODED), strict=False)]
        coder.candidate_keys(posts[:64])  # warms up
        begin = time.perf_counter()
        keys = coder.candidate_keys(posts)  # (n, K)
        seconds += share * (time.perf_counter() - begin) / len(posts)
        bytes_ += share * keys.nbytes / len(posts)
    archive.close()
    return {"encoded_per_core_s": round(1 / seconds, 1), "key_bytes": round(bytes_, 1)}


def growth(known: dict[str, Any]) -> dict[str, Any]:
    """How the 95th percentile of suggestions grows from 10⁵ to 10⁶ posts, once both are known."""
    if not {"100000", "1000000"} <= known.keys():
        return {}
    small, large = (known[name]["suggest_ms"]["p95"] for name in ("100000", "1000000"))
    grown = round(large / small, 2)
    return {"suggest_p95_growth": grown, "passed": grown < MOST_GROWTH}


if __name__ == "__main__":
    main()
