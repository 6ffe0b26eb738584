"""How many terms of a long question BM25 needs: quality on dev, and time by the size of a forum.

    python benchmarks/query_terms.py --data DIR --json F
    python benchmarks/query_terms.py --posts 100000 --json F

The first searches all candidates of a dataset for the questions of dev, title and body, with at
most so many terms of each question, those with the largest idf times count. The second times
searches of a generated forum by questions with their bodies.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean, median

from forum import Forum

from askonce.data.benchmarks import load_dataset
from askonce.evaluation.metrics import evaluate
from askonce.evaluation.trec_files import pools_to_qrels
from askonce.index.lexical import LexicalIndex
from askonce.types import Dataset, Post

DATASETS = ("travel", "insuranceqa", "semeval-b")
LIMITS = (8, 12, 16, 24, 32, 48, 256)  # 256 words of a question are read at all
DEPTH, QUESTIONS, TIMED = 100, 500, 100


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", nargs="*", help=f"default: {', '.join(DATASETS)}")
    parser.add_argument("--data", type=Path, help="folder of the datasets")
    parser.add_argument("--posts", type=int, help="instead: time, with a forum of this size")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    result: dict[str, object] = {}
    if options.posts:
        result["milliseconds"] = times(options.posts)
    for name in options.datasets or ([] if options.posts else DATASETS):
        result[name] = quality(load_dataset(name, options.data))
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def with_terms(posts: Sequence[Post]) -> Callable[[int], LexicalIndex]:
    """One index, searched with any number of terms."""
    index = LexicalIndex()
    index.add(posts)

    def limited(terms: int) -> LexicalIndex:
        index._query_terms = terms
        return index

    return limited


def quality(dataset: Dataset) -> dict[str, object]:
    """MAP, MRR and nDCG@10 of dev for each number of terms."""
    pools = [pool for pool in dataset.role("dev") if pool.positives][:QUESTIONS]
    index, qrels = with_terms(list(dataset.posts.values())), pools_to_qrels(pools)
    figures: dict[str, object] = {
        "questions": len(pools),
        "terms": round(fmean(len(set(index(0).terms(pool.query.text))) for pool in pools), 1),
    }
    for limit in LIMITS:
        run = {}
        for pool in pools:
            hits = index(limit).search(pool.query.text, DEPTH + 1)
            run[pool.query.id] = {hit.id: hit.score for hit in hits if hit.id != pool.query.id}
        metrics = evaluate(qrels, run).metrics
        figures[str(limit)] = {name: round(metrics[name], 4) for name in ("MAP", "MRR", "nDCG@10")}
    return figures


def times(posts: int) -> dict[str, object]:
    """Milliseconds of processor time for a search by title and body."""
    forum = Forum(posts)
    numbers = range(1, posts + 1)
    index = with_terms([Post(str(n), *forum.question(n)[:2]) for n in numbers])
    questions = [" ".join(forum.question(posts + n)[:2]) for n in range(1, TIMED + 1)]
    figures: dict[str, object] = {
        "posts": posts,
        "terms": round(fmean(len(set(index(0).terms(text))) for text in questions), 1),
    }
    spent: dict[int, list[float]] = {limit: [] for limit in LIMITS}
    for text in questions:  # limits in turns, so that a busy moment meets all of them
        for limit in LIMITS:
            begin = time.process_time()
            index(limit).search(text, 50)
            spent[limit].append(1000 * (time.process_time() - begin))
    for limit, values in spent.items():
        p95 = next(islice(sorted(values), int(0.95 * len(values)), None))
        figures[str(limit)] = {"p50": round(median(values), 2), "p95": round(p95, 2)}
    return figures


if __name__ == "__main__":
    main()
