"""How many texts of a given length one core tokenises and encodes per second; prints JSON."""

import argparse
import gzip
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from askonce.text.tokenise import tokenise
from askonce.text.vocabulary import Vocabulary


def real_words(folder: Path) -> list[str]:
    """The words of the InsuranceQA answers as they were written."""
    with gzip.open(
        folder / "insuranceqa_v2" / "answers.en.tsv.gz", "rt", encoding="utf-8"
    ) as lines:
        return [word for line in lines for word in line.split()[1:]]


def made_words(count: int, seed: int = 1) -> list[str]:
    """Words with the lengths, the frequencies and the punctuation of English prose."""
    draw = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    weights = range(len(letters), 0, -1)
    lengths = draw.choices(range(1, 12), (3, 17, 21, 16, 11, 9, 8, 6, 4, 3, 2), k=20_000)
    types = ["".join(draw.choices(letters, weights, k=length)) for length in lengths]
    words = draw.choices(types, [1 / rank for rank in range(1, len(types) + 1)], k=count)
    endings = draw.choices(["", ",", ".", "'s", "-time", "?"], (86, 5, 6, 1, 1, 1), k=count)
    return [word + ending for word, ending in zip(words, endings, strict=True)]


def rate(work: Callable[[str], object], texts: list[str], repeats: int) -> float:
    """Texts per second of processor time, in the best of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        for text in texts:
            work(text)
        best = min(best, time.process_time() - start)
    return len(texts) / best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKONCE_DATA"))
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--words", type=int, default=80)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    needed = options.texts * options.words
    real = options.data is not None and (options.data / "insuranceqa_v2").is_dir()
    words = (real_words(options.data) if real else made_words(needed))[:needed]
    texts = [" ".join(words[n : n + options.words]) for n in range(0, len(words), options.words)]
    vocabulary = Vocabulary.build(map(tokenise, texts), min_count=2)
    result = {
        "texts_per_s": round(rate(tokenise, texts, options.repeats)),
        "encoded_texts_per_s": round(
            rate(lambda text: vocabulary.encode(tokenise(text)), texts, options.repeats)
        ),
        "words_per_text": options.words,
        "texts": len(texts),
        "text": "insuranceqa answers" if real else "made",
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
