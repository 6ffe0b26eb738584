"""How pooling and pre-training matter to question encoders: tables 2 and 4 of Lei et al. (2016)."""

from collections.abc import Callable, Sequence

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.average_rank import last_of_each
from askonce.bench.report.results import Line, ResultTable, tables
from askonce.bench.report.variants import Variant, differs, variants, with_spread
from askonce.bench.store import Store

ENCODERS = ("cnn", "lstm", "gru", "rcnn")
METRICS = ("MAP", "MRR", "P@1", "P@5")
POOLING, PRETRAINING = "model.pooling", "pretrain"
ABOUT = (
    "Mean ± standard deviation over seeds on test; after tables 2 and 4 of Lei et al. (NAACL "
    "2016). * pre-training changes the MAP of this model and pooling beyond chance, † its MAP is "
    "above that of each other pooling beyond chance (paired randomisation over questions, p < "
    "0.05). In brackets: the paper's number on other data."
)
Key = tuple[str, ...]


@FIGURES.add("pooling-pretraining")
def pooling_pretraining(store: Store) -> list[Block]:
    """A table for each dataset on which an encoder was run in several ways."""
    return [block for table in last_of_each(tables(store)) if (block := _grid(table))]


def _grid(table: ResultTable) -> Block | None:
    found = encoders(table, lambda v: (v.model, v.options["pooling"], pretrained(v)), POOLING)
    found = {key: line for key, line in found.items() if alike(found, key[:1]) > 1}
    if not found:
        return None
    rows = [
        [*key, str(line.seeds), *values(line, _marks(found, key))] for key, line in found.items()
    ]
    header = ["model", "pooling", "pre-trained", "seeds", *METRICS, "paper's MAP"]
    return Grid(f"Pooling and pre-training: {table.dataset}", ABOUT, header, rows)


def encoders(
    table: ResultTable, place: Callable[[Variant], Key], *settings: str
) -> dict[Key, Line]:
    """Rows that change nothing else than these settings and pre-training, by what they are."""
    found: dict[Key, Line] = {}
    for variant in variants(table):
        if variant.model in ENCODERS and variant.only_changes(PRETRAINING, *settings):
            found.setdefault(place(variant), variant.line)
    return dict(sorted(found.items(), key=lambda item: (ENCODERS.index(item[0][0]), item[0])))


def _marks(found: dict[Key, Line], key: Key) -> str:
    line, (model, pooling, told) = found[key], key
    without = found.get((model, pooling, "no"))
    others = [
        other for k, other in found.items() if (k[0], k[2]) == (model, told) and k[1] != pooling
    ]
    by_pretraining = told == "yes" and without is not None and differs(without, line, "MAP")
    return (" *" if by_pretraining else "") + (" †" if _above_all(line, others) else "")


def _above_all(line: Line, others: Sequence[Line]) -> bool:
    return bool(others) and all(
        line.mean("MAP") > other.mean("MAP") and differs(line, other, "MAP") for other in others
    )


def alike(found: dict[Key, Line], start: Key) -> int:
    """How many rows begin in this way."""
    return sum(key[: len(start)] == start for key in found)


def pretrained(variant: Variant) -> str:
    """Whether it was pre-trained, in a word."""
    return "yes" if variant.pretrained else "no"


def values(line: Line, marks: str) -> list[str]:
    """All metrics, the first with marks, and the paper's number."""
    first, *others = (with_spread(line, metric) for metric in METRICS)
    paper = line.paper("MAP")
    told = "–" if paper is None else f"({paper.value:.3f})" if paper.elsewhere else str(paper.value)
    return [first + marks, *others, told]
