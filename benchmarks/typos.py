"""What survives a typo: the rank of the original, for duplicates with a wrong letter.

    python benchmarks/typos.py [bicycles] --json F

In each marked duplicate's title one word of five letters or more, the rarest that its original
shares, gets one seeded typo (a letter dropped, doubled, replaced, or two swapped) that makes it a
word the archive lacks. BM25 searches without and with forgiving typos.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from askonce.archive import Snapshot, open_archive
from askonce.index.lexical import LexicalIndex
from askonce.text.tokenise import tokenise
from askonce.types import Post

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DEPTH = 50


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archive", nargs="?", default="bicycles")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    snapshot = open_archive(options.archive).snapshot()
    text = json.dumps(measure(snapshot, options.seeds), indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def measure(snapshot: Snapshot, seeds: int) -> dict[str, object]:
    """MRR of the original: as written, with typos, with typos forgiven."""
    posts = list(snapshot.questions.values())
    known = {word for post in posts for word in tokenise(post.text)}
    plain, forgiving = LexicalIndex(), LexicalIndex(forgiving=True)
    for index in (plain, forgiving):
        index.add(posts)
    marked = [
        (post, original_of(snapshot, post)) for post in posts if snapshot.duplicate_of(post.id)
    ]
    written, typed, forgiven = [], [], []
    for seed in range(seeds):
        rng = Random(seed)
        for post, original in marked:
            wrong = misspelt(post, original, plain, known, rng)
            if wrong is None:
                continue
            written.append(reciprocal(plain, post.title, post, original))
            typed.append(reciprocal(plain, wrong, post, original))
            forgiven.append(reciprocal(forgiving, wrong, post, original))
    return {
        "archive": snapshot.name,
        "searches": len(written),
        "seeds": seeds,
        "MRR": {
            "as written": mean(written),
            "with a typo": mean(typed),
            "with a typo, forgiven": mean(forgiven),
        },
    }


def original_of(snapshot: Snapshot, post: Post) -> Post:
    """The question that a duplicate is marked as one of, through other duplicates too."""
    while (name := snapshot.duplicate_of(post.id)) is not None:
        post = snapshot.questions[name]
    return post


def misspelt(
    post: Post, original: Post, index: LexicalIndex, known: set[str], rng: Random
) -> str | None:
    """The title with a typo in the rarest word that the original shares; None without one."""
    shared = set(tokenise(original.text))
    words = [w for w in tokenise(post.title) if len(w) >= 5 and w in shared and w.isalpha()]
    if not words:
        return None
    rarest = min(words, key=lambda word: (len(index.search(word, 1000)), word))
    for _ in range(20):
        typo = rng.choice(TYPOS)(rarest, rng)
        if typo not in known:
            return post.title.lower().replace(rarest, typo, 1)
    return None


def _dropped(word: str, rng: Random) -> str:
    at = rng.randrange(1, len(word))
    return word[:at] + word[at + 1 :]


def _doubled(word: str, rng: Random) -> str:
    at = rng.randrange(1, len(word))
    return word[:at] + word[at] + word[at:]


def _replaced(word: str, rng: Random) -> str:
    at = rng.randrange(1, len(word))
    return word[:at] + rng.choice(LETTERS) + word[at + 1 :]


def _swapped(word: str, rng: Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


TYPOS: Sequence[Callable[[str, Random], str]] = (_dropped, _doubled, _replaced, _swapped)


def reciprocal(index: LexicalIndex, query: str, post: Post, original: Post) -> float:
    """1 / rank of the original, without the duplicate itself; 0 below the depth."""
    ids = [hit.id for hit in index.search(query, DEPTH) if hit.id != post.id]
    return 1 / (ids.index(original.id) + 1) if original.id in ids else 0.0


def mean(values: Sequence[float]) -> float:
    """Rounded."""
    return round(sum(values) / len(values), 4)


if __name__ == "__main__":
    main()
