"""``askonce ask``: answer one question from an archive."""

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from askonce.cli.options import ArchiveLocation, IndexAddress, JsonFlag, WorkFolder
from askonce.cli.output import console, write_json
from askonce.cli.progress import engine_progress

if TYPE_CHECKING:
    from askonce.engine import RankedAnswer, SimilarQuestion

ANSWER_CHARS = 300  # of an answer on the screen
INDENT = 10  # of the text of an answer
# fields of a hit that are only shown over HTTP
HTTP_ONLY = {"excerpt", "tags", "created", "html"}


def ask(
    archive: ArchiveLocation,
    question: Annotated[str, Argument(help="The question to answer.")],
    k: Annotated[int, Option("--k", "-k", min=1, help="Number of results per kind.")] = 5,
    ranker: Annotated[
        str, Option(help="best, or fewer stages: bm25, vectors, fused, typed.")
    ] = "best",
    votes: Annotated[
        bool, Option("--votes/--no-votes", help="Prefer upvoted and accepted answers.")
    ] = True,
    index: IndexAddress = None,
    folder: WorkFolder = None,
    json: JsonFlag = False,
) -> None:
    """Find similar questions and their answers."""
    from askonce.engine import Engine

    with (
        engine_progress("opening the archive") as on_event,
        Engine.open(archive, index=index, folder=folder, on_event=on_event) as engine,
    ):
        similar, answers = engine.ask(question, k, ranker, votes)
    if json:
        write_json(as_json(similar, answers))
    else:
        show(similar, answers)


def as_json(similar: "list[SimilarQuestion]", answers: "list[RankedAnswer]") -> dict[str, Any]:
    return {
        "similar": [hit.model_dump(exclude={*HTTP_ONLY, "votes"}) for hit in similar],
        "answers": [hit.model_dump(exclude=HTTP_ONLY) for hit in answers],
    }


def show(similar: "list[SimilarQuestion]", answers: "list[RankedAnswer]") -> None:
    from rich.text import Text

    out = console()
    if not similar and not answers:
        out.print("Nothing close was asked before: no post shares a word with this question.")
        return
    if judged := verdict(similar):
        out.print(judged, markup=False)
    out.print("[bold]Similar questions[/bold]")
    for hit in similar:
        probability = hit.duplicate_probability
        same = f"  {probability:.0%} the same" if probability is not None else ""
        more = len(hit.folded)
        mark = f"  (and {more} duplicate{'s' * (more > 1)} of it)" if more else ""
        title = hit.title or hit.excerpt[:80]
        out.print(f"  {hit.score:6.2f}{same}  {hit.id}  {title}{mark}", markup=False)
    out.print("[bold]Answers[/bold]")
    for answer in answers:
        facts = [f"{answer.votes:+d}"] if answer.votes is not None else []
        facts += ["accepted"] if answer.accepted else []
        marks = f" ({', '.join(facts)})" if facts else ""
        head = f"  {answer.score:6.2f}  {answer.id}  to “{answer.question_title}”{marks}"
        out.print(head, markup=False)
        text = " ".join(answer.post.body.split())
        if len(text) > ANSWER_CHARS:
            text = text[:ANSWER_CHARS].rsplit(" ", 1)[0] + " …"
        for line in Text(text).wrap(out, out.width - INDENT):
            out.print(" " * INDENT + line.plain.rstrip(), markup=False)


def verdict(similar: "list[SimilarQuestion]") -> str | None:
    """Whether it was asked before; None where nothing is calibrated to tell."""
    if all(hit.duplicate_probability is None for hit in similar) and not any(
        hit.claimed for hit in similar
    ):
        return None
    if same := sum(hit.claimed for hit in similar):
        return f"Already asked: {same} of these {'is' if same == 1 else 'are'} likely the same."
    if close := sum(hit.close for hit in similar):
        return (
            f"Not clearly asked before: {close} of these {'comes' if close == 1 else 'come'} close."
        )
    return "Nothing close was asked before. These are the closest questions."
