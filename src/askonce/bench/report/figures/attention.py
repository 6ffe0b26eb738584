"""What models with attention look at: words of the right answer, and pairs of words."""

import torch

from askonce.bench.report.blocks import Block, Plot, Strip, Strips
from askonce.bench.report.charts import HeatMap
from askonce.bench.report.figures import add_figure
from askonce.bench.report.inside import (
    ATTENTIVE,
    EXAMPLES,
    Scene,
    answer_weights,
    right_answer,
    scenes,
    shortened,
)
from askonce.models.rivals.attentive_pooling import AttentivePoolingMatcher
from askonce.models.rivals.compare_aggregate import CompareAggregate
from askonce.ranker import Ranker
from askonce.types import Pool, Post

SHOWN = 4
QUESTION_WORDS = 30
MAP_WORDS = 45  # columns of a heat map
ABOUT = (
    "A right answer; the darker a word, the more the row attends to it. The greatest weight of an "
    "answer is darkest. For compare-aggregate it is how strongly a word matches what it attends to "
    f"in the question. {EXAMPLES}"
)


@add_figure("attention", lambda store: scenes(store, *ATTENTIVE))
def attention(scene: Scene) -> list[Block]:
    rankers = {result.model: ranker for result, ranker in scene.opened(*ATTENTIVE)}
    pools = scene.examples(SHOWN)
    if not rankers or not pools:
        return []
    groups = [
        (
            shortened(pool.query.text, QUESTION_WORDS),
            [
                Strip(name, *answer_weights(ranker, pool.query, right_answer(pool)))
                for name, ranker in rankers.items()
            ],
        )
        for pool in pools
    ]
    by_length = sorted(pools, key=lambda pool: len(right_answer(pool).text))
    median = by_length[len(by_length) // 2]
    maps = [_map(scene, name, ranker, median) for name, ranker in rankers.items()]
    strips = Strips(f"Attention: {scene.name}", ABOUT, groups, quotes=True)
    return [strips, *(block for block in maps if block is not None)]


def word_pairs(ranker: Ranker, question: Post, answer: Post) -> list[list[float]] | None:
    """A value for each word of the question (rows) and the answer; None without such attention."""
    model = ranker.model
    if not isinstance(model, AttentivePoolingMatcher | CompareAggregate):
        return None
    with torch.inference_mode():
        batch = ranker.lexicon.batch
        return model.word_pairs(batch([question]), batch([answer]))[0].tolist()


def _map(scene: Scene, name: str, ranker: Ranker, pool: Pool) -> Block | None:
    question, answer = pool.query, right_answer(pool)
    values = word_pairs(ranker, question, answer)
    if values is None:
        return None
    chart = HeatMap(
        read_words(ranker, question)[:QUESTION_WORDS],
        read_words(ranker, answer)[:MAP_WORDS],
        [row[:MAP_WORDS] for row in values[:QUESTION_WORDS]],
    )
    about = (
        "The attention of each word of a right answer (across) to each word of its question (down)."
        if isinstance(ranker.model, CompareAggregate)
        else "G of a question (down) and a right answer (across): blue pairs of words match, red "
        "ones do not."
    )
    most = max(abs(value) for row in values for value in row)
    about += f" Darkest colour: {most:.2f}."
    return Plot(f"Pairs of words of {name}: {scene.name}", about, chart, quotes=True)


def read_words(ranker: Ranker, post: Post) -> list[str]:
    """The words of title and body as the model reads them."""
    return [word for part in (post.title, post.body) for word in ranker.lexicon.words(part)]
