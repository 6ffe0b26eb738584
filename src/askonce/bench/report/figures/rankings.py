"""Average ranks over datasets, first answers side by side, ties and failures."""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from scipy.stats import rankdata

from askonce.bench.report.blocks import Block, Cell, Span, Table, number_text
from askonce.bench.report.figures import FIGURES, add_figure
from askonce.bench.report.inside import (
    Scene,
    best_rows_first,
    rankings,
    scenes,
    shortened,
)
from askonce.bench.report.results import Result, ResultTable, last_tables, tables
from askonce.bench.store import Store
from askonce.types import Pool


@FIGURES.add("average-rank")
def average_rank(store: Store) -> list[Block]:
    chosen = _sharing_most(last_tables(store))
    if not chosen:
        return []
    models = _shared_models(chosen)
    ranks = {table.dataset: _ranks(table, models) for table in chosen}
    means = {model: fmean(by_model[model] for by_model in ranks.values()) for model in models}
    rows = [
        [model, *(f"{by_model[model]:.1f}" for by_model in ranks.values()), f"{means[model]:.2f}"]
        for model in sorted(models, key=lambda model: means[model])
    ]
    about = (
        f"Mean of the rank by MAP and the rank by MRR on each test set, among the {len(models)} "
        f"rows that were run on all {len(chosen)} of these datasets; 1 is best."
    )
    return [Table("Average rank", about, ["model", *ranks, "average"], rows)]


def _sharing_most(tables: Sequence[ResultTable]) -> list[ResultTable]:
    """Two or more datasets for which datasets times common rows is greatest."""
    groups = [
        list(group) for size in range(2, len(tables) + 1) for group in combinations(tables, size)
    ]
    best = max(groups, key=lambda group: len(group) * len(_shared_models(group)), default=[])
    return best if len(_shared_models(best)) > 1 else []


def _shared_models(tables: Sequence[ResultTable]) -> list[str]:
    names = [[result.model for result in table.results] for table in tables]
    return [name for name in names[0] if all(name in row for row in names)] if names else []


def _ranks(table: ResultTable, models: Sequence[str]) -> dict[str, float]:
    """The mean of both ranks; equal values share theirs."""
    by_model = {result.model: result for result in table.results}
    by_map, by_mrr = (
        rankdata([-by_model[model].mean(metric) for model in models]) for metric in ("MAP", "MRR")
    )
    return dict(zip(models, ((by_map + by_mrr) / 2).tolist(), strict=True))


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
    return Table(title, ABOUT, header, rows, quotes=scene.name) if rows else None


def best_two(scene: Scene) -> tuple[Result, Result] | None:
    """The best trained row, and the best of the other models."""
    trained = [result for result in scene.table.results if result.kind == "trained"]
    ordered = best_rows_first(trained, scene.table.metric)
    models = [result.first.recipe.get("model") for result in ordered]
    other = next((r for r, model in zip(ordered, models, strict=True) if model != models[0]), None)
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


SHOWN = 3
WORDS = 40


@FIGURES.add("ties-and-failures")
def ties_and_failures(store: Store) -> list[Block]:
    failures = (_failures(scene) for scene in scenes(store) if scene.pools)
    return [*_ties(tables(store)), *(block for block in failures if block is not None)]


def _ties(tables: list[ResultTable]) -> list[Block]:
    """Right answers that share their score with a wrong one, of the rows that have any."""
    counts = {
        (result.model, table.title): result.first.figures[result.split]["tied_positives"]
        for table in tables
        for result in table.results
    }
    models = list(dict.fromkeys(model for model, _ in counts))
    tied = [m for m in models if any(counts.get((m, table.title)) for table in tables)]
    if not tied:
        return []
    rows = [
        [model, *(number_text(counts.get((model, table.title))) for table in tables)]
        for model in tied
    ]
    about = (
        "Right answers with the same score as a wrong one of their question, so that their rank "
        "depends on luck; trec_eval orders them by id. Of the lowest seed of each row; the "
        f"{len(models) - len(tied)} rows that are not listed have none."
    )
    header = ["model", *(f"{table.dataset} {table.split}" for table in tables)]
    return [Table("Tied right answers", about, header, rows)]


def _failures(scene: Scene) -> Block | None:
    ordered = best_rows_first(scene.table.results, scene.table.metric)
    if not ordered:
        return None
    result = ordered[0]
    reciprocal_ranks = result.first.values(result.split, "MRR")
    pools = sorted(scene.pools, key=lambda pool: reciprocal_ranks[pool.query.id])[:SHOWN]
    ranked = rankings(result, [pool.query.id for pool in pools])
    rows: list[list[Cell]] = []
    for pool in pools:
        posts = {post.id: post for post in pool.candidates}
        right = {post.id for post in pool.positives}
        order = ranked[pool.query.id]
        index = next(n for n, name in enumerate(order) if name in right)
        rows.append(
            [
                shortened(pool.query.text, WORDS),
                f"{index + 1} of {len(order)}",
                shortened(posts[order[index]].text, WORDS),
                shortened(posts[order[0]].text, WORDS),
            ]
        )
    about = (
        f"The questions on which {result.model}, the best row, ranks the first right answer lowest."
    )
    header = ["question", "rank", "first right answer", "ranked first"]
    return Table(f"Failures: {scene.name}", about, header, rows, quotes=scene.name)
