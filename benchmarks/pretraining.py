"""Curves of pre-training: held-out perplexity and dev MRR of titles by epoch, as JSON.

    python benchmarks/pretraining.py --data DIR --dataset travel --model rcnn --out FOLDER

The folder gets the pre-trained ranker, ``pretraining.jsonl`` and ``pretraining.png``; a run that
was stopped goes on. Without ``--vectors``, word vectors are trained on the texts.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from askonce.data.benchmarks import load_dataset
from askonce.training.events import Epoch, Event
from askonce.training.prepare import untrained
from askonce.training.pretraining.encoder_decoder import PretrainSettings, pretrain
from askonce.training.recipe import Recipe, TextSettings


def main() -> None:
    """Pre-train and print the history."""
    given = arguments()
    begin = time.perf_counter()
    dataset = load_dataset(given.dataset, given.data)
    text = TextSettings(given.min_count, vectors="file" if given.vectors else "skipgram")
    options = {"dim": given.dim, "dropout": given.dropout}
    ranker = untrained(Recipe(given.model, given.dataset, options, text), dataset, given.vectors)
    settings = PretrainSettings(given.epochs, given.batch_size)
    history = pretrain(ranker, dataset, settings, given.out, progress)
    draw({given.model: history}, given.out / "pretraining.png")
    last = history[-1]
    result = {
        "settings": {key: str(value) for key, value in vars(given).items()},
        "vocabulary": last["vocabulary"],
        "unigram_perplexity": last["unigram_perplexity"],
        "below_half_of_unigram": last["perplexity"] < last["unigram_perplexity"] / 2,
        "seconds": round(time.perf_counter() - begin, 1),
        "cores": os.cpu_count(),
        "curve": [
            {
                "epoch": record["epoch"],
                "perplexity": round(record["perplexity"], 2),
                "MRR": round(record["dev"]["MRR"], 4),
                "seconds": record.get("seconds"),
            }
            for record in history
        ],
    }
    print(json.dumps(result, indent=2))


def draw(curves: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Perplexity (dotted) and dev MRR (solid) by epoch, a colour for each named history."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    left = figure.add_subplot()
    right = left.twinx()
    for index, (name, history) in enumerate(curves.items()):
        epochs = [record["epoch"] for record in history]
        colour = f"C{index}"
        left.plot(epochs, [record["perplexity"] for record in history], ":", color=colour)
        right.plot(
            epochs, [100 * record["dev"]["MRR"] for record in history], color=colour, label=name
        )
        unigram = history[0]["unigram_perplexity"]
        left.axhline(unigram, color=colour, linewidth=0.5)
        left.annotate("unigram", (epochs[-1], unigram), ha="right", va="bottom", fontsize="small")
    left.set(yscale="log", xlabel="epoch", ylabel="held-out perplexity (dotted)")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set(ylabel="dev MRR of titles, % (solid)")
    right.legend(loc="upper center")
    figure.savefig(path)


def arguments() -> argparse.Namespace:
    """What to pre-train on what."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", default="travel")
    parser.add_argument("--model", default="rcnn")
    parser.add_argument("--vectors", type=Path, help="a file or folder of word vectors")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--min-count", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def progress(event: Event) -> None:
    """One line for each epoch."""
    if isinstance(event, Epoch):
        print(json.dumps(asdict(event)), file=sys.stderr)


if __name__ == "__main__":
    main()
