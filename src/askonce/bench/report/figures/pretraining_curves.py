"""What pre-training learns, epoch by epoch, as figure 3 of Lei et al. (NAACL 2016)."""

from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

from askonce.bench.report.axes import Axis
from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.charts import Series, line_chart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.average_rank import last_of_each
from askonce.bench.report.results import Line, tables
from askonce.bench.report.variants import plain_if_any, variants
from askonce.bench.store import Records, Store

EPOCHS = Axis("epoch of pre-training", least=1)
ABOUT = (
    "Mean over seeds, bars of one standard deviation; after figure 3 of Lei et al. (NAACL 2016), "
    "where RCNN, LSTM and GRU reach like perplexities, but RCNN's states rank best. "
)
PERPLEXITY = (
    "Perplexity of held-out titles given their bodies; the dashed line is a model that only knows "
    "how frequent words are. "
)
RANKING = (
    "MRR on dev by the last states of titles alone, before any training (epoch 0) and after each "
    "epoch of pre-training. "
)
Value = Callable[[dict[str, Any]], float]


@FIGURES.add("pretraining-curves")
def pretraining_curves(store: Store) -> list[Block]:
    """Perplexity and MRR for each dataset with a pre-trained question encoder."""
    blocks: list[Block] = []
    for table in last_of_each(tables(store)):
        found = plain_if_any(v for v in variants(table) if _histories(v.line))
        if found:
            blocks += _pictures(table.dataset, [variant.line for variant in found])
    return blocks


def curve(histories: list[Records], value: Value) -> tuple[list[tuple[float, float]], list[float]]:
    """The mean over seeds at each epoch that all of them reached, and the standard deviations."""
    epochs = range(min(len(history) for history in histories))
    values = [[value(history[n]) for history in histories] for n in epochs]
    points = [(float(histories[0][n]["epoch"]), fmean(values[n])) for n in epochs]
    return points, [stdev(found) if len(found) > 1 else 0.0 for found in values]


def _histories(line: Line) -> list[Records]:
    """One history for each seed; CABIN's language models have none of these figures."""
    found = [cell.pretraining() for cell in line.cells]
    return [history for history in found if len(history) > 1 and "perplexity" in history[0]]


def _pictures(dataset: str, lines: list[Line]) -> list[Block]:
    histories = {line.model: _histories(line) for line in lines}
    unigram = fmean(h[0]["unigram_perplexity"] for every in histories.values() for h in every)
    begun = {name: [history[1:] for history in every] for name, every in histories.items()}
    perplexity = line_chart(  # epoch 0, in which any word is as likely as another, would flatten it
        _series(begun, lambda record: float(record["perplexity"])),
        EPOCHS,
        Axis("held-out perplexity", log=True),
        {"unigram": unigram},
    )
    ranking = line_chart(
        _series(histories, lambda record: float(record["dev"]["MRR"])),
        EPOCHS,
        Axis("dev MRR of titles"),
    )
    return [
        Picture(f"Pre-training, perplexity: {dataset}", PERPLEXITY + ABOUT, perplexity),
        Picture(f"Pre-training, dev MRR: {dataset}", RANKING + ABOUT, ranking),
    ]


def _series(histories: dict[str, list[Records]], value: Value) -> list[Series]:
    return [Series(name, *curve(found, value)) for name, found in histories.items()]
