"""What the gates of CTRN and RCNN let through (figures 4 and 5 of Lei et al. 2016)."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch

from askonce.bench.report import inside
from askonce.bench.report.blocks import Block, Plot, Strip, Strips, common_scale
from askonce.bench.report.charts import Axis, LineChart, Series
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result
from askonce.models.question_encoders import Field
from askonce.models.rcnn import RCNN
from askonce.ranker import Ranker
from askonce.types import Pool, Post, evenly_spaced

SHOWN = 4
NAMES = {"own forget gate": "f", "partner's forget gate": "f*", "own output gate": "o"}
SIDES = {"query": "question", "candidate": "right answer"}


@add_figure("gates-ctrn", lambda store: inside.scenes(store, "ctrn"))
def ctrn_gates(scene: inside.Scene) -> list[Block]:
    return [_strips(scene, result, ranker) for result, ranker in scene.opened("ctrn")]


def _strips(scene: inside.Scene, result: Result, ranker: Ranker) -> Block:
    groups = [
        (f"{n}", ctrn_strips(ranker, pool.query, inside.right_answer(pool)))
        for n, pool in enumerate(scene.examples(SHOWN), start=1)
    ]
    scale = common_scale(groups)
    ranges = ", ".join(f"{name} {low:.2f} to {high:.2f}" for name, (low, high) in scale.items())
    about = (
        f"Gates of {result.model}, as means over their components: f forgets the previous state, "
        "f* is the forget gate borrowed from the partner text, o is the output gate. Pale to dark: "
        f"{ranges}. {inside.EXAMPLES}"
    )
    return Strips(f"Gates of CTRN: {scene.name}", about, groups, scale, quotes=scene.name)


def ctrn_strips(ranker: Ranker, question: Post, answer: Post) -> list[Strip]:
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


RCNN_SHOWN = 6  # questions with shaded words
AVERAGED = 500  # texts in a curve
BATCH = 50
MIN_TEXTS = 20  # that reach a position, for a mean to be drawn


@add_figure("gates-rcnn", lambda store: inside.scenes(store, "rcnn"))
def rcnn_gates(scene: inside.Scene) -> list[Block]:
    learned = [r for r in inside.results_of(scene.table, "rcnn") if gate_of(r) != "constant"]
    scalar = [result for result in learned if gate_of(result) == "scalar"]
    blocks = []
    for draw, results in ((_words, scalar or learned), (_by_position, learned)):
        ranker = inside.ranker_of(results[0]) if results else None
        blocks.append(draw(scene, results[0], ranker) if ranker is not None else None)
    return [block for block in blocks if block is not None]


def gate_of(result: Result) -> str:
    return result.first.recipe["options"].get("gate", "vector")


def _words(scene: inside.Scene, result: Result, ranker: Ranker) -> Block | None:
    groups = [
        (f"{n}", rcnn_strips(ranker, pool.query))
        for n, pool in enumerate(evenly_spaced(dev_pools(scene), RCNN_SHOWN), start=1)
    ]
    scale = common_scale(groups)
    low, high = scale.get("1 - λ", (0.0, 0.0))
    kind = "one gate for all components" if gate_of(result) == "scalar" else "mean over components"
    about = (
        f"How much of each word {result.model} lets in, 1 - λ ({kind}): from {low:.2f}, pale, to "
        f"{high:.2f}, dark. Words without colour are not in its vocabulary or beyond its maximum "
        "length. Questions are evenly spaced in the dev set."
    )
    return Strips(f"Gates of RCNN by word: {scene.name}", about, groups, scale, quotes=scene.name)


def rcnn_strips(ranker: Ranker, post: Post) -> list[Strip]:
    """1 - λ of each word of a question's title and body."""
    model, batch = cast(RCNN, ranker.model), ranker.lexicon.batch([post])
    return [
        Strip(field, words, {"1 - λ": model.shares(batch, field)[0].mean(-1).tolist()})
        for field in model.fields
        if (words := ranker.lexicon.words(getattr(post, field)))
    ]


def _by_position(scene: inside.Scene, result: Result, ranker: Ranker) -> Block | None:
    pools = [*dev_pools(scene), *scene.pools]
    posts = {post.id: post for pool in pools for post in (pool.query, *pool.candidates)}
    chosen = evenly_spaced(list(posts.values()), AVERAGED)
    series = []
    for field in cast(RCNN, ranker.model).fields:
        mean, greatest, counts = position_means(ranker, chosen, field)
        last = int((counts >= min(MIN_TEXTS, len(chosen))).sum())
        for name, values, dotted in (("greatest", greatest, True), ("mean", mean, False)):
            points = [(t, float(value)) for t, value in enumerate(values[:last], start=1)]
            if len(points) > 1:
                series.append(Series(f"{field}: {name}", points, dotted=dotted))
    if not series:
        return None
    about = (
        f"1 - λ of {result.model} at each position: the mean and the greatest of its components, "
        f"averaged over {len(chosen)} questions and candidates of dev and test, up to the last "
        f"position that {MIN_TEXTS} of them reach. Only known words count."
    )
    chart = LineChart(series, Axis("position", integer=True), Axis("1 - λ"))
    return Plot(f"Gates of RCNN by position: {scene.name}", about, chart)


def position_means(
    ranker: Ranker, posts: Sequence[Post], field: Field
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and greatest component of 1 - λ at each position, and how many posts have it."""
    model = cast(RCNN, ranker.model)
    positions, means, greatest = [], [], []
    by_length = sorted(posts, key=lambda post: len(getattr(post, field)))
    for start in range(0, len(by_length), BATCH):
        batch = ranker.lexicon.batch(by_length[start : start + BATCH])
        keep = model.known(batch, field)[1]  # (B, T)
        shares = model.shares(batch, field)[keep]  # (N, d)
        positions.append((keep.cumsum(1) - 1)[keep])  # (N,)
        means.append(shares.mean(-1))
        greatest.append(shares.amax(-1))
    position = torch.cat(positions).numpy()
    counts = np.bincount(position)
    mean, most = (np.bincount(position, torch.cat(v).numpy()) / counts for v in (means, greatest))
    return mean, most, counts


def dev_pools(scene: inside.Scene) -> Sequence[Pool]:
    """The questions of dev, or of test if there is no dev."""
    return scene.dataset.splits.get(scene.dataset.dev) or scene.pools
