"""Questions and answers as HyperQA and CosineQA place them (figure 4 of Tay et al. 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.inside import Scene, scenes, spread
from askonce.bench.report.point_cloud import Cloud, TurningClouds, flat
from askonce.bench.store import Store
from askonce.types import Pool, Post

MODELS = ("hyperqa", "cosineqa")
PAPERS = "trecqa"  # the dataset of the figure
MOST = 320  # texts; t-SNE in space takes a second for as many
QUESTIONS = 80
SEED, STEPS = 1, 400
GROUPS = ("question", "right answer", "wrong answer")


@dataclass(frozen=True)
class Sample:
    """Texts to place: questions, right answers, then wrong ones; and what belongs together."""

    posts: Sequence[Post]
    groups: np.ndarray  # (N,)
    lines: Sequence[tuple[int, int]]  # question, right answer


@FIGURES.add("embedding-map")
def embedding_map(store: Store) -> list[Block]:
    """A flat map and one in space, of TrecQA if it is there, else of the first dataset."""
    found = [scene for scene in scenes(store, *MODELS) if len(scene.pools) > 1]
    if not found:
        return []
    return _maps(next((scene for scene in found if scene.name == PAPERS), found[0]))


def _maps(scene: Scene) -> list[Block]:
    sample = sampled(scene.pools)
    flats: list[Cloud] = []
    solids: list[Cloud] = []
    for row, ranker in scene.opened(*MODELS):
        vectors = ranker.encode(list(sample.posts))  # (N, d)
        for found, dimensions in ((flats, 2), (solids, 3)):
            points = placed(vectors, dimensions)
            found.append(Cloud(row.model, points, sample.groups, GROUPS, sample.lines))
    if not flats:
        return []
    about = (
        f"Vectors of {int((sample.groups == 0).sum())} test questions and "
        f"{int((sample.groups > 0).sum())} of their answers, placed by t-SNE (seed {SEED}); lines "
        "go from questions to their right answers."
    )
    return [
        Picture(f"Map of questions and answers: {scene.name}", about, flat(flats)),
        TurningClouds(f"The same in space: {scene.name}", f"{about} Drag to turn.", solids),
    ]


def sampled(pools: Sequence[Pool]) -> Sample:
    """Questions with all their right answers, and wrong ones as far as there is room."""
    asked: list[Post] = []
    right: dict[str, Post] = {}
    wrong: dict[str, Post] = {}
    links: list[tuple[int, str]] = []
    for pool in spread(pools, QUESTIONS):
        found = {c.id: c for c, n in zip(pool.candidates, pool.labels, strict=True) if n > 0}
        if len(asked) + len(right | found) >= MOST:
            break
        links += [(len(asked), name) for name in found]
        asked.append(pool.query)
        right |= found
        wrong |= {post.id: post for post in pool.negatives}
    rest = [post for name, post in wrong.items() if name not in right]
    rest = spread(rest, MOST - len(asked) - len(right))
    place = {name: len(asked) + n for n, name in enumerate(right)}
    groups = np.repeat([0, 1, 2], [len(asked), len(right), len(rest)])
    lines = [(question, place[name]) for question, name in links]
    return Sample([*asked, *right.values(), *rest], groups, lines)


def placed(vectors: np.ndarray, dimensions: int) -> np.ndarray:
    """Each vector (N, d) as a point of so many dimensions, near ones near each other."""
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    tsne = TSNE(
        dimensions,
        perplexity=perplexity,
        init="pca",
        angle=0.8,  # coarser than the default, for speed
        max_iter=STEPS,
        random_state=SEED,
    )
    return tsne.fit_transform(vectors)  # (N, dimensions)
