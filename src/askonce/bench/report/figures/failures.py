"""Where rankings are a matter of luck, and where the best row fails."""

from askonce.bench.report.blocks import Block, Grid
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.inside import Scene, best_first, first, rankings, scenes, shortened
from askonce.bench.report.prose import Cell, Prose, plain
from askonce.bench.report.results import ResultTable, tables
from askonce.bench.store import Store

SHOWN = 3
WORDS = 40


@FIGURES.add("ties-and-failures")
def ties_and_failures(store: Store) -> list[Block]:
    """A table of ties over all datasets, and one of failures for each."""
    found = tables(store)
    return [*ties(found), *(_failures(scene) for scene in scenes(store) if scene.pools)]


def ties(found: list[ResultTable]) -> list[Block]:
    """Right answers that share their score with a wrong one, of the rows that have any."""
    counts = {
        (row.model, table.title): first(row).figures[row.split]["tied_positives"]
        for table in found
        for row in table.lines
    }
    models = list(dict.fromkeys(model for model, _ in counts))
    tied = [m for m in models if any(counts.get((m, table.title)) for table in found)]
    if not tied:
        return []
    rows = [
        [model, *(_count(counts.get((model, table.title))) for table in found)] for model in tied
    ]
    about = (
        "Right answers with the same score as a wrong one of their question, whose place is "
        "therefore luck; trec_eval orders them by id. Of the lowest seed of each row; the "
        f"{len(models) - len(tied)} rows that are not listed have none."
    )
    header = ["model", *(f"{table.dataset} {table.split}" for table in found)]
    return [Grid("Tied right answers", about, header, rows)]


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _failures(scene: Scene) -> Block:
    row = best_first(scene.table.lines, scene.table.metric)[0]
    ranks = first(row).values(row.split, "MRR")
    pools = sorted(scene.pools, key=lambda pool: ranks[pool.query.id])[:SHOWN]
    ranked = rankings(row, [pool.query.id for pool in pools])
    rows: list[list[Cell]] = []
    for pool in pools:
        posts = {post.id: post for post in pool.candidates}
        right = {post.id for post in pool.positives}
        order = ranked[pool.query.id]
        place = next(n for n, name in enumerate(order) if name in right)
        rows.append(
            [
                plain(shortened(pool.query.text, WORDS)),
                plain(f"{place + 1} of {len(order)}"),
                plain(shortened(posts[order[place]].text, WORDS)),
                plain(shortened(posts[order[0]].text, WORDS)),
            ]
        )
    about = (
        f"The questions on which {row.model}, the best row, ranks the first right answer lowest."
    )
    header = ["question", "rank", "first right answer", "put first"]
    return Prose(f"Failures: {scene.name}", about, header, rows)
