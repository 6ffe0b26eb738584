"""The first answers of the two best trained rows side by side (tables 5 and 6 of CABIN)."""

from askonce.bench.report.blocks import Block, Cell, Span, Table
from askonce.bench.report.figures import add_figure
from askonce.bench.report.inside import (
    Scene,
    best_first,
    model_of,
    rankings,
    scenes,
    shortened,
)
from askonce.bench.report.results import Result
from askonce.types import Pool

TOP = 3
QUESTION_WORDS, ANSWER_WORDS = 40, 45
ABOUT = (
    "The first three answers of the best trained row and of the best one of another model, right "
    "ones marked ✓: on the question where the first gains most over the second (average "
    "precision), then on the one where it loses most."
)


@add_figure("top-answers", scenes)
def top_answers(scene: Scene) -> Block | None:
    pair = best_two(scene)
    if pair is None:
        return None
    pools = differing(scene, *pair)
    queries = [pool.query.id for pool in pools]
    rankings_of_pair = [rankings(result, queries) for result in pair]
    rows: list[list[Cell]] = []
    for pool in pools:
        rows.append([shortened(pool.query.text, QUESTION_WORDS)])
        for n in range(min(TOP, len(pool.candidates))):
            answers = (_answer(pool, ranked[pool.query.id][n]) for ranked in rankings_of_pair)
            rows.append([f"{n + 1}", *answers])
    header = ["rank", *(result.model for result in pair)]
    title = f"First answers of two rows: {scene.name}"
    return Table(title, ABOUT, header, rows, quotes=True) if rows else None


def best_two(scene: Scene) -> tuple[Result, Result] | None:
    """The best trained row, and the best of the other models."""
    trained = [result for result in scene.table.results if result.kind == "trained"]
    ordered = best_first(trained, scene.table.metric)
    other = next((r for r in ordered if model_of(r) != model_of(ordered[0])), None)
    return None if other is None else (ordered[0], other)


def differing(scene: Scene, one: Result, other: Result) -> list[Pool]:
    """The questions with the greatest gain and the greatest loss of the first row."""
    values = [result.first.values(result.split, "MAP") for result in (one, other)]
    gains = {p.query.id: values[0][p.query.id] - values[1][p.query.id] for p in scene.pools}
    ordered = sorted(scene.pools, key=lambda pool: -gains[pool.query.id])
    gained = [pool for pool in ordered[:1] if gains[pool.query.id] > 0]
    return gained + [pool for pool in ordered[-1:] if gains[pool.query.id] < 0]


def _answer(pool: Pool, name: str) -> Cell:
    """The beginning of a candidate, with a mark if it is right."""
    index = next(n for n, post in enumerate(pool.candidates) if post.id == name)
    text = Span(shortened(pool.candidates[index].text, ANSWER_WORDS))
    return [Span("✓", "bold"), text] if pool.labels[index] > 0 else [text]
