"""What the starter is worth without training: MAP beside BM25 and a teacher.

``python benchmarks/starter.py [--data FOLDER] [--file STARTER] [--teacher minilm]``: the duplicates
of the built-in archive, found as ``askonce train`` measures them, and dev of datasets. Fusions are
sums of z-scores with equal weights; nothing is chosen.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from askonce.archive.open import open_archive
from askonce.baselines.base import Material
from askonce.baselines.lexical import BM25
from askonce.data.benchmarks import load_dataset
from askonce.evaluation import bootstrap_interval, evaluate, pools_to_qrels, pools_to_run
from askonce.index.base import KeyEncoder
from askonce.ranking.fusion import fuse
from askonce.ranking.manifest import Serving
from askonce.teachers import Teacher, load_teacher
from askonce.teachers.starter import Starter, load_starter
from askonce.training.archive.selection.compare import average_precision
from askonce.training.archive.selection.held_out import EncodedPosts, HeldOut
from askonce.training.archive.tasks.labels import ArchiveLabels
from askonce.training.archive.tasks.pools import question_task
from askonce.types import Post

HALF = {"bm25": 0.5, "vectors": 0.5}
Figures = dict[str, np.ndarray]  # system -> average precision of each question


class Keys(KeyEncoder):
    """A teacher's vectors as keys of an index."""

    def __init__(self, teacher: Teacher) -> None:
        self.name, self._teacher = teacher.name, teacher

    def query_keys(self, texts: list[str]) -> np.ndarray:
        return self._teacher.encode(texts)

    def candidate_keys(self, posts: list[Post]) -> np.ndarray:
        return self._teacher.encode([post.text for post in posts])


def built_in(encoders: dict[str, Teacher]) -> Figures:
    """The marked duplicates of all splits, each among the questions up to its split."""
    task = question_task(ArchiveLabels.of(open_archive("bicycles").snapshot()))
    precisions: dict[str, list[float]] = {}
    for split in ("train", "dev", "test"):
        held_out = HeldOut.of(task, split)
        right = [query.right_ids for query in held_out.queries]

        def add(system: str, serving: Serving, encoder: EncodedPosts | None = None) -> None:
            ranked = held_out.rank(held_out.pipeline(serving, encoder), held_out.queries)  # noqa: B023
            precisions.setdefault(system, []).extend(map(average_precision, ranked, right))  # noqa: B023

        add("bm25", Serving())
        for name, teacher in encoders.items():
            keys = Keys(teacher)
            posts = EncodedPosts(name, name, keys, keys.candidate_keys(task.posts))
            add(name, Serving(weights={"vectors": 1.0}), posts)
            add(f"{name}+bm25", Serving(weights=HALF), posts)
    return {system: np.array(values) for system, values in precisions.items()}


def dataset_dev(name: str, data: Path, encoders: dict[str, Teacher]) -> Figures:
    """The dev pools of a dataset."""
    dataset = load_dataset(name, data)
    pools = dataset.role("dev")
    bm25 = BM25()
    bm25.fit(Material(dataset))
    lexical = [bm25.score(pool) for pool in pools]
    scores = {"bm25": lexical}
    for label, teacher in encoders.items():
        texts = {text: None for pool in pools for text in (pool.query.text, *_texts(pool))}
        rows = dict(zip(texts, teacher.encode(list(texts)), strict=True))
        own = [np.stack([rows[t] for t in _texts(p)]) @ rows[p.query.text] for p in pools]
        scores[label] = own
        scores[f"{label}+bm25"] = [
            fuse({"bm25": one, "vectors": other}, HALF)
            for one, other in zip(lexical, own, strict=True)
        ]
    qrels = pools_to_qrels(pools)
    reports = {
        system: evaluate(qrels, pools_to_run(pools, values), dataset.protocol)
        for system, values in scores.items()
    }
    return {
        system: np.array([values["MAP"] for values in r.per_query.values()])
        for system, r in reports.items()
    }


def speed(teacher: Teacher, texts: list[str], times: int = 5) -> float:
    """Texts per second of processor time, the best of several runs."""
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        teacher.encode(texts)
        seconds.append(time.process_time() - begin)
    return len(texts) / min(seconds)


def _texts(pool) -> list[str]:  # noqa: ANN001
    return [post.text for post in pool.candidates]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="Folder of datasets; without it none is read.")
    parser.add_argument("--datasets", default="travel,wikiqa")
    parser.add_argument("--file", type=Path, help="Another starter than the package's.")
    parser.add_argument("--teacher", default="", help="To compare with, such as minilm.")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    begin = time.perf_counter()
    starter = Starter.load(chosen.file) if chosen.file else load_starter()
    print(f"loaded in {1000 * (time.perf_counter() - begin):.0f} ms")
    posts = list(open_archive("bicycles").iterate())
    for kind, texts in {
        "posts": [post.text for post in posts] * 5,
        "titles": [post.title for post in posts if post.title] * 20,
    }.items():
        print(f"{speed(starter, texts):,.0f} {kind} a second")
    encoders: dict[str, Teacher] = {"starter": starter}
    if chosen.teacher:
        encoders[chosen.teacher] = load_teacher(chosen.teacher)
    tables = {"bicycles": built_in(encoders)}
    for name in chosen.datasets.split(",") if chosen.data else ():
        tables[name] = dataset_dev(name, chosen.data, encoders)
    result = {}
    for name, figures in tables.items():
        result[name] = {system: float(values.mean()) for system, values in figures.items()}
        for system, values in figures.items():
            sure = bootstrap_interval(values)
            line = f"{name:10} {system:16} {values.mean():.3f} [{sure.low:.3f}, {sure.high:.3f}]"
            print(f"{line} over {len(values)} questions")
    if chosen.json:
        chosen.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
