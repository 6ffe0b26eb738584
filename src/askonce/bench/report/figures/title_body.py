"""What the body of a question adds to its title, as table 5 of Lei et al. (NAACL 2016)."""

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.figures.average_rank import last_of_each
from askonce.bench.report.figures.pooling_pretraining import (
    METRICS,
    POOLING,
    Key,
    alike,
    encoders,
    pretrained,
    values,
)
from askonce.bench.report.results import ResultTable, tables
from askonce.bench.report.variants import Variant, differs
from askonce.bench.store import Store

FIELDS = "model.fields"
ABOUT = (
    "The same encoder reading titles alone, or titles and bodies, mean ± standard deviation over "
    "seeds on test; after table 5 of Lei et al. (NAACL 2016). * the body changes MAP beyond chance "
    "(paired randomisation over questions, p < 0.05). In brackets: the paper's number on other "
    "data."
)


@FIGURES.add("title-body")
def title_body(store: Store) -> list[Block]:
    """A table for each dataset on which an encoder was run with titles alone too."""
    return [block for table in last_of_each(tables(store)) if (block := _grid(table))]


def _grid(table: ResultTable) -> Block | None:
    found = encoders(table, _place, POOLING, FIELDS)
    found = {key: line for key, line in found.items() if alike(found, key[:3]) > 1}
    if not found:
        return None
    rows = []
    for key, line in found.items():
        title = found.get((*key[:3], "title"))
        changed = key[3] == "both" and title is not None and differs(title, line, "MAP")
        rows.append([*key, str(line.seeds), *values(line, " *" if changed else "")])
    header = ["model", "pooling", "pre-trained", "reads", "seeds", *METRICS, "paper's MAP"]
    return Grid(f"Title and body: {table.dataset}", ABOUT, header, rows)


def _place(variant: Variant) -> Key:
    options = variant.options
    return variant.model, options["pooling"], pretrained(variant), options["fields"]
