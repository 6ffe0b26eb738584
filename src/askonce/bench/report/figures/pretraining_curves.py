"""What pre-training learns, epoch by epoch, as figure 3 of Lei et al. (NAACL 2016)."""

from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

from askonce.bench.report.blocks import Block, Plot
from askonce.bench.report.charts import Axis, LineChart, Point, Series
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result, ResultTable, last_tables
from askonce.bench.report.variants import prefer_plain, variants
from askonce.bench.store import Records

EPOCHS = Axis("epoch of pre-training", integer=True)
ABOUT = (
    "Mean over seeds, with error bars of one standard deviation; after figure 3 of Lei et al. "
    "(NAACL 2016), where RCNN, LSTM and GRU reach similar perplexities, but RCNN ranks best."
)
PERPLEXITY = (
    "Perplexity of held-out titles given their bodies; the dashed line is a model that knows only "
    "how frequent words are. "
)
RANKING = (
    "MRR on dev by the last states of titles, before pre-training (epoch 0) and after each of its "
    "epochs. "
)
Value = Callable[[dict[str, Any]], float]


@add_figure("pretraining-curves", last_tables)
def pretraining_curves(table: ResultTable) -> list[Block]:
    shown = prefer_plain(v for v in variants(table) if _histories(v.result))
    return _plots(table.dataset, [variant.result for variant in shown]) if shown else []


def curve(histories: list[Records], value: Value) -> tuple[list[Point], list[float]]:
    """The mean over seeds at each epoch that all of them reached, and the standard deviations."""
    epochs = range(min(len(history) for history in histories))
    values = [[value(history[n]) for history in histories] for n in epochs]
    points = [(float(histories[0][n]["epoch"]), fmean(values[n])) for n in epochs]
    return points, [stdev(row) if len(row) > 1 else 0.0 for row in values]


def _histories(result: Result) -> list[Records]:
    """One history per seed; CABIN's language models lack these figures."""
    histories = [cell.pretraining() for cell in result.cells]
    return [history for history in histories if len(history) > 1 and "perplexity" in history[0]]


def _plots(dataset: str, results: list[Result]) -> list[Block]:
    histories = {result.model: _histories(result) for result in results}
    unigram = fmean(h[0]["unigram_perplexity"] for every in histories.values() for h in every)
    # epoch 0, in which all words are equally likely, would flatten the curves
    started = {name: [history[1:] for history in every] for name, every in histories.items()}
    perplexity = LineChart(
        _series(started, lambda record: float(record["perplexity"])),
        EPOCHS,
        Axis("held-out perplexity", log=True),
        {"unigram": unigram},
    )
    ranking = LineChart(
        _series(histories, lambda record: float(record["dev"]["MRR"])),
        EPOCHS,
        Axis("dev MRR of titles"),
    )
    return [
        Plot(f"Pre-training, perplexity: {dataset}", PERPLEXITY + ABOUT, perplexity),
        Plot(f"Pre-training, dev MRR: {dataset}", RANKING + ABOUT, ranking),
    ]


def _series(histories: dict[str, list[Records]], value: Value) -> list[Series]:
    return [Series(name, *curve(every, value)) for name, every in histories.items()]
