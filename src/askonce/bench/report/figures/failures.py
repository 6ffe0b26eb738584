"""Where rankings depend on luck, and where the best row fails."""

from askonce.bench.report.blocks import Block, Cell, Table
from askonce.bench.report.figures import FIGURES
from askonce.bench.report.inside import Scene, best_first, rankings, scenes, shortened
from askonce.bench.report.results import ResultTable, tables
from askonce.bench.store import Store

SHOWN = 3
WORDS = 40


@FIGURES.add("ties-and-failures")
def ties_and_failures(store: Store) -> list[Block]:
    return [
        *_ties(tables(store)),
        *(_failures(scene) for scene in scenes(store) if scene.pools),
    ]


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
        [model, *(_count(counts.get((model, table.title))) for table in tables)] for model in tied
    ]
    about = (
        "Right answers with the same score as a wrong one of their question, so that their rank "
        "depends on luck; trec_eval orders them by id. Of the lowest seed of each row; the "
        f"{len(models) - len(tied)} rows that are not listed have none."
    )
    header = ["model", *(f"{table.dataset} {table.split}" for table in tables)]
    return [Table("Tied right answers", about, header, rows)]


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _failures(scene: Scene) -> Block:
    result = best_first(scene.table.results, scene.table.metric)[0]
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
    return Table(f"Failures: {scene.name}", about, header, rows, quotes=True)
