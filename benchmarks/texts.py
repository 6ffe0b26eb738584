"""Real text to measure on: TrecQA lengths, and English texts of 80 words."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np

DATA = Path(os.environ.get("ASKONCE_DATA", Path(__file__).parents[2] / "shared" / "data"))

# Quantiles 0, 5, ... 100 % of the words of TRAIN-ALL's questions and answers, for machines without
# the files; `python benchmarks/texts.py` prints them from the files.
QUESTION_QUANTILES = [3, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 9, 9, 10, 10, 11, 12, 14, 33]
ANSWER_QUANTILES = [
    1,
    11,
    14,
    16,
    18,
    20,
    21,
    23,
    24,
    26,
    27,
    29,
    31,
    32,
    34,
    36,
    39,
    41,
    45,
    52,
    261,
]


def trecqa_lengths(pairs: int, seed: int = 1) -> tuple[list[int], list[int]]:
    """Lengths of questions and of answers, as TRAIN-ALL has them."""
    places = np.random.default_rng(seed).random((2, pairs))
    steps = np.linspace(0, 1, len(QUESTION_QUANTILES))
    sides = zip(places, (QUESTION_QUANTILES, ANSWER_QUANTILES), strict=True)
    question, answer = (np.interp(p, steps, q).round().astype(int) for p, q in sides)
    return question.tolist(), answer.tolist()


def english(count: int, words: int = 80) -> list[str]:
    """Texts of exactly this many words, cut from InsuranceQA answers or the built-in archive."""
    stream = " ".join(_texts()).split()
    starts = np.random.default_rng(1).integers(0, len(stream) - words, count)
    return [" ".join(stream[start : start + words]) for start in starts]


def _texts() -> list[str]:
    from askonce.data.benchmarks import load_dataset

    name = "insuranceqa" if (DATA / "insuranceqa_v2").is_dir() else "insuranceqa-package"
    if name == "insuranceqa" or find_spec("insuranceqa_data"):
        return [post.body for post in load_dataset(name, DATA).corpus]
    from askonce.archive import open_archive

    return [post.text for post in open_archive("bicycles").iterate("answer")]


if __name__ == "__main__":
    from askonce.data.benchmarks import load_dataset

    pools = load_dataset("trecqa", DATA).splits["train-all"]
    steps = np.linspace(0, 1, 21)
    questions = [len(pool.query.title.split()) for pool in pools for _ in pool.candidates]
    answers = [len(post.body.split()) for pool in pools for post in pool.candidates]
    print([int(q) for q in np.quantile(questions, steps)])
    print([int(q) for q in np.quantile(answers, steps)])
