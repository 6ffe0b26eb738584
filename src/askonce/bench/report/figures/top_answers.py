"""The first answers of the two best trained rows beside each other (tables 5 and 6 of CABIN)."""

from askonce.bench.report.blocks import Block
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.inside import (
    Scene,
    best_first,
    first,
    model_of,
    rankings,
    scenes,
    shortened,
)
from askonce.bench.report.prose import Cell, Prose, Span, plain
from askonce.bench.report.results import Line
from askonce.bench.store import Store
from askonce.types import Pool

TOP = 3
QUESTION_WORDS, ANSWER_WORDS = 40, 45


@FIGURES.add("top-answers")
def top_answers(store: Store) -> list[Block]:
    """A table for each dataset with trained rows of two models."""
    return [block for scene in scenes(store) if (block := _table(scene)) is not None]


def _table(scene: Scene) -> Block | None:
    pair = best_two(scene)
    if pair is None:
        return None
    pools = differing(scene, *pair)
    queries = [pool.query.id for pool in pools]
    ranked = [rankings(row, queries) for row in pair]
    rows: list[list[Cell]] = []
    for pool in pools:
        rows.append([plain(shortened(pool.query.text, QUESTION_WORDS))])
        for place in range(min(TOP, len(pool.candidates))):
            answers = (answer_cell(pool, found[pool.query.id][place]) for found in ranked)
            rows.append([plain(f"{place + 1}"), *answers])
    about = (
        "The first three answers of the best trained row and of the next best of another model, "
        "right ones marked ✓: the question on which the first gains most over the second (average "
        "precision), then the one on which it loses most."
    )
    header = ["rank", *(row.model for row in pair)]
    return Prose(f"First answers of two rows: {scene.name}", about, header, rows) if rows else None


def best_two(scene: Scene) -> tuple[Line, Line] | None:
    """The best trained row, and the best of the other models."""
    rows = best_first(
        [row for row in scene.table.lines if row.kind == "trained"], scene.table.metric
    )
    other = next((row for row in rows if model_of(row) != model_of(rows[0])), None)
    return None if other is None else (rows[0], other)


def differing(scene: Scene, one: Line, other: Line) -> list[Pool]:
    """The questions with the greatest gain and the greatest loss of the first row."""
    values = [first(row).values(row.split, "MAP") for row in (one, other)]
    gains = {p.query.id: values[0][p.query.id] - values[1][p.query.id] for p in scene.pools}
    ordered = sorted(scene.pools, key=lambda pool: -gains[pool.query.id])
    found = [p for p in ordered[:1] if gains[p.query.id] > 0]
    return found + [p for p in ordered[-1:] if gains[p.query.id] < 0]


def answer_cell(pool: Pool, name: str) -> Cell:
    """The beginning of a candidate, with a mark if it is right."""
    at = next(n for n, post in enumerate(pool.candidates) if post.id == name)
    text = Span(shortened(pool.candidates[at].text, ANSWER_WORDS))
    return [Span("✓", "bold"), text] if pool.labels[at] > 0 else [text]
