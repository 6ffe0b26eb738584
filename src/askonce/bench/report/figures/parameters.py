"""Numbers of parameters, ours and those printed in the papers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from askonce.bench.report.blocks import Block, Table
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.results import Result, ResultTable, last_tables
from askonce.bench.store import Store

ABOUT = (
    "Trained parameters without word vectors, for the recipe of each dataset; all parameters for "
    "transformers. Variants of the same size as their recipe are left out. In the paper's size: "
    "the parameters of our model in the sizes that a paper gives, beside the number it prints."
)


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it, and the sizes it is for."""

    number: str
    source: str
    word_dim: int
    options: Mapping[str, Any] = field(default_factory=dict)


_CTRN, _RCNN = "CTRN, table 2", "Lei et al., table 3"
PRINTED: Mapping[str, Sequence[Printed]] = {
    "ctrn": [Printed("1.05M", _CTRN, 300, {"bias": False})],
    "qrnn": [Printed("1.05M", _CTRN, 300, {"bias": False})],
    "lstm-mlp": [Printed("1.79M", _CTRN, 300, {"bias": False})],
    "ap-bilstm": [
        Printed("5.86M", _CTRN, 300, {"hidden": 512}),
        Printed("1.80M", "HyperQA, table 3", 300, {"hidden": 300}),
    ],
    "rcnn": [Printed("401K", _RCNN, 200)],
    "lstm": [Printed("423K", _RCNN, 200)],
    "gru": [Printed("404K", _RCNN, 200)],
    "cnn": [Printed("401K", _RCNN, 200)],
    "hyperqa": [
        Printed("90K", "HyperQA, tables 2, 3 and 5", 300, {"dim": 300}),
        Printed("45K", "HyperQA, table 4", 300, {"dim": 150}),
    ],
    "qa-bilstm": [Printed("1.40M", "HyperQA, table 3", 300)],
    "ap-cnn": [Printed("540K", "HyperQA, table 3", 300, {"filters": 300, "width": 5})],
    "qa-cnn": [Printed("90.9K", "HyperQA, table 3", 300, {"filters": 100})],
}
REMARKS = {
    "ctrn": "The CTRN paper leaves out the projection of words (90,000) and the last layer (258).",
    "ap-bilstm": "5.86M counts one direction, and the attention matrix four times.",
    "qa-cnn": "No combination of filters and width gives 90.9K; this is the nearest.",
}


@FIGURES.add("parameters")
def parameters(store: Store) -> list[Block]:
    tables = last_tables(store)
    names = sorted({result.model for table in tables for result in _sized(table)})
    counts = {name: [_count(table, name) for table in tables] for name in names}
    names = [name for name in names if not _same_as_recipe(name, counts)]
    if not names:
        return []
    rows = [[name, *counts[name], *_papers(name)] for name in names]
    header = ["model", *(table.dataset for table in tables), "in the paper's size", "paper"]
    in_papers = [name for name in names if name in PRINTED]
    sources = dict.fromkeys(printed.source for name in in_papers for printed in PRINTED[name])
    notes = [f"Paper: {'; '.join(sources)}."] if sources else []
    notes += [remark for name, remark in REMARKS.items() if name in in_papers]
    return [Table("Parameters", ABOUT, header, rows, notes)]


def counted(model: str, printed: Printed) -> int:
    """The parameters of our model in these sizes."""
    import torch

    from askonce.models import MODELS
    from askonce.models.base import EmbeddingInit

    kind, rows = MODELS[model], 3
    words = EmbeddingInit(
        vectors=torch.zeros(rows, printed.word_dim),
        document_frequency=torch.ones(rows),
        documents=rows,
        stop=torch.zeros(rows, dtype=torch.bool),
    )
    return kind(kind.Config(**printed.options), words).trainable_parameters()


def _sized(table: ResultTable) -> list[Result]:
    return [
        result
        for result in table.results
        if result.kind in ("trained", "transformer") and result.fact("parameters")
    ]


def _count(table: ResultTable, name: str) -> str:
    sizes = [result.fact("parameters") for result in _sized(table) if result.model == name]
    return f"{sizes[0]:,.0f}" if sizes and sizes[0] else "–"


def _same_as_recipe(name: str, counts: Mapping[str, Sequence[str]]) -> bool:
    """Whether a variant has the size of its recipe on every dataset."""
    plain, _, changes = name.partition("@")
    pairs = zip(counts[name], counts.get(plain, ()), strict=False)
    return bool(changes) and plain in counts and all(own in ("–", of) for own, of in pairs)


def _papers(name: str) -> list[str]:
    if name not in PRINTED:
        return ["–", "–"]
    ours = " / ".join(f"{counted(name, printed):,}" for printed in PRINTED[name])
    return [ours, " / ".join(printed.number for printed in PRINTED[name])]
