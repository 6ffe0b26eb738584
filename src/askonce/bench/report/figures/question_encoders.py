"""Pooling, pre-training and fields of question encoders: tables 2, 4 and 5 of Lei et al. (2016)."""

from collections.abc import Callable, Iterable, Sequence

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result, ResultTable, last_tables
from askonce.bench.report.variants import Variant, differs, variants, with_deviation

ENCODERS = ("cnn", "lstm", "gru", "rcnn")
METRICS = ("MAP", "MRR", "P@1", "P@5")
Key = tuple[str, ...]
POOLING = (
    "Mean ± standard deviation over seeds on test; after tables 2 and 4 of Lei et al. (NAACL "
    "2016). * pre-training changes the MAP of this model and pooling significantly, † its MAP is "
    "significantly above that of every other pooling (paired randomisation over questions, p < "
    "0.05). In brackets: the paper's number on other data."
)
POOLING_HEADER = ("model", "pooling", "pre-trained", "seeds", *METRICS, "paper's MAP")
TITLES = (
    "The same encoder reading only titles, or titles and bodies, mean ± standard deviation over "
    "seeds on test; after table 5 of Lei et al. (NAACL 2016). * the body changes MAP significantly "
    "(paired randomisation over questions, p < 0.05). In brackets: the paper's number on other "
    "data."
)
TITLES_HEADER = ("model", "pooling", "pre-trained", "reads", "seeds", *METRICS, "paper's MAP")


@add_figure("pooling-pretraining", last_tables)
def pooling_pretraining(table: ResultTable) -> Block | None:
    every = _encoders(
        table, lambda v: (v.model, v.options["pooling"], v.pretrained), "model.pooling"
    )
    shown = {key: result for key, result in every.items() if _count_prefix(every, key[:1]) > 1}
    rows = [
        [*key, str(result.seeds), *_values(result, _marks(shown, key))]
        for key, result in shown.items()
    ]
    title = f"Pooling and pre-training: {table.dataset}"
    return Table(title, POOLING, POOLING_HEADER, rows) if rows else None


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


@add_figure("title-body", last_tables)
def title_body(table: ResultTable) -> Block | None:
    every = _encoders(table, _titles_key, "model.pooling", "model.fields")
    shown = {key: result for key, result in every.items() if _count_prefix(every, key[:3]) > 1}
    rows = []
    for key, result in shown.items():
        title = shown.get((*key[:3], "title"))
        changed = key[3] == "both" and title is not None and differs(title, result, "MAP")
        rows.append([*key, str(result.seeds), *_values(result, " *" if changed else "")])
    return Table(f"Title and body: {table.dataset}", TITLES, TITLES_HEADER, rows) if rows else None


def _titles_key(variant: Variant) -> Key:
    options = variant.options
    return variant.model, options["pooling"], variant.pretrained, options["fields"]


def _encoders(
    table: ResultTable, key: Callable[[Variant], Key], *settings: str
) -> dict[Key, Result]:
    """Question encoders that change only these settings and pre-training, by a key."""
    by_key: dict[Key, Result] = {}
    for variant in variants(table):
        if variant.model in ENCODERS and variant.only_changes("pretrain", *settings):
            by_key.setdefault(key(variant), variant.result)
    return dict(sorted(by_key.items(), key=lambda item: (ENCODERS.index(item[0][0]), item[0])))


def _count_prefix(keys: Iterable[Key], prefix: Key) -> int:
    return sum(key[: len(prefix)] == prefix for key in keys)


def _values(result: Result, marks: str) -> list[str]:
    """All metrics, the first with marks, and the paper's number."""
    first, *others = (with_deviation(result, metric) for metric in METRICS)
    return [first + marks, *others, result.paper_text("MAP")]
