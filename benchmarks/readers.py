"""Questions and posts per second of every reader on a dataset, in one interleaved run.

    python benchmarks/readers.py DATASET --data FOLDER --store STORE [--questions 40]

Processor seconds are counted on one thread, so other work on the machine changes little. A question
is read and compared with a pool whose posts have been read; a cross-encoder reads the pool. Rankers
are those of the store. The figures go to STORE/DATASET/speeds.json, for `askonce report`.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from askonce.bench.report.gains import STOCK
from askonce.bench.store import SPEEDS, Store, write_json
from askonce.data.benchmarks import load_dataset
from askonce.index.lexical import LexicalIndex
from askonce.ranker import Ranker
from askonce.teachers.starter import load_starter
from askonce.teachers.teacher import SentenceTeacher
from askonce.types import Post, candidates

MPNET = "sentence-transformers:all-mpnet-base-v2"
POSTS = 64  # read to measure how fast posts are read
ROUNDS = 3
PAIRS = 8  # of a pool, that a cross-encoder reads; the rest is extrapolated

Ask = Callable[[str], object]
Read = Callable[[Sequence[Post]], object]


def cpu(task: Callable[[], object]) -> float:
    """Processor seconds of a task."""
    begin = time.process_time()
    task()
    return time.process_time() - begin


def by_encoder(encode: Callable[[Sequence[str]], np.ndarray], pool: int) -> tuple[Ask, Read]:
    """How an encoder answers a question, given the vectors of a pool, and reads posts."""
    size = encode(["a word"]).shape[1]
    vectors = np.random.default_rng(1).normal(size=(pool, size)).astype(np.float32)
    return (
        lambda question: vectors @ encode([question])[0],
        lambda posts: encode([post.text for post in posts]),
    )


def bend(teacher: SentenceTeacher, ranker: Ranker) -> Callable[[Sequence[str]], np.ndarray]:
    """A teacher without its cache, and the adapter's map."""
    bends = ranker.model.get_submodule("bends")

    def encode(texts: Sequence[str]) -> np.ndarray:
        with torch.inference_mode():
            bent: torch.Tensor = next(bends.children())(torch.from_numpy(teacher.encode(texts)))
            return bent.numpy()

    return encode


def readers(
    dataset: str, store: Store, posts: Sequence[Post], pool: int
) -> dict[str, tuple[Ask, Read | None]]:
    """The readers of the store's rows: how each answers a question, and how it reads posts."""
    lexical = LexicalIndex()
    lexical.add(posts)
    ids = [post.id for post in posts[:pool]]
    minilm = SentenceTeacher("minilm")
    ways: dict[str, tuple[Ask, Read | None]] = {
        "bm25": (lambda text: lexical.score(text, ids), lambda batch: LexicalIndex().add(batch)),
        "starter": by_encoder(load_starter().encode, pool),
        "minilm": by_encoder(minilm.encode, pool),
        STOCK: by_encoder(
            lambda texts: minilm.model.encode(
                list(texts), show_progress_bar=False, normalize_embeddings=True
            ),
            pool,
        ),
    }
    mpnet = SentenceTeacher("all-mpnet-base-v2") if store.cell(dataset, MPNET, 1) else None
    if mpnet is not None:
        ways[MPNET] = by_encoder(mpnet.encode, pool)
    teachers = {"student": None, "hyperqa": None, "adapter": minilm, "adapter-mpnet": mpnet}
    for name, teacher in teachers.items():
        cell = store.cell(dataset, name, 1)
        if cell is None or cell.ranker is None:
            continue
        ranker = Ranker.load(cell.ranker)
        encode = bend(teacher, ranker) if teacher else lambda t, own=ranker: own.encode(list(t))
        ways[name] = by_encoder(encode, pool)
    if store.cell(dataset, "cross-encoder", 1):
        ways["cross-encoder"] = (_cross(minilm, posts), None)
    return ways


def _cross(teacher: SentenceTeacher, posts: Sequence[Post]) -> Ask:
    """A MiniLM that reads each pair: as long as reading question and post as one text."""
    return lambda question: teacher.encode([f"{question} {post.text}" for post in posts[:PAIRS]])


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=40)
    given = parser.parse_args()
    torch.set_num_threads(1)
    store, dataset = Store(given.store), load_dataset(given.dataset, given.data)
    pools = dataset.splits[next(reversed(dataset.splits))]
    pool = max(len(one.candidates) for one in pools)
    every = list({post.id: post for post in candidates(pools)}.values())
    questions = [one.query.text for one in islice(pools, given.questions)]
    ways = readers(given.dataset, store, every, pool)
    asking: dict[str, list[float]] = {name: [] for name in ways}
    reading: dict[str, list[float]] = {name: [] for name in ways}
    for ask, _ in ways.values():
        ask(questions[0])  # warm up
    sample = every[:: max(1, len(every) // POSTS)][:POSTS]
    for _ in range(ROUNDS):
        for name, (ask, read) in ways.items():
            asking[name].append(cpu(lambda ask=ask: [ask(text) for text in questions]))
            if read is not None:
                reading[name].append(cpu(lambda read=read: read(sample)))
    speeds: dict[str, dict[str, float]] = {"posts": {"count": len(dataset.posts)}}
    for name in ways:
        pairs = pool / PAIRS if name == "cross-encoder" else 1
        speeds[name] = {
            "queries_per_second": round(len(questions) / (pairs * min(asking[name])), 1),
            **(
                {"texts_per_second": round(len(sample) / min(reading[name]), 1)}
                if reading[name]
                else {}
            ),
        }
    write_json(store.folder / given.dataset / SPEEDS, speeds)
    for name, speed in speeds.items():
        print(name, speed)


if __name__ == "__main__":
    main()
