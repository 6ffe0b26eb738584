"""What each part of CABIN contributes, as figure 8 of its paper."""

from askonce.bench.report.blocks import Block, Plot, Table
from askonce.bench.report.charts import Bar, BarChart
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import ResultTable, tables
from askonce.bench.report.variants import Variant, differs, variants, with_deviation

METRIC = "MRR"
NAMES = {
    "": "CABIN",
    "model.jump=false": "CABIN-J, no context jump",
    "model.attention=false": "CABIN-A, no attention",
    "model.freeze_lm=false pretrain=false": "CABIN-P, no pre-training",
}
ABOUT = (
    "MRR on test, mean over seeds; after figure 8 of the CABIN paper. Without pre-training the "
    "readers are trained (freeze_lm=false)."
)
ABOUT_GAINS = (
    "How much higher the MRR of the full model is, relative to the variant's (eq. 24 of the CABIN "
    "paper). * a significant difference (paired randomisation over questions, p < 0.05)."
)


@add_figure("cabin-variants", tables)
def cabin_variants(table: ResultTable) -> list[Block]:
    cabins = [variant for variant in variants(table) if variant.model == "cabin"]
    full = next((variant for variant in cabins if variant.name == "cabin"), None)
    others = [variant for variant in cabins if variant is not full]
    if full is None or not others:
        return []
    bars = [
        Bar(_name(v), v.result.mean(METRIC), with_deviation(v.result, METRIC), v is full)
        for v in (full, *others)
    ]
    where = f"{table.dataset} {table.split}"
    header = ["variant", METRIC, "gain", "paper's gain"]
    rows = [
        [_name(v), with_deviation(v.result, METRIC), _gain(full, v), _paper_gain(full, v)]
        for v in others
    ]
    return [
        Plot(f"CABIN's variants: {where}", ABOUT, BarChart(bars, METRIC)),
        Table(f"CABIN's gains: {where}", ABOUT_GAINS, header, rows),
    ]


def gain(full: float, other: float) -> float:
    """Eq. 24, in per cent."""
    return 100 * (full - other) / other


def _name(variant: Variant) -> str:
    changes = " ".join(f"{key}={value}" for key, value in sorted(variant.changes.items()))
    return NAMES.get(changes, variant.name)


def _gain(full: Variant, other: Variant) -> str:
    value = other.result.mean(METRIC)
    if not value:
        return "–"
    star = " *" if differs(other.result, full.result, METRIC) else ""
    return f"{gain(full.result.mean(METRIC), value):+.2f} %{star}"


def _paper_gain(full: Variant, other: Variant) -> str:
    ours, theirs = full.result.paper(METRIC), other.result.paper(METRIC)
    return "–" if ours is None or theirs is None else f"{gain(ours.value, theirs.value):+.2f} %"
