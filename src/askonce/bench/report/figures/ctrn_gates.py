"""What CTRN's gates let through: its own and those borrowed from the partner text."""

from askonce.bench.report.blocks import Block, Strip, Strips, common_scale
from askonce.bench.report.figures import add_figure
from askonce.bench.report.inside import EXAMPLES, Scene, right_answer, scenes
from askonce.bench.report.results import Result
from askonce.ranker import Ranker
from askonce.types import Post

SHOWN = 4
NAMES = {"own forget gate": "f", "partner's forget gate": "f*", "own output gate": "o"}
SIDES = {"query": "question", "candidate": "right answer"}


@add_figure("gates-ctrn", lambda store: scenes(store, "ctrn"))
def ctrn_gates(scene: Scene) -> list[Block]:
    return [_strips(scene, result, ranker) for result, ranker in scene.opened("ctrn")]


def _strips(scene: Scene, result: Result, ranker: Ranker) -> Block:
    groups = [
        (f"{n}", gate_strips(ranker, pool.query, right_answer(pool)))
        for n, pool in enumerate(scene.examples(SHOWN), start=1)
    ]
    scale = common_scale(groups)
    ranges = ", ".join(f"{name} {low:.2f} to {high:.2f}" for name, (low, high) in scale.items())
    about = (
        f"Gates of {result.model}, as means over their components: f forgets the previous state, "
        "f* is the forget gate borrowed from the partner text, o is the output gate. Pale to dark: "
        f"{ranges}. {EXAMPLES}"
    )
    return Strips(f"Gates of CTRN: {scene.name}", about, groups, scale, quotes=True)


def gate_strips(ranker: Ranker, question: Post, answer: Post) -> list[Strip]:
    """The gates f, f* and o of each word of both texts."""
    entries = ranker.explain(question, answer).words
    strips = []
    for side, label in SIDES.items():
        of_side = [entry for entry in entries if entry.side == side]
        weights = {
            name: entry.weights
            for kind, name in NAMES.items()
            for entry in of_side
            if entry.kind == kind
        }
        strips.append(Strip(label, of_side[0].words, weights))
    return strips
