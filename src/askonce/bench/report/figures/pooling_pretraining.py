"""Pooling and pre-training of question encoders: tables 2 and 4 of Lei et al. (2016)."""

from collections.abc import Sequence

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result, ResultTable, last_tables
from askonce.bench.report.variants import (
    ENCODER_METRICS,
    Key,
    count_prefix,
    differs,
    encoder_values,
    encoder_variants,
)

ABOUT = (
    "Mean ± standard deviation over seeds on test; after tables 2 and 4 of Lei et al. (NAACL "
    "2016). * pre-training changes the MAP of this model and pooling significantly, † its MAP is "
    "significantly above that of every other pooling (paired randomisation over questions, p < "
    "0.05). In brackets: the paper's number on other data."
)
HEADER = ("model", "pooling", "pre-trained", "seeds", *ENCODER_METRICS, "paper's MAP")


@add_figure("pooling-pretraining", last_tables)
def pooling_pretraining(table: ResultTable) -> Block | None:
    every = encoder_variants(
        table, lambda v: (v.model, v.options["pooling"], v.pretrained), "model.pooling"
    )
    shown = {key: result for key, result in every.items() if count_prefix(every, key[:1]) > 1}
    rows = [
        [*key, str(result.seeds), *encoder_values(result, _marks(shown, key))]
        for key, result in shown.items()
    ]
    title = f"Pooling and pre-training: {table.dataset}"
    return Table(title, ABOUT, HEADER, rows) if rows else None


def _marks(results: dict[Key, Result], key: Key) -> str:
    result, (model, pooling, pretrained) = results[key], key
    without = results.get((model, pooling, "no"))
    others = [
        other
        for k, other in results.items()
        if (k[0], k[2]) == (model, pretrained) and k[1] != pooling
    ]
    star = pretrained == "yes" and without is not None and differs(without, result, "MAP")
    return (" *" if star else "") + (" †" if _above_all(result, others) else "")


def _above_all(result: Result, others: Sequence[Result]) -> bool:
    return bool(others) and all(
        result.mean("MAP") > other.mean("MAP") and differs(result, other, "MAP") for other in others
    )
