"""What CTRN's gates let through: its own and those that the partner lends."""

from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.inside import EXAMPLES, Scene, right_answer, scenes
from askonce.bench.report.results import Line
from askonce.bench.report.strips import Strip, common_scale, strips
from askonce.bench.store import Store
from askonce.ranker import Ranker
from askonce.types import Post

SHOWN = 4
NAMES = {"own forget gate": "f", "partner's forget gate": "f*", "own output gate": "o"}
SIDES = {"query": "question", "candidate": "right answer"}


@FIGURES.add("gates-ctrn")
def ctrn_gates(store: Store) -> list[Block]:
    """A picture for each dataset with a CTRN."""
    return [
        _picture(scene, row, ranker)
        for scene in scenes(store, "ctrn")
        for row, ranker in scene.opened("ctrn")
    ]


def _picture(scene: Scene, row: Line, ranker: Ranker) -> Block:
    groups = [
        (f"{n}", gate_strips(ranker, pool.query, right_answer(pool)))
        for n, pool in enumerate(scene.examples(SHOWN), start=1)
    ]
    scale = common_scale(groups)
    ranges = ", ".join(f"{name} {low:.2f} to {high:.2f}" for name, (low, high) in scale.items())
    about = (
        f"Gates of {row.model}, as means over their components: f forgets what came before, f* is "
        "the forget gate that the partner's text lends to the word, o lets the state out. Pale to "
        f"dark: {ranges}. {EXAMPLES}"
    )
    return Picture(f"Gates of CTRN: {scene.name}", about, strips(groups, scale), quotes=True)


def gate_strips(ranker: Ranker, question: Post, answer: Post) -> list[Strip]:
    """The gates f, f* and o of each word of both texts."""
    entries = ranker.explain(question, answer).words
    found = []
    for side, label in SIDES.items():
        of_side = [entry for entry in entries if entry.side == side]
        rows = {
            name: entry.weights
            for kind, name in NAMES.items()
            for entry in of_side
            if entry.kind == kind
        }
        found.append(Strip(label, of_side[0].words, rows))
    return found
