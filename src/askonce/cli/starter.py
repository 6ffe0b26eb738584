"""Rebuilds the starter, the student inside the package: ``python -m askonce.cli.starter``."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from askonce.cli.output import console
from askonce.cli.progress import training_progress


def command(
    out: Annotated[Path, Option(help="The file to write.")],
    wordnet: Annotated[Path, Option(help="WordNet's database folder.")] = Path(
        "/usr/share/wordnet"
    ),
    words: Annotated[
        Path | None, Option(help="A list of words, the most frequent first; .gz or plain.")
    ] = None,
    teacher: Annotated[
        str, Option(help="A sentence-transformers name or folder, or minilm.")
    ] = "minilm",
    texts: Annotated[
        int | None, Option(help="Read this many texts, the common ones first; else all.")
    ] = None,
) -> None:
    """Teach the starter on WordNet; texts that the teacher has read come from its cache."""
    from askonce.teachers import load_teacher
    from askonce.training.events import Phase, Reading
    from askonce.training.starter.learn import StarterSettings, learn_starter
    from askonce.training.starter.texts import starter_texts

    with training_progress() as on_event:
        on_event(Phase("reading texts"))
        source = load_teacher(teacher)
        read = starter_texts(wordnet, words)[:texts]
        vectors = source.encode(read, lambda done, total: on_event(Reading(done, total)))
        starter, record = learn_starter(read, vectors, StarterSettings(), on_event)
        about = {"teacher": source.name, "texts": str(len(read)), "epoch": str(record["epoch"])}
        starter.save(out, about)
    console().print(
        f"{starter.name}: {len(starter.words)} words from {len(read)} texts in {out}, "
        f"{out.stat().st_size / 1e6:.1f} MB; cosine to the teacher {record['dev']['cosine']:.3f}"
    )


if __name__ == "__main__":
    typer.run(command)
