"""Norms and maps of HyperQA's vectors (figures 4 and 5, tables 8 and 9 of Tay et al. 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

import numpy as np
import torch

from askonce.bench.report.blocks import Block, Cell, Plot, RotatingClouds, Table
from askonce.bench.report.charts import Cloud, CloudChart, HistogramChart
from askonce.bench.report.figures import FIGURES, add_figure
from askonce.bench.report.inside import EXAMPLES, Scene, right_answer, scenes, shortened
from askonce.bench.report.results import Result
from askonce.bench.store import Store
from askonce.models.hyperqa import BagMatcher
from askonce.models.layers.poincare import RADIUS
from askonce.ranker import Ranker
from askonce.text.vocabulary import SPECIAL
from askonce.types import Pool, Post, evenly_spaced

MODELS = ("hyperqa", "hyperqa-concat")
MAX_ANSWERS = 5_000
BATCH = 500
BUCKETS, LEVELS = 6, 5  # tables 9 and 8
WITHIN = 0.9  # least share of words within the paper's buckets; else buckets are quantiles
LISTED, PAIRS = 15, 5
SIDES = ("question", "answer")


@add_figure("norms", lambda store: scenes(store, *MODELS))
def norms(scene: Scene) -> list[Block]:
    blocks = []
    for result, ranker in scene.opened(*MODELS)[:1]:
        words = word_norms(ranker)
        blocks += [draw(scene, result, ranker, words) for draw in (_histograms, _words, _pairs)]
    return blocks


def _histograms(scene: Scene, result: Result, ranker: Ranker, words: np.ndarray) -> Block:
    answers = {post.id: post for pool in scene.pools for post in pool.candidates}
    asked = text_norms(ranker, [pool.query for pool in scene.pools])
    answered = text_norms(ranker, evenly_spaced(list(answers.values()), MAX_ANSWERS))
    chart = HistogramChart(
        {
            "norm of texts": {"questions": asked, "answers": answered},
            "norm of words": {"words": words},
        }
    )
    about = (
        f"Norms of the vectors of {result.model}: of test questions and their answers before they "
        f"are clipped into the ball, and of projected words. {clipped(asked):.1%} of the questions "
        f"and {clipped(answered):.1%} of the answers are clipped; {clipped(words):.1%} of single "
        "words would be. The highest hundredth is counted in the last bar."
    )
    return Plot(f"Norms of vectors: {scene.name}", about, chart)


def _words(scene: Scene, result: Result, ranker: Ranker, words: np.ndarray) -> Block:
    edges = bucket_edges(words)
    names = ranker.lexicon.vocabulary.words[len(SPECIAL) :]
    frequency = ranker.lexicon.vocabulary.document_frequency[len(SPECIAL) :]
    buckets = np.digitize(words, edges[1:-1])
    rows: list[list[Cell]] = []
    for bucket in range(len(edges) - 1):
        inside = np.flatnonzero(buckets == bucket)
        common = inside[np.argsort(-frequency[inside], kind="stable")].tolist()
        frequent = list(islice((names[n] for n in common if is_word(names[n])), LISTED))
        low, high = edges[bucket : bucket + 2]
        interval = f"{low:g} and more" if np.isinf(high) else f"{low:.3g} – {high:.3g}"
        rows.append([interval, f"{len(inside):,}", ", ".join(frequent)])
    kind = "Quantiles" if edges[1] != 1 else "Buckets"
    about = (
        f"{kind} of the norms of projected words of {result.model}, with the {LISTED} words of "
        "each that occur in most texts. Words near the origin contribute little to a text's sum."
    )
    header = ["norm", "words", "the most frequent"]
    return Table(f"Words by norm: {scene.name}", about, header, rows, quotes=scene.name)


def _pairs(scene: Scene, result: Result, ranker: Ranker, words: np.ndarray) -> Block:
    edges = np.quantile(words, np.linspace(0, 1, LEVELS + 1))
    rows: list[list[Cell]] = []
    for pool in scene.examples(PAIRS):
        answer = right_answer(pool)
        rows.append([shortened(pool.query.text, 40)])
        for side, levels in zip(SIDES, pair_levels(ranker, pool.query, answer, edges), strict=True):
            rows.append([side, *(", ".join(level) or "–" for level in levels)])
    bounds = ", ".join(f"{edge:.2f}" for edge in edges[1:-1])
    about = (
        f"The words of questions and of a right answer by the norm that {result.model} gives them: "
        f"five levels, each with a fifth of all words (bounds {bounds}), H1 nearest to the origin. "
        f"Unknown words and punctuation are left out. {EXAMPLES}"
    )
    header = ["", *(f"H{level + 1}" for level in range(LEVELS))]
    return Table(f"Pairs by level: {scene.name}", about, header, rows, quotes=scene.name)


def pair_levels(
    ranker: Ranker, question: Post, answer: Post, edges: np.ndarray
) -> list[list[list[str]]]:
    """For each of the two texts, the distinct known words of each level, in order."""
    by_text = []
    for entry in ranker.explain(question, answer).words:
        levels: list[dict[str, None]] = [{} for _ in range(len(edges) - 1)]
        for word, n in zip(entry.words, np.digitize(entry.weights, edges[1:-1]), strict=True):
            if is_word(word) and word in ranker.lexicon.vocabulary:
                levels[n][word] = None
        by_text.append([list(level) for level in levels])
    return by_text


def is_word(word: str) -> bool:
    """Whether a token is more than punctuation."""
    return any(letter.isalnum() for letter in word)


def bucket_edges(words: np.ndarray) -> np.ndarray:
    """The paper's integers from 0 to 6 and above, or quantiles if norms lie elsewhere."""
    if np.mean(words < BUCKETS) < WITHIN:
        return np.quantile(words, np.linspace(0, 1, BUCKETS + 1))
    edges = np.arange(BUCKETS + 1.0)
    return edges if words.max() < BUCKETS else np.append(edges, np.inf)


@torch.inference_mode()
def word_norms(ranker: Ranker) -> np.ndarray:
    """‖x_w‖ of every known word after the projection (eq. 1)."""
    model = cast(BagMatcher, ranker.model)
    vectors = model.words.weight[len(SPECIAL) :]  # (V, E)
    return np.concatenate(
        [model.bag.project(part).norm(dim=-1).numpy() for part in torch.split(vectors, 8192)]
    )


@torch.inference_mode()
def text_norms(ranker: Ranker, posts: Sequence[Post]) -> np.ndarray:
    """‖y‖ of every text before it is clipped."""
    model = cast(BagMatcher, ranker.model)
    parts = (posts[start : start + BATCH] for start in range(0, len(posts), BATCH))
    return np.concatenate(
        [model.total(ranker.lexicon.batch(part)).norm(dim=-1).numpy() for part in parts]
    )


def clipped(lengths: np.ndarray) -> float:
    """The share of vectors outside the ball."""
    return float(np.mean(lengths > RADIUS))


MAPPED = ("hyperqa", "cosineqa")
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
    every = [scene for scene in scenes(store, *MAPPED) if len(scene.pools) > 1]
    if not every:
        return []
    return _maps(next((scene for scene in every if scene.name == PAPER_DATASET), every[0]))


def _maps(scene: Scene) -> list[Block]:
    sample = sampled(scene.pools)
    clouds: dict[int, list[Cloud]] = {2: [], 3: []}  # by dimensions
    for result, ranker in scene.opened(*MAPPED):
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
        own = {c.id: c for c, n in pool.pairs if n > 0}
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
