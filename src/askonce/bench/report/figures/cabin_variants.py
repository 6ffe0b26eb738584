"""What each part of CABIN is worth, as figure 8 of its paper."""

from askonce.bench.report.axes import COLOURS
from askonce.bench.report.blocks import Block, Grid, Picture
from askonce.bench.report.charts import Bar, bar_chart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import ResultTable, tables
from askonce.bench.report.variants import Variant, differs, variants, with_spread
from askonce.bench.store import Store

METRIC = "MRR"
NAMES = {
    "": "CABIN",
    "model.jump=false": "CABIN-J, no context jump",
    "model.attention=false": "CABIN-A, no attention",
    "model.freeze_lm=false pretrain=false": "CABIN-P, no pre-training",
}
ABOUT = (
    "MRR on test, mean over seeds; after figure 8 of the CABIN paper. Without pre-training the "
    "readers must learn (freeze_lm=false)."
)
ABOUT_GAINS = (
    "By how much the whole model's MRR is above a variant's, as a share of the variant's (eq. 24 "
    "of the CABIN paper). * differs beyond chance (paired randomisation over questions, p < 0.05)."
)


@FIGURES.add("cabin-variants")
def cabin_variants(store: Store) -> list[Block]:
    """Bars and gains for each split on which CABIN and a variant of it were run."""
    return [block for table in tables(store) for block in _blocks(table)]


def _blocks(table: ResultTable) -> list[Block]:
    found = [variant for variant in variants(table) if variant.model == "cabin"]
    whole = next((variant for variant in found if variant.name == "cabin"), None)
    others = [variant for variant in found if variant is not whole]
    if whole is None or not others:
        return []
    bars = [
        Bar(_name(v), v.line.mean(METRIC), with_spread(v.line, METRIC), COLOURS[v is whole])
        for v in (whole, *others)
    ]
    where = f"{table.dataset} {table.split}"
    header = ["variant", METRIC, "gain", "paper's gain"]
    rows = [
        [_name(v), with_spread(v.line, METRIC), _gain(whole, v), _paper_gain(whole, v)]
        for v in others
    ]
    return [
        Picture(f"CABIN's variants: {where}", ABOUT, bar_chart(bars, METRIC)),
        Grid(f"CABIN's gains: {where}", ABOUT_GAINS, header, rows),
    ]


def gain(whole: float, other: float) -> float:
    """Eq. 24, in per cent."""
    return 100 * (whole - other) / other


def _name(variant: Variant) -> str:
    told = " ".join(f"{key}={value}" for key, value in sorted(variant.changes.items()))
    return NAMES.get(told, variant.name)


def _gain(whole: Variant, other: Variant) -> str:
    value = other.line.mean(METRIC)
    if not value:
        return "–"
    star = " *" if differs(other.line, whole.line, METRIC) else ""
    return f"{gain(whole.line.mean(METRIC), value):+.2f} %{star}"


def _paper_gain(whole: Variant, other: Variant) -> str:
    ours, theirs = whole.line.paper(METRIC), other.line.paper(METRIC)
    return "–" if ours is None or theirs is None else f"{gain(ours.value, theirs.value):+.2f} %"
