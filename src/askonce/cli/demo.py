"""``make demo``: the built-in archive answers a few questions."""

import sys

from askonce.cli import ask
from askonce.cli.output import console

QUESTIONS = (
    "my back wheel keeps losing air overnight",
    "chain jumps when I pedal hard uphill",
    "how do I stop my bike being stolen outside the office?",
)


def main() -> None:
    """Answer the set questions (one with ``--once``), then what is typed, until an empty line."""
    from askonce.archive import BUILT_IN, open_archive
    from askonce.engine import Engine

    out = console()
    archive = open_archive(BUILT_IN)
    counts = f"{len(archive.questions)} questions, {len(archive.answers)} answers"
    out.print(f"archive {archive.name!r}: {counts}; ranking by BM25\n")
    engine = Engine(archive)
    once = "--once" in sys.argv[1:]
    for question in QUESTIONS[:1] if once else QUESTIONS:
        out.print(f"[bold cyan]? {question}[/bold cyan]")
        ask.show(engine, question, 3)
        out.print()
    if not once and sys.stdin.isatty():
        while question := input("? ").strip():
            ask.show(engine, question, 3)


if __name__ == "__main__":
    main()
