"""How fast an archive of any size imports, starts and answers.

    python benchmarks/serve.py --posts 170000 --json F [--folder DIR]
    python benchmarks/serve.py --posts 17000 --compare TREE    # another version's checkout

``--posts`` counts questions; each second one has an answer besides. The forum comes from a seeded
grammar, the models are untrained (see forum_archive.py); latencies are the engine's (see
engine_probe.py). ``--compare`` lets this version and another one answer the same questions in
turns, and reports processor time, which hardly depends on what else the machine does.
"""

import argparse
import json
import tempfile
from pathlib import Path

from engine_probe import compare, measure
from forum_archive import make


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--posts", type=int, default=17_000, help="questions of the forum")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--folder", type=Path, help="keep the archive here, and use it again")
    parser.add_argument("--compare", type=Path, help="root of another version's sources")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch) / "forum.askonce"
        if options.compare:
            trees = {"this": Path(__file__).parents[1], "other": options.compare}
            result = {"posts": options.posts, **compare(trees, options.posts, Path(scratch))}
        else:
            result = {"posts": options.posts, **make(folder, options.posts, Path(scratch))}
            result |= measure(folder, options.posts)
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
