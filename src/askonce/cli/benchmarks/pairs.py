"""``askonce train-pairs``: a classifier of labelled pairs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from askonce.cli.benchmarks.inputs import load_checked
from askonce.cli.options import JsonFlag, SkipDamaged, folder_only
from askonce.cli.output import console, write_json
from askonce.errors import AskonceError

FORMATS: dict[str, Literal["csv", "jsonl"]] = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl"}


def train_pairs(
    data: Annotated[
        Path,
        Argument(help="Folder with train, dev and test as .csv, .tsv or .jsonl: two texts, label."),
    ],
    out: Annotated[Path, Option(help="Folder of the classifier.", callback=folder_only)] = Path(
        "runs/pairs"
    ),
    encoder: Annotated[
        str, Option(help="Whose vectors are compared: starter, minilm, a name or a folder.")
    ] = "starter",
    skip_damaged: SkipDamaged = False,
    json: JsonFlag = False,
) -> None:
    """Learn from labelled pairs whether two texts ask the same; select the threshold on dev."""
    from askonce.training.labelled_pairs import labelled_pairs, measure, train_classifier

    dataset = load_checked(_format(data), data, skip_damaged)
    classifier = train_classifier(dataset, encoder)
    classifier.save(out)
    figures = {
        split: measure(classifier, labelled_pairs(dataset, split))
        for split in (dataset.dev, dataset.test)
        if split in dataset.splits
    }
    if json:
        shown = {split: asdict(one) for split, one in figures.items()}
        write_json({"folder": str(out), "threshold": classifier.threshold, "figures": shown})
        return
    print_line = console().print
    for split, one in figures.items():
        interval = f"[{one.ap_interval[0]:.3f}, {one.ap_interval[1]:.3f}]"
        print_line(
            f"{split} (n={one.pairs:,}, {one.positives:,} the same): accuracy {one.accuracy:.4f}  "
            f"F1 {one.f1:.4f}  AP {one.ap:.4f} {interval}",
            markup=False,
        )
    print_line(f"the same from a probability of {classifier.threshold:.3f}; saved in {out}")


def _format(folder: Path) -> str:
    """Csv or jsonl, by the file of the training pairs."""
    for ending, name in FORMATS.items():
        if (folder / f"train{ending}").is_file():
            return name
    raise AskonceError(f"no train.csv, train.tsv or train.jsonl in {str(folder)!r}")
