"""``askonce ask``: one question, answered from an archive."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from askonce.cli.output import JsonFlag, console, write_json

if TYPE_CHECKING:
    from askonce.engine import Engine


def command(
    archive: Annotated[
        str, typer.Argument(help="A JSONL file of posts, or 'bicycles', the built-in one.")
    ],
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Results of each kind.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Find the questions already asked and the answers already given."""
    from askonce.archive import open_archive
    from askonce.engine import Engine

    engine = Engine(open_archive(archive))
    if json:
        write_json(as_json(engine, question, k))
    else:
        show(engine, question, k)


def as_json(engine: "Engine", question: str, k: int) -> dict[str, Any]:
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
            }
            for hit in engine.similar(question, k)
        ],
        "answers": [
            {
                "id": hit.post.id,
                "question_id": hit.question.id,
                "text": hit.post.text,
                "score": hit.score,
                "votes": hit.post.score,
                "accepted": hit.post.accepted,
            }
            for hit in engine.answers(question, k)
        ],
    }


def show(engine: "Engine", question: str, k: int) -> None:
    """The result as people read it."""
    out = console()
    similar, answers = engine.similar(question, k), engine.answers(question, k)
    if not similar and not answers:
        out.print("nothing in the archive shares a word with this question")
        return
    out.print("[bold]Already asked[/bold]")
    for hit in similar:
        mark = f"  (duplicate of {hit.duplicate_of})" if hit.duplicate_of else ""
        out.print(f"  {hit.score:6.2f}  {hit.post.id}  {hit.post.title}{mark}", markup=False)
    out.print("[bold]Already answered[/bold]")
    for answer in answers:
        votes = f"{answer.post.score or 0:+d}" + (", accepted" if answer.post.accepted else "")
        head = f"  {answer.score:6.2f}  {answer.post.id}  to “{answer.question.title}” ({votes})"
        out.print(head, markup=False)
        out.print(f"          {' '.join(answer.post.body.split())}", markup=False)
