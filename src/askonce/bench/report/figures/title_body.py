"""What the body of a question adds to its title, as table 5 of Lei et al. (NAACL 2016)."""

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import ResultTable, last_tables
from askonce.bench.report.variants import (
    ENCODER_METRICS,
    Key,
    Variant,
    count_prefix,
    differs,
    encoder_values,
    encoder_variants,
)

ABOUT = (
    "The same encoder reading only titles, or titles and bodies, mean ± standard deviation over "
    "seeds on test; after table 5 of Lei et al. (NAACL 2016). * the body changes MAP significantly "
    "(paired randomisation over questions, p < 0.05). In brackets: the paper's number on other "
    "data."
)
HEADER = ("model", "pooling", "pre-trained", "reads", "seeds", *ENCODER_METRICS, "paper's MAP")


@add_figure("title-body", last_tables)
def title_body(table: ResultTable) -> Block | None:
    every = encoder_variants(table, _key, "model.pooling", "model.fields")
    shown = {key: result for key, result in every.items() if count_prefix(every, key[:3]) > 1}
    rows = []
    for key, result in shown.items():
        title = shown.get((*key[:3], "title"))
        changed = key[3] == "both" and title is not None and differs(title, result, "MAP")
        rows.append([*key, str(result.seeds), *encoder_values(result, " *" if changed else "")])
    return Table(f"Title and body: {table.dataset}", ABOUT, HEADER, rows) if rows else None


def _key(variant: Variant) -> Key:
    options = variant.options
    return variant.model, options["pooling"], variant.pretrained, options["fields"]
