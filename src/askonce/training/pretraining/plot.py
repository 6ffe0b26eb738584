"""A plot of a pre-training: perplexity and dev MRR by epoch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def draw(curves: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Perplexity (dotted) and dev MRR (solid) by epoch, a colour for each named history."""
    from matplotlib.figure import Figure  # without pyplot: no window, no global state
    from matplotlib.ticker import MaxNLocator

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
