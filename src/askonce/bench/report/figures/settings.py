"""What settings are worth: splits, parts of CABIN, pooling, pre-training and fields."""

from collections import Counter

from askonce.bench.report.blocks import Block, Plot, Table
from askonce.bench.report.charts import Bar, BarChart
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result, ResultTable, last_tables, tables
from askonce.bench.report.variants import Variant, differs, variants, with_deviation

METRICS = ("MAP", "MRR")
ABOUT_SPLITS = (
    "The same model trained on each split, mean ± standard deviation over seeds; after table 6 of "
    "the CTRN paper, whose numbers are in brackets if other conditions differ. * differs "
    "significantly from the row's first column (paired randomisation over questions, p < 0.05)."
)


@add_figure("train-split", tables)
def train_split(table: ResultTable) -> Block | None:
    groups: dict[str, dict[str, Variant]] = {}
    for variant in variants(table):
        by_split = groups.setdefault(variant.untrained_name, {})
        by_split.setdefault(variant.train_split, variant)
    groups = {name: by_split for name, by_split in groups.items() if len(by_split) > 1}
    if not groups:
        return None
    splits, sizes = _splits(groups)
    header = ["model", *(f"{split} {metric}" for split in splits for metric in METRICS)]
    rows = [
        [name, *(_cell(by_split, split, splits[0], m) for split in splits for m in METRICS)]
        for name, by_split in sorted(groups.items())
    ]
    title = f"Training sets: {table.dataset} {table.split}"
    return Table(title, ABOUT_SPLITS, header, rows, [f"{sizes}."])


def _splits(groups: dict[str, dict[str, Variant]]) -> tuple[list[str], str]:
    """The splits, smallest first, and a sentence about their sizes."""
    counts = {split: v.splits for group in groups.values() for split, v in group.items()}
    sizes = {split: every.get(split, [0, 0]) for split, every in counts.items()}
    order = sorted(sizes, key=lambda split: sizes[split][1])
    return order, "; ".join(
        f"{split}: {sizes[split][0]:,} questions, {sizes[split][1]:,} pairs" for split in order
    )


def _cell(by_split: dict[str, Variant], split: str, first: str, metric: str) -> str:
    if split not in by_split:
        return "–"
    result, paper = by_split[split].result, by_split[split].result.paper(metric)
    changed = split != first and first in by_split
    changed = changed and differs(by_split[first].result, result, metric)
    published = "" if paper is None else f", paper {paper.text}"
    return f"{with_deviation(result, metric)}{' *' if changed else ''}{published}"


METRIC = "MRR"
NAMES = {
    "": "CABIN",
    "model.jump=false": "CABIN-J, no context jump",
    "model.attention=false": "CABIN-A, no attention",
    "model.freeze_lm=false pretrain=false": "CABIN-P, no pre-training",
}
ABOUT_CABIN = (
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
        Plot(f"CABIN's variants: {where}", ABOUT_CABIN, BarChart(bars, METRIC)),
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


ENCODERS = ("cnn", "lstm", "gru", "rcnn")
ENCODER_METRICS = ("MAP", "MRR", "P@1", "P@5")
VariantKey = tuple[str, ...]
POOLING = (
    "Mean ± standard deviation over seeds on test; after tables 2 and 4 of Lei et al. (NAACL "
    "2016). * pre-training changes the MAP of this model and pooling significantly, † its MAP is "
    "significantly above that of every other pooling (paired randomisation over questions, p < "
    "0.05). In brackets: the paper's number on other data."
)
POOLING_HEADER = ("model", "pooling", "pre-trained", "seeds", *ENCODER_METRICS, "paper's MAP")
TITLES = (
    "The same encoder reading only titles, or titles and bodies, mean ± standard deviation over "
    "seeds on test; after table 5 of Lei et al. (NAACL 2016). * the body changes MAP significantly "
    "(paired randomisation over questions, p < 0.05). In brackets: the paper's number on other "
    "data."
)
TITLES_HEADER = (*POOLING_HEADER[:3], "reads", *POOLING_HEADER[3:])


@add_figure("pooling-pretraining", last_tables)
def pooling_pretraining(table: ResultTable) -> Block | None:
    shown = _encoders(table, alike=1)
    rows = [
        [*key, str(result.seeds), *_values(result, _marks(shown, key))]
        for key, result in shown.items()
    ]
    title = f"Pooling and pre-training: {table.dataset}"
    return Table(title, POOLING, POOLING_HEADER, rows) if rows else None


def _marks(results: dict[VariantKey, Result], key: VariantKey) -> str:
    result, (model, pooling, pretrained) = results[key], key
    without = results.get((model, pooling, "no"))
    others = [
        other
        for k, other in results.items()
        if (k[0], k[2]) == (model, pretrained) and k[1] != pooling
    ]
    star = pretrained == "yes" and without is not None and differs(without, result, "MAP")
    above_all = bool(others) and all(
        result.mean("MAP") > other.mean("MAP") and differs(result, other, "MAP") for other in others
    )
    return (" *" if star else "") + (" †" if above_all else "")


@add_figure("title-body", last_tables)
def title_body(table: ResultTable) -> Block | None:
    shown = _encoders(table, "fields", alike=3)
    rows = []
    for key, result in shown.items():
        title = shown.get((*key[:3], "title"))
        changed = key[3] == "both" and title is not None and differs(title, result, "MAP")
        rows.append([*key, str(result.seeds), *_values(result, " *" if changed else "")])
    return Table(f"Title and body: {table.dataset}", TITLES, TITLES_HEADER, rows) if rows else None


def _encoders(table: ResultTable, *more: str, alike: int) -> dict[VariantKey, Result]:
    """Question encoders by model, pooling, pre-training and ``more`` settings, and no other change.

    Those that are the only one with their first ``alike`` values are left out.
    """
    by_key: dict[VariantKey, Result] = {}
    names = ("pooling", *more)
    for variant in variants(table):
        changes = ("pretrain", *(f"model.{name}" for name in names))
        if variant.model in ENCODERS and variant.only_changes(*changes):
            pooling, *others = (variant.options[name] for name in names)
            key = (variant.model, pooling, variant.pretrained, *others)
            by_key.setdefault(key, variant.result)
    counts = Counter(key[:alike] for key in by_key)
    ordered = sorted(by_key, key=lambda key: (ENCODERS.index(key[0]), key))
    return {key: by_key[key] for key in ordered if counts[key[:alike]] > 1}


def _values(result: Result, marks: str) -> list[str]:
    """All metrics, the first with marks, and the paper's number."""
    first, *others = (with_deviation(result, metric) for metric in ENCODER_METRICS)
    return [first + marks, *others, result.paper_text("MAP")]
