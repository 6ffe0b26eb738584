"""Where models that attend look: words of the right answer, and pairs of words."""

import torch

from askonce.bench.report.blocks import Block, Picture
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.heat_map import heat_map
from askonce.bench.report.inside import EXAMPLES, Scene, right_answer, scenes, shortened
from askonce.bench.report.strips import Strip, strips
from askonce.bench.store import Store
from askonce.models.rivals.attentive_pooling import AttentivePoolingMatcher
from askonce.models.rivals.compare_aggregate import CompareAggregate
from askonce.ranker import Ranker
from askonce.types import Pool, Post

ATTENTIVE = (
    "attentive-lstm", "attentive-cnn", "ap-bilstm", "ap-cnn", "compare-aggregate", "cabin",
)  # fmt: skip
KINDS = ("attention", "strength of match")  # of the weights of a candidate's words
SHOWN = 4
QUESTION_WORDS = 30
MAP_WORDS = 45  # of an answer, across


@FIGURES.add("attention")
def attention(store: Store) -> list[Block]:
    """For each dataset with an attentive row: words on coloured ground, and maps of word pairs."""
    return [block for scene in scenes(store, *ATTENTIVE) for block in _pictures(scene)]


def _pictures(scene: Scene) -> list[Block]:
    rankers = {row.model: ranker for row, ranker in scene.opened(*ATTENTIVE)}
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
    about = (
        "A right answer, its words darker the more each row attends to them; the greatest weight "
        "of an answer is darkest. Of compare-aggregate it is how strongly a word and what it "
        f"finds in the question match. {EXAMPLES}"
    )
    found: list[Block] = [Picture(f"Attention: {scene.name}", about, strips(groups), quotes=True)]
    by_length = sorted(pools, key=lambda pool: len(right_answer(pool).text))
    pool = by_length[len(by_length) // 2]
    found += [
        _map(scene, name, ranker, pool) for name, ranker in rankers.items() if has_pairs(ranker)
    ]
    return found


def answer_weights(
    ranker: Ranker, question: Post, answer: Post
) -> tuple[list[str], dict[str, list[float]]]:
    """The answer's words and how much the model attends to each."""
    entry = next(
        entry
        for entry in ranker.explain(question, answer).words
        if entry.side == "candidate" and entry.kind in KINDS
    )
    return entry.words, {entry.kind: entry.weights}


def has_pairs(ranker: Ranker) -> bool:
    """Whether the model weighs pairs of words."""
    return isinstance(ranker.model, AttentivePoolingMatcher | CompareAggregate)


def word_pairs(ranker: Ranker, question: Post, answer: Post) -> list[list[float]]:
    """A value for each word of the question (rows) with each of the answer."""
    model = ranker.model
    if not isinstance(model, AttentivePoolingMatcher | CompareAggregate):
        raise TypeError(f"{ranker.name!r} weighs no pairs of words")
    with torch.inference_mode():
        batch = ranker.lexicon.batch
        return model.word_pairs(batch([question]), batch([answer]))[0].tolist()


def _map(scene: Scene, name: str, ranker: Ranker, pool: Pool) -> Block:
    question, answer = pool.query, right_answer(pool)
    rows, columns = (read_words(ranker, post) for post in (question, answer))
    values = word_pairs(ranker, question, answer)
    shown = heat_map(
        rows[:QUESTION_WORDS],
        columns[:MAP_WORDS],
        [row[:MAP_WORDS] for row in values[:QUESTION_WORDS]],
    )
    kind = (
        "the attention of each word of a right answer (across) to each of its question (down)"
        if isinstance(ranker.model, CompareAggregate)
        else "G of a question (down) and a right answer (across): blue words go together, red "
        "ones do not"
    )
    most = max(abs(value) for row in values for value in row)
    about = f"{kind[0].upper()}{kind[1:]}. Fullest colour: {most:.2f}."
    return Picture(f"Pairs of words of {name}: {scene.name}", about, shown, quotes=True)


def read_words(ranker: Ranker, post: Post) -> list[str]:
    """The words of title and body as the model reads them."""
    return [word for part in (post.title, post.body) for word in ranker.lexicon.words(part)]
