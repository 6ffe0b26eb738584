"""Generates the reference pages of docs/ from the program: ``make docs``."""

from pathlib import Path

import typer

from askonce.cli.output import first_line


def pages() -> dict[str, str]:
    return {"cli.md": _commands(), "models.md": _models(), "datasets.md": _datasets()}


def _commands() -> str:
    from askonce.cli import app

    program = typer.main.get_command(app)
    context = typer.Context(program, info_name="askonce", terminal_width=100)
    parts = ["# Command line", "", *_help("askonce", program, context)]
    for name in sorted(program.commands):  # type: ignore[attr-defined]
        command = program.commands[name]  # type: ignore[attr-defined]
        inner = typer.Context(command, info_name=name, parent=context, terminal_width=100)
        parts += _help(f"askonce {name}", command, inner)
    return "\n".join(parts)


def _help(title: str, command: object, context: object) -> list[str]:
    text = command.get_help(context)  # type: ignore[attr-defined]
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return [f"## {title}", "", "```text", *lines, "```", ""]


def _models() -> str:
    import dataclasses

    from askonce.models import MODELS
    from askonce.models.base import Encoder

    parts = ["# Models", ""]
    for name in MODELS.names():
        model = MODELS[name]
        kind = "encoder" if issubclass(model, Encoder) else "pair matcher"
        parts += [f"## {name}", "", f"{first_line(model.__doc__)} ({kind})", ""]
        parts += ["| setting | default |", "|---|---|"]
        for setting in dataclasses.fields(model.Config):
            parts.append(f"| `{setting.name}` | `{setting.default!r}` |")
        parts.append("")
    return "\n".join(parts)


def _datasets() -> str:
    from askonce.data.benchmarks import DATASETS

    rows = [f"| `{name}` | {first_line(DATASETS[name].__doc__)} |" for name in DATASETS.names()]
    return "\n".join(["# Datasets", "", "| name | what it is |", "|---|---|", *rows, ""])


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    typer.run(main)
