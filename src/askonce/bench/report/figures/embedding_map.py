"""Questions and answers as HyperQA and CosineQA place them (figure 4 of Tay et al. 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askonce.bench.report.blocks import Block, Plot, RotatingClouds
from askonce.bench.report.charts import Cloud, CloudChart
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.inside import Scene, evenly_spaced, scenes
from askonce.bench.store import Store
from askonce.types import Pool, Post

MODELS = ("hyperqa", "cosineqa")
PAPER_DATASET = "trecqa"
MAX_TEXTS = 320  # t-SNE in three dimensions takes a second for as many
QUESTIONS = 80
SEED, STEPS = 1, 400
GROUPS = ("question", "right answer", "wrong answer")


@dataclass(frozen=True)
class Sample:
    """Questions, right answers, then wrong ones; lines join questions and right answers."""

    posts: Sequence[Post]
    groups: np.ndarray  # (N,)
    lines: Sequence[tuple[int, int]]


@FIGURES.add("embedding-map")
def embedding_map(store: Store) -> list[Block]:
    """Maps in two and three dimensions, of TrecQA if it was run, else of the first dataset."""
    every = [scene for scene in scenes(store, *MODELS) if len(scene.pools) > 1]
    if not every:
        return []
    return _maps(next((scene for scene in every if scene.name == PAPER_DATASET), every[0]))


def _maps(scene: Scene) -> list[Block]:
    sample = sampled(scene.pools)
    clouds: dict[int, list[Cloud]] = {2: [], 3: []}  # by dimensions
    for result, ranker in scene.opened(*MODELS):
        vectors = ranker.encode(list(sample.posts))  # (N, d)
        for dimensions, every in clouds.items():
            points = placed(vectors, dimensions)
            every.append(Cloud(result.model, points, sample.groups, GROUPS, sample.lines))
    if not clouds[2]:
        return []
    about = (
        f"Vectors of {int((sample.groups == 0).sum())} test questions and "
        f"{int((sample.groups > 0).sum())} of their answers, placed by t-SNE (seed {SEED}); lines "
        "join questions with their right answers."
    )
    return [
        Plot(f"Map of questions and answers: {scene.name}", about, CloudChart(clouds[2])),
        RotatingClouds(
            f"The same in three dimensions: {scene.name}", f"{about} Drag to rotate.", clouds[3]
        ),
    ]


def sampled(pools: Sequence[Pool]) -> Sample:
    """Questions with all their right answers, filled up with wrong ones."""
    asked: list[Post] = []
    right: dict[str, Post] = {}
    wrong: dict[str, Post] = {}
    links: list[tuple[int, str]] = []
    for pool in evenly_spaced(pools, QUESTIONS):
        own = {c.id: c for c, n in zip(pool.candidates, pool.labels, strict=True) if n > 0}
        if len(asked) + len(right | own) >= MAX_TEXTS:
            break
        links += [(len(asked), name) for name in own]
        asked.append(pool.query)
        right |= own
        wrong |= {post.id: post for post in pool.negatives}
    rest = [post for name, post in wrong.items() if name not in right]
    rest = evenly_spaced(rest, MAX_TEXTS - len(asked) - len(right))
    index = {name: len(asked) + n for n, name in enumerate(right)}
    groups = np.repeat([0, 1, 2], [len(asked), len(right), len(rest)])
    lines = [(question, index[name]) for question, name in links]
    return Sample([*asked, *right.values(), *rest], groups, lines)


def placed(vectors: np.ndarray, dimensions: int) -> np.ndarray:
    """Each vector (N, d) as a point in fewer dimensions, by t-SNE."""
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
