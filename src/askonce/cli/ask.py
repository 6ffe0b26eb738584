"""``askonce ask``: one question, answered from an archive."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askonce.cli.output import JsonFlag, console, progress, write_json

if TYPE_CHECKING:
    from askonce.engine import RankedAnswer, SimilarQuestion

ArchivePlace = Annotated[
    str,
    typer.Argument(
        help="An archive folder, a postgresql:// address, a JSONL file of posts, or 'bicycles', "
        "the built-in one."
    ),
]
WorkFolder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        help="Where the indexes and models of an archive with an address are. Unless given: "
        "NAME.askonce here.",
        show_default=False,
    ),
]
IndexAddress = Annotated[
    str | None,
    typer.Option(
        "--index",
        help="Search on Milvus: NAME.db for milvus-lite, http://… for a server. Unless given: "
        "in the archive's folder.",
        show_default=False,
    ),
]
SHOWN = 300  # characters of an answer on the screen


def command(
    archive: ArchivePlace,
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Results of each kind.")] = 5,
    ranker: Annotated[
        str, typer.Option("--ranker", help="best, or one stage of it: bm25, vectors, fused.")
    ] = "best",
    votes: Annotated[
        bool, typer.Option("--votes", help="Let votes and accepted marks count for answers.")
    ] = False,
    index: IndexAddress = None,
    folder: WorkFolder = None,
    json: JsonFlag = False,
) -> None:
    """Find the questions already asked and the answers already given."""
    from askonce.engine import Engine

    with (
        progress("opening the archive") as say,
        Engine.open(
            archive, index=index, folder=folder, on_event=lambda event: say(str(event))
        ) as engine,
    ):
        say("searching")
        similar, answers = engine.ask(question, k, ranker, votes)
    if json:
        write_json(as_json(similar, answers))
    else:
        show(similar, answers)


def as_json(similar: "list[SimilarQuestion]", answers: "list[RankedAnswer]") -> dict[str, Any]:
    """The result as scripts read it."""
    return {
        "similar": [
            {
                "id": hit.post.id,
                "title": hit.post.title,
                "score": hit.score,
                "duplicate_probability": hit.duplicate_probability,
                "duplicate_of": hit.duplicate_of,
                "answers": hit.answers,
                "accepted": hit.accepted,
                "stages": hit.stages,
                "words": hit.words,
            }
            for hit in similar
        ],
        "answers": [
            {
                "id": hit.post.id,
                "question_id": hit.question.id,
                "question_title": hit.question.title,
                "text": hit.post.text,
                "score": hit.score,
                "votes": hit.post.score,
                "accepted": hit.post.accepted,
                "stages": hit.stages,
                "words": hit.words,
            }
            for hit in answers
        ],
    }


def show(similar: "list[SimilarQuestion]", answers: "list[RankedAnswer]") -> None:
    """The result as people read it."""
    out = console()
    if not similar and not answers:
        out.print("nothing in the archive shares a word with this question")
        return
    out.print("[bold]Already asked[/bold]")
    for hit in similar:
        chance = hit.duplicate_probability
        same = f"  {chance:.0%} the same" if chance is not None else ""
        mark = f"  (duplicate of {hit.duplicate_of})" if hit.duplicate_of else ""
        title = hit.post.title or " ".join(hit.post.body.split())[:80]
        out.print(f"  {hit.score:6.2f}{same}  {hit.post.id}  {title}{mark}", markup=False)
    out.print("[bold]Already answered[/bold]")
    for answer in answers:
        known = [f"{answer.post.score:+d}"] if answer.post.score is not None else []
        known += ["accepted"] if answer.post.accepted else []
        marks = f" ({', '.join(known)})" if known else ""
        head = f"  {answer.score:6.2f}  {answer.post.id}  to “{answer.question.title}”{marks}"
        out.print(head, markup=False)
        text = " ".join(answer.post.body.split())
        shown = text if len(text) <= SHOWN else text[:SHOWN].rsplit(" ", 1)[0] + " …"
        out.print(f"          {shown}", markup=False)
