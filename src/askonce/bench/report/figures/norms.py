"""How far out HyperQA's texts and words lie (figure 5, tables 8 and 9 of Tay et al. 2018)."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import torch

from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.histogram import histograms
from askonce.bench.report.inside import (
    EXAMPLES,
    Scene,
    right_answer,
    scenes,
    shortened,
    spread,
)
from askonce.bench.report.prose import Cell, Prose, plain
from askonce.bench.report.results import Line
from askonce.bench.store import Store
from askonce.models.hyperqa import BagMatcher
from askonce.models.layers.poincare import RADIUS
from askonce.ranker import Ranker
from askonce.text.vocabulary import SPECIAL
from askonce.types import Post

MODELS = ("hyperqa", "hyperqa-concat")
TEXTS = 5_000  # of each kind
AT_ONCE = 500
BUCKETS, LEVELS = 6, 5  # tables 9 and 8
WITHIN = 0.9  # of the words have norms in the paper's buckets; else buckets are quantiles
LISTED, PAIRS = 15, 5
SIDES = ("question", "answer")


@FIGURES.add("norms")
def norms(store: Store) -> list[Block]:
    """Histograms, words by norm, and pairs by norm, for each dataset with a HyperQA."""
    return [
        block
        for scene in scenes(store, *MODELS)
        for row, ranker in scene.opened(*MODELS)[:1]
        for block in _blocks(scene, row, ranker)
    ]


def _blocks(scene: Scene, row: Line, ranker: Ranker) -> list[Block]:
    words = word_norms(ranker)
    return [
        _histograms(scene, row, ranker, words),
        _words(scene, row, ranker, words),
        _pairs(scene, row, ranker, words),
    ]


def _histograms(scene: Scene, row: Line, ranker: Ranker, words: np.ndarray) -> Block:
    answers = {post.id: post for pool in scene.pools for post in pool.candidates}
    asked = text_norms(ranker, [pool.query for pool in scene.pools])
    found = text_norms(ranker, spread(list(answers.values()), TEXTS))
    drawn = histograms(
        {
            "length of texts": {"questions": asked, "answers": found},
            "length of words": {"words": words},
        }
    )
    about = (
        f"Lengths of the vectors of {row.model}: of test questions and their answers before they "
        f"are clipped into the ball, and of projected words. Clipped are {clipped(asked):.1%} of "
        f"the questions and {clipped(found):.1%} of the answers; {clipped(words):.1%} of the words "
        "alone would be. The highest hundredth stands in the last bar."
    )
    return Picture(f"Lengths of vectors: {scene.name}", about, drawn)


def _words(scene: Scene, row: Line, ranker: Ranker, words: np.ndarray) -> Block:
    edges = bucket_edges(words)
    names = ranker.lexicon.vocabulary.words[len(SPECIAL) :]
    frequency = ranker.lexicon.vocabulary.document_frequency[len(SPECIAL) :]
    places = np.digitize(words, edges[1:-1])
    rows: list[list[Cell]] = []
    for bucket in range(len(edges) - 1):
        inside = np.flatnonzero(places == bucket)
        common = inside[np.argsort(-frequency[inside], kind="stable")].tolist()
        frequent = list(islice((names[n] for n in common if is_word(names[n])), LISTED))
        rows.append(
            [
                plain(_interval(edges[bucket], edges[bucket + 1])),
                plain(f"{len(inside):,}"),
                plain(", ".join(frequent)),
            ]
        )
    kind = "Quantiles" if edges[1] != 1 else "Buckets"
    about = (
        f"{kind} of the lengths of projected words of {row.model}, and the {LISTED} words of each "
        "that most texts have. Words near the origin count little in a text's sum."
    )
    header = ["length", "words", "the most frequent"]
    return Prose(f"Words by length: {scene.name}", about, header, rows)


def _pairs(scene: Scene, row: Line, ranker: Ranker, words: np.ndarray) -> Block:
    edges = np.quantile(words, np.linspace(0, 1, LEVELS + 1))
    rows: list[list[Cell]] = []
    for pool in scene.examples(PAIRS):
        answer = right_answer(pool)
        rows.append([plain(shortened(pool.query.text, 40))])
        for side, levels in zip(SIDES, pair_levels(ranker, pool.query, answer, edges), strict=True):
            rows.append([plain(side), *(plain(", ".join(level) or "–") for level in levels)])
    bounds = ", ".join(f"{edge:.2f}" for edge in edges[1:-1])
    about = (
        f"The words of questions and of a right answer by the length that {row.model} gives them: "
        f"five levels, each with a fifth of all words (bounds {bounds}), H1 nearest to the origin. "
        f"Unknown words and punctuation are left out. {EXAMPLES}"
    )
    header = ["", *(f"H{level + 1}" for level in range(LEVELS))]
    return Prose(f"Pairs by level: {scene.name}", about, header, rows)


def pair_levels(
    ranker: Ranker, question: Post, answer: Post, edges: np.ndarray
) -> list[list[list[str]]]:
    """For each of the two texts, the distinct known words of each level, in their order."""
    found = []
    for entry in ranker.explain(question, answer).words:
        levels: list[dict[str, None]] = [{} for _ in range(len(edges) - 1)]
        for word, place in zip(entry.words, np.digitize(entry.weights, edges[1:-1]), strict=True):
            if is_word(word) and word in ranker.lexicon.vocabulary:
                levels[place][word] = None
        found.append([list(level) for level in levels])
    return found


def is_word(word: str) -> bool:
    """Whether it is more than punctuation."""
    return any(letter.isalnum() for letter in word)


def bucket_edges(words: np.ndarray) -> np.ndarray:
    """The paper's whole numbers from 0 to 6 and above, or quantiles where norms are elsewhere."""
    if np.mean(words < BUCKETS) < WITHIN:
        return np.quantile(words, np.linspace(0, 1, BUCKETS + 1))
    edges = np.arange(BUCKETS + 1.0)
    return edges if words.max() < BUCKETS else np.append(edges, np.inf)


@torch.inference_mode()
def word_norms(ranker: Ranker) -> np.ndarray:
    """‖x_w‖ of every known word after the projection (eq. 1)."""
    model = _bag(ranker)
    vectors = model.words.weight[len(SPECIAL) :]  # (V, E)
    return np.concatenate(
        [model.bag.project(part).norm(dim=-1).numpy() for part in torch.split(vectors, 8192)]
    )


@torch.inference_mode()
def text_norms(ranker: Ranker, posts: Sequence[Post]) -> np.ndarray:
    """‖y‖ of every text before it is clipped."""
    model = _bag(ranker)
    parts = (posts[start : start + AT_ONCE] for start in range(0, len(posts), AT_ONCE))
    return np.concatenate(
        [model.total(ranker.lexicon.batch(part)).norm(dim=-1).numpy() for part in parts]
    )


def clipped(lengths: np.ndarray) -> float:
    """The share of vectors that leave the ball."""
    return float(np.mean(lengths > RADIUS))


def _interval(low: float, high: float) -> str:
    if np.isinf(high):
        return f"{low:g} and more"
    return f"{low:.3g} – {high:.3g}"


def _bag(ranker: Ranker) -> BagMatcher:
    if not isinstance(ranker.model, BagMatcher):
        raise TypeError(f"{ranker.name!r} does not sum words")
    return ranker.model
