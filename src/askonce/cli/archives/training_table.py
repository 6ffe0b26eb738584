"""What a training put in service, and the figures of every system that it compared."""

from typing import TYPE_CHECKING

import typer

from askonce.cli.output import console

if TYPE_CHECKING:
    from askonce.ranking.manifest import Serving, TeacherReading

METRICS = ("MAP", "MRR", "P@1", "P@5", "nDCG@10")
NAMES = {
    "bm25": "BM25",
    "pair": "pair model",
    "without pair": "without pair model",
    "fused": "in service",
    "bm25 of all posts": "BM25, all posts",
    "fused of all posts": "in service at first, all posts",
}


def show_serving(name: str, serving: "Serving") -> None:
    """The table of a task, BM25 first and what serves last, and a line that sums it up."""
    print_line = console().print
    print_line(_title(name, serving), markup=False, soft_wrap=True)
    if serving.figures:
        print_line(_table(serving))
    if serving.teacher is not None:
        reading = _reading(serving.teacher)
        print_line(f"teacher {serving.teacher.name}: {reading}", markup=False, soft_wrap=True)
    if "test" in serving.figures:
        print_line(summary(serving), markup=False, soft_wrap=True)
    if serving.encoder is None and serving.pair is None:
        typer.echo(
            f"note: nothing was better than BM25 on dev for {name}; {_hint(serving)} may help",
            err=True,
        )
    elif serving.labels == "titles":
        typer.echo(
            "note: no duplicates are marked, so titles and bodies stand in for them; that flatters "
            "BM25, since a body repeats its title",
            err=True,
        )


def summary(serving: "Serving") -> str:
    """MAP on test of BM25, of the teacher untrained, of what serves, and of suggestions."""
    test, untrained = serving.figures["test"], serving.untrained
    systems = {"BM25": "bm25"}
    if serving.teacher is not None and untrained is not None:
        systems[f"{serving.teacher.name} untrained with BM25"] = untrained
    systems |= {"in service": "fused", "while typing": "while typing"}
    parts = [
        f"{text} {test[system]['MAP']:.3f}" for text, system in systems.items() if system in test
    ]
    return f"MAP on test (n={serving.queries['test']:,}): {', '.join(parts)}"


def _title(name: str, serving: "Serving") -> str:
    weights = serving.weights
    parts = [f"{weight:g} {stage}" for stage, weight in weights.items()]
    stages = " + ".join(parts if len(parts) > 1 else weights)
    models = [model for model in (serving.encoder, serving.pair) if model]
    learnt = (
        f"learnt from {serving.labels}, {serving.seconds:.0f} s" if serving.labels else "no labels"
    )
    return f"{name}: {stages} serves ({', '.join([*models, learnt])})"


def _table(serving: "Serving") -> object:
    from rich.table import Table

    table = Table("split", "system", *METRICS)
    for split in ("dev", "test"):
        for system, values in serving.figures.get(split, {}).items():
            shown = [f"{values[metric]:.4f}" for metric in METRICS]
            if interval := serving.intervals.get(split, {}).get(system):
                shown[0] += f" [{interval[0]:.3f}, {interval[1]:.3f}]"
            label = _label(system, serving)
            table.add_row(f"{split} (n={serving.queries[split]:,})", label, *shown)
    return table


def _label(system: str, serving: "Serving") -> str:
    """A system by the name of its encoder: alone, or fused with BM25 as is best on dev."""
    if system in NAMES:
        return NAMES[system]
    kind, _, encoder = system.partition(" ")
    if kind == "vectors":
        return f"{encoder or _first_encoder(serving)} alone"
    return f"{encoder} fused" if kind == "fused" else system


def _first_encoder(serving: "Serving") -> str:
    """The encoder in service, else the first one that was tried: it has no row "vectors NAME"."""
    if serving.encoder is not None:
        return serving.encoder.rpartition("/")[2].rpartition(":")[2]
    systems = serving.figures["dev"]
    fused = (name.removeprefix("fused ") for name in systems if name.startswith("fused "))
    return next((name for name in fused if f"vectors {name}" not in systems), "vectors")


def _hint(serving: "Serving") -> str:
    if serving.teacher is None:
        return "more marks, or a teacher (pip install 'askonce[minilm]'),"
    return "more marks" if serving.teacher.tried else "more --minutes for the teacher"


def _reading(teacher: "TeacherReading") -> str:
    """What a teacher has read, and what follows from that."""
    text = f"read {teacher.read:,} of {teacher.posts:,} posts"
    if not teacher.tried:
        return f"{text}: not compared, for lack of --minutes; an engine reads on"
    if teacher.read == teacher.posts:
        return text
    return f"{text}: measured on these unless it says all posts; an engine reads the others"
