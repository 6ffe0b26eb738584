"""What RCNN's gates take in: word by word, and by position (figures 4 and 5 of Lei et al. 2016)."""

from collections.abc import Sequence

import numpy as np
import torch

from askonce.bench.report.axes import Axis
from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.charts import Series, line_chart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.inside import Scene, ranker_of, recipe_of, rows_of, scenes, spread
from askonce.bench.report.results import Line
from askonce.bench.report.strips import Strip, common_scale, strips
from askonce.bench.store import Store
from askonce.models.question_encoders import Field
from askonce.models.rcnn import RCNN
from askonce.ranker import Ranker
from askonce.types import Pool, Post

SHOWN = 6  # questions with their words
AVERAGED = 500  # questions of a curve
AT_ONCE = 50
FEWEST = 20  # questions that reach a position, for a mean worth drawing


@FIGURES.add("gates-rcnn")
def rcnn_gates(store: Store) -> list[Block]:
    """Two pictures for each dataset with an RCNN whose gate is learned."""
    return [block for scene in scenes(store, "rcnn") for block in _pictures(scene)]


def _pictures(scene: Scene) -> list[Block]:
    rows = [row for row in rows_of(scene.table, "rcnn") if gate_of(row) != "constant"]
    scalar = [row for row in rows if gate_of(row) == "scalar"]
    found = [_words(scene, row) for row in (scalar or rows)[:1]]
    found += [_by_position(scene, row) for row in rows[:1]]
    return [block for block in found if block is not None]


def gate_of(row: Line) -> str:
    """The kind of gate that a row was trained with."""
    return recipe_of(row)["options"].get("gate", "vector")


def _words(scene: Scene, row: Line) -> Block | None:
    if (ranker := ranker_of(row)) is None:
        return None
    groups = [
        (f"{n}", gate_strips(ranker, pool.query))
        for n, pool in enumerate(spread(dev_pools(scene), SHOWN), start=1)
    ]
    scale = common_scale(groups)
    low, high = scale.get("1 - λ", (0.0, 0.0))
    kind = "one gate for all components" if gate_of(row) == "scalar" else "mean over components"
    about = (
        f"How much of each word {row.model} takes in, 1 - λ ({kind}): from {low:.2f}, pale, to "
        f"{high:.2f}, dark. Words without colour are not in its vocabulary or beyond the words "
        "that it reads. Questions stand at even distances in the dev set."
    )
    title = f"Gates of RCNN, word by word: {scene.name}"
    return Picture(title, about, strips(groups, scale), quotes=True)


def gate_strips(ranker: Ranker, post: Post) -> list[Strip]:
    """1 - λ of each word of a question's title and body."""
    model, batch = _rcnn(ranker), ranker.lexicon.batch([post])
    return [
        Strip(field, words, {"1 - λ": model.shares(batch, field)[0].mean(-1).tolist()})
        for field in model.fields
        if (words := ranker.lexicon.words(getattr(post, field)))
    ]


def _by_position(scene: Scene, row: Line) -> Block | None:
    if (ranker := ranker_of(row)) is None:
        return None
    pools = [*dev_pools(scene), *scene.pools]
    posts = {post.id: post for pool in pools for post in (pool.query, *pool.candidates)}
    chosen = spread(list(posts.values()), AVERAGED)
    lines = []
    for field in _rcnn(ranker).fields:
        mean, greatest, counts = position_means(ranker, chosen, field)
        last = int((counts >= min(FEWEST, len(chosen))).sum())
        for name, values, dotted in (("greatest", greatest, True), ("mean", mean, False)):
            points = [(t, float(value)) for t, value in enumerate(values[:last], start=1)]
            if len(points) > 1:
                lines.append(Series(f"{field}: {name}", points, dotted=dotted))
    if not lines:
        return None
    about = (
        f"1 - λ of {row.model} at each position: the mean and the greatest of its components, "
        f"averaged over {len(chosen)} questions and candidates of dev and test, as far as "
        f"{FEWEST} of them reach. Only known words count."
    )
    drawn = line_chart(lines, Axis("position"), Axis("1 - λ"))
    return Picture(f"Gates of RCNN by position: {scene.name}", about, drawn)


def position_means(
    ranker: Ranker, posts: Sequence[Post], field: Field
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and greatest component of 1 - λ at each position, and how many posts have it."""
    model = _rcnn(ranker)
    places, means, greatest = [], [], []
    by_length = sorted(posts, key=lambda post: len(getattr(post, field)))
    for start in range(0, len(by_length), AT_ONCE):
        batch = ranker.lexicon.batch(by_length[start : start + AT_ONCE])
        keep = model.known(batch, field)[1]  # (B, T)
        shares = model.shares(batch, field)[keep]  # (N, d)
        places.append((keep.cumsum(1) - 1)[keep])  # (N,)
        means.append(shares.mean(-1))
        greatest.append(shares.amax(-1))
    place = torch.cat(places).numpy()
    counts = np.bincount(place)
    mean, most = (np.bincount(place, torch.cat(v).numpy()) / counts for v in (means, greatest))
    return mean, most, counts


def dev_pools(scene: Scene) -> Sequence[Pool]:
    """The questions of dev; of test where there is no dev."""
    return scene.dataset.splits.get(scene.dataset.dev) or scene.pools


def _rcnn(ranker: Ranker) -> RCNN:
    if not isinstance(ranker.model, RCNN):
        raise TypeError(f"{ranker.name!r} has no gates of RCNN")
    return ranker.model
