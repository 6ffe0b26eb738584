"""Readers: what you get beside what you would have had; quality against speed and against time."""

from askonce.bench.report.blocks import Block, Plot
from askonce.bench.report.charts import Dot, ScatterChart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.gains import all_gains, gain_table
from askonce.bench.report.results import Result, ResultTable, last_tables
from askonce.bench.store import Speeds, Store

NAMES = {  # row -> its name in the pictures
    "bm25": "BM25",
    "starter": "starter",
    "student": "student",
    "adapter": "adapter",
    "minilm": "MiniLM",
    "sentence-transformers:all-mpnet-base-v2": "mpnet",
    "adapter-mpnet": "adapter on mpnet",
    "cross-encoder": "cross-encoder",
}
QUERIES = (
    "{metric} on test against questions per second of processor time, one question at a time "
    "against a pool whose texts have been read (benchmarks/readers.py). Up and to the right is "
    "better."
)
TIME = (
    "{metric} on test against processor seconds from nothing to ready: reading {posts:,} posts at "
    "the speed of benchmarks/readers.py, and training. Up and to the left is better."
)


@FIGURES.add("readers")
def readers(store: Store) -> list[Block]:
    lines = all_gains(store, ())
    blocks: list[Block] = [gain_table(lines)] if lines else []
    for table in last_tables(store):
        blocks += _plots(table, store.speeds(table.dataset))
    return blocks


def _plots(table: ResultTable, speeds: Speeds) -> list[Block]:
    shown = [result for result in table.results if result.model in NAMES.keys() & speeds.keys()]
    if len(shown) < 2:
        return []
    posts = int(speeds["posts"]["count"])
    metric, by_speed, by_time = table.metric, [], []
    for result in shown:
        speed, quality = speeds[result.model], result.mean(metric)
        queries, seconds = speed["queries_per_second"], _seconds(result, speed, posts)
        by_speed.append(Dot(NAMES[result.model], queries, quality, result.kind))
        by_time.append(Dot(NAMES[result.model], seconds, quality, result.kind))
    return [
        Plot(
            f"Quality and questions per second: {table.dataset}",
            QUERIES.format(metric=metric),
            ScatterChart({"questions per second": by_speed}, metric),
        ),
        Plot(
            f"Quality and time: {table.dataset}",
            TIME.format(metric=metric, posts=posts),
            ScatterChart({"seconds": by_time}, metric),
        ),
    ]


def _seconds(result: Result, speed: dict[str, float], posts: int) -> float:
    """Reading and training; a cross-encoder reads nothing beforehand."""
    reading = posts / speed["texts_per_second"] if "texts_per_second" in speed else 0.0
    trained = result.first.seconds if result.kind in ("trained", "transformer") else 0.0
    if result.model in ("minilm", "sentence-transformers:all-mpnet-base-v2"):
        trained = 0.0
    return max(reading + trained, 0.1)
