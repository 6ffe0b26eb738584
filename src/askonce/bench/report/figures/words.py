"""The words that models attend to (for CABIN, tables 7, 8 and 9 of its paper)."""

from collections.abc import Sequence

import torch

from askonce.bench.report import inside
from askonce.bench.report.blocks import Block, Cell, Plot, Span, Strip, Strips, Table
from askonce.bench.report.charts import HeatMap
from askonce.bench.report.figures import add_figure
from askonce.bench.report.results import Result
from askonce.models.rivals.words.attentive_pooling import AttentivePoolingMatcher
from askonce.models.rivals.words.compare_aggregate import CompareAggregate
from askonce.ranker import Ranker
from askonce.types import Pool, Post

SHOWN = 4
QUESTION_WORDS = 30
MAP_WORDS = 45  # columns of a heat map
ABOUT = (
    "A right answer; the darker a word, the more the row attends to it. The greatest weight of an "
    "answer is darkest. For compare-aggregate it is how strongly a word matches what it attends to "
    f"in the question. {inside.EXAMPLES}"
)


@add_figure("attention", lambda store: inside.scenes(store, *inside.ATTENTIVE))
def attention(scene: inside.Scene) -> list[Block]:
    rankers = {result.model: ranker for result, ranker in scene.opened(*inside.ATTENTIVE)}
    pools = scene.examples(SHOWN)
    if not rankers or not pools:
        return []
    groups = [
        (
            inside.shortened(pool.query.text, QUESTION_WORDS),
            [
                Strip(name, *inside.answer_weights(ranker, pool.query, inside.right_answer(pool)))
                for name, ranker in rankers.items()
            ],
        )
        for pool in pools
    ]
    by_length = sorted(pools, key=lambda pool: len(inside.right_answer(pool).text))
    median = by_length[len(by_length) // 2]
    maps = [_map(scene, name, ranker, median) for name, ranker in rankers.items()]
    strips = Strips(f"Attention: {scene.name}", ABOUT, groups, quotes=scene.name)
    return [strips, *(block for block in maps if block is not None)]


def word_pairs(ranker: Ranker, question: Post, answer: Post) -> list[list[float]] | None:
    """A value for each word of the question (rows) and the answer; None without such attention."""
    model = ranker.model
    if not isinstance(model, AttentivePoolingMatcher | CompareAggregate):
        return None
    with torch.inference_mode():
        batch = ranker.lexicon.batch
        return model.word_pairs(batch([question]), batch([answer]))[0].tolist()


def _map(scene: inside.Scene, name: str, ranker: Ranker, pool: Pool) -> Block | None:
    question, answer = pool.query, inside.right_answer(pool)
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
    return Plot(f"Pairs of words of {name}: {scene.name}", about, chart, quotes=scene.name)


def read_words(ranker: Ranker, post: Post) -> list[str]:
    """The words of title and body as the model reads them."""
    return [word for part in (post.title, post.body) for word in ranker.lexicon.words(part)]


SALIENT_SHOWN = 5
TOP = 3  # words, and answers
SALIENT_QUESTION_WORDS, ANSWER_WORDS = 40, 60


@add_figure("salient-words", lambda store: inside.scenes(store, "cabin"))
def salient_words(scene: inside.Scene) -> list[Block]:
    blocks = []
    without = [other for other in inside.results_of(scene.table, "cabin") if not has_jump(other)]
    for result, ranker in scene.opened("cabin"):
        blocks += [_attended(scene, result, ranker), _jumps(scene, result, ranker)]
        if without and has_jump(result) and (other := inside.ranker_of(without[0])) is not None:
            blocks.append(_with_and_without(scene, (result, ranker), (without[0], other)))
    return blocks


def has_jump(result: Result) -> bool:
    """Whether a CABIN has the context jump; CABIN-J does not."""
    return bool(result.first.recipe["options"].get("jump", True))


def _attended(scene: inside.Scene, result: Result, ranker: Ranker) -> Block:
    """Table 7."""
    others = scene.results(*(model for model in inside.ATTENTIVE if model != "cabin"))
    others = inside.best_rows_first(others, scene.table.metric)[:1]
    rankers = {result.model: ranker}
    rankers |= {other.model: r for other in others if (r := inside.ranker_of(other)) is not None}
    rows: list[list[Cell]] = []
    for pool in scene.examples(SALIENT_SHOWN):
        answer = inside.right_answer(pool)
        rows.append([_question(pool)])
        rows += [
            [name, top_words(each, pool.query, answer, numbers=True)]
            for name, each in rankers.items()
        ]
    beside = f" and by {others[0].model}, the best other attentive row" if others else ""
    about = (
        f"A right answer with the three words of most weight, by {result.model}{beside}. "
        f"{inside.EXAMPLES}"
    )
    header = ["row", "right answer"]
    return Table(f"Salient words: {scene.name}", about, header, rows, quotes=scene.name)


def _jumps(scene: inside.Scene, result: Result, ranker: Ranker) -> Block:
    """Table 8."""
    pools = scene.examples(SALIENT_SHOWN)
    ranked = inside.rankings(result, [pool.query.id for pool in pools])
    rows: list[list[Cell]] = []
    for pool in pools:
        rows.append([_question(pool)])
        rows.append(["right", jump_words(ranker, pool.query, inside.right_answer(pool))])
        wrong = {post.id: post for post in pool.negatives}
        highest = next((name for name in ranked[pool.query.id] if name in wrong), None)
        if highest is not None:
            rows.append(["wrong", jump_words(ranker, pool.query, wrong[highest])])
    about = (
        f"The two words of a right answer, and of the wrong one that {result.model} ranks highest, "
        "whose context jump is most like the question (T@1, T@2, bold) and least (B@1, B@2, "
        f"underlined), by q2·E_t of eq. 13. {inside.EXAMPLES}"
    )
    header = ["answer", "words"]
    return Table(f"Words by context jump: {scene.name}", about, header, rows, quotes=scene.name)


def _with_and_without(
    scene: inside.Scene, one: tuple[Result, Ranker], other: tuple[Result, Ranker]
) -> Block:
    """Table 9."""
    pools = scene.examples(2)
    queries = [pool.query.id for pool in pools]
    both = [inside.rankings(result, queries) for result, _ in (one, other)]
    rows: list[list[Cell]] = []
    for pool in pools:
        rows.append([_question(pool)])
        by_id = {c.id: (c, n) for c, n in pool.pairs}
        for n in range(min(TOP, len(pool.candidates))):
            cells: list[Cell] = [f"{n + 1}"]
            for (_, ranker), ranked in zip((one, other), both, strict=True):
                answer, label = by_id[ranked[pool.query.id][n]]
                mark = [Span("✓", "bold")] if label > 0 else []
                cells.append([*mark, *top_words(ranker, pool.query, answer)])
            rows.append(cells)
    about = (
        "The first three answers with and without the context jump, right ones marked ✓, their "
        f"three salient words bold. {inside.EXAMPLES}"
    )
    header = ["rank", one[0].model, other[0].model]
    return Table(f"CABIN and CABIN-J: {scene.name}", about, header, rows, quotes=scene.name)


def top_words(ranker: Ranker, question: Post, answer: Post, numbers: bool = False) -> list[Span]:
    """An answer with the three words of most attention in bold, optionally with their weights."""
    entry = inside.candidate_words(ranker, question, answer, inside.ATTENTION_KINDS)
    words, values = entry.words, entry.weights
    top = _order(values)[:TOP]
    marks = {n: Span(f"{words[n]} ({values[n]:.4f})" if numbers else words[n], "bold") for n in top}
    return _marked(words, marks)


def jump_words(ranker: Ranker, question: Post, answer: Post) -> list[Span]:
    """An answer with the words of the two greatest and the two least similarities marked."""
    entry = inside.candidate_words(ranker, question, answer, ["similarity"])
    order = _order(entry.weights)  # softmax keeps the order of q2·E_t
    marks = {n: Span(f"{entry.words[n]} (B@{k})", "under") for k, n in enumerate(order[:-3:-1], 1)}
    marks |= {n: Span(f"{entry.words[n]} (T@{k})", "bold") for k, n in enumerate(order[:2], 1)}
    return _marked(entry.words, marks)


def _order(values: Sequence[float]) -> list[int]:
    """Indices from the greatest value to the least; the earlier of equals first."""
    return sorted(range(len(values)), key=lambda n: -values[n])


def _marked(words: Sequence[str], marks: dict[int, Span]) -> list[Span]:
    """The words up to the last marked one, at least a few dozen."""
    end = max([ANSWER_WORDS, *(n + 1 for n in marks)])
    spans = [marks.get(n, Span(word)) for n, word in enumerate(words[:end])]
    return [*spans, *([Span("…")] if len(words) > end else [])]


def _question(pool: Pool) -> Cell:
    return inside.shortened(pool.query.text, SALIENT_QUESTION_WORDS)
