"""How fast a teacher reads, beside sentence-transformers itself, in one interleaved run.

    python benchmarks/teacher.py [--teacher minilm] [--texts 600] [--precision int8] [--json FILE]

Processor seconds are counted, not the clock, so other work on the machine changes little. Texts are
questions and answers of the built-in archive, repeated with different endings.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from askonce.archive import open_archive
from askonce.teachers.precision import Precision
from askonce.teachers.teacher import SentenceTeacher

ROUNDS = 3


def texts(count: int) -> list[str]:
    """Texts of the built-in archive."""
    snapshot = open_archive("bicycles").snapshot()
    posts = [*snapshot.questions.values(), *snapshot.answers.values()]
    return [f"{posts[n % len(posts)].text} {n // len(posts)}" for n in range(count)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--teacher", default="minilm")
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--precision", help="instead of the fastest", choices=list(Precision))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    teacher = SentenceTeacher(
        given.teacher, Precision(given.precision) if given.precision else None
    )
    reference = SentenceTeacher(given.teacher, Precision.FLOAT32)
    sample = texts(given.texts)

    def usual() -> np.ndarray:
        return reference.model.encode(sample, show_progress_bar=False, normalize_embeddings=True)

    ways = {"sentence-transformers": usual, "teacher": lambda: teacher.encode(sample)}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    vectors: dict[str, np.ndarray] = {}
    for way in ways.values():
        way()  # warm up
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begin = time.process_time()
            vectors[name] = way()
            seconds[name].append(time.process_time() - begin)
    rates = {name: len(sample) / min(values) for name, values in seconds.items()}
    cosines = (vectors["teacher"] * vectors["sentence-transformers"]).sum(1)
    result = {
        "teacher": teacher.name,
        "texts": len(sample),
        "texts_per_cpu_second": {name: round(rate, 1) for name, rate in rates.items()},
        "ratio": round(rates["teacher"] / rates["sentence-transformers"], 2),
        "lowest_cosine": round(float(cosines.min()), 5),
        "precision": teacher.precision,
    }
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
