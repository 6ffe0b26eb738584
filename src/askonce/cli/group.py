"""How the program reads its commands, earlier spellings included, and how it ends."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

# earlier names of options, by command
RENAMED = {
    "export": {"--to": "--out"},
    "report": dict.fromkeys(("--html", "--markdown", "--summary", "--curves"), "--out"),
}


class Commands(TyperGroup):
    """Reads earlier spellings with a note; Ctrl-C and a closed pipe end a command in one way."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - click's types
        return super().resolve_command(ctx, current_spelling(args))

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - click's types
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:  # click would say "Aborted!"
            typer.echo("askonce: interrupted", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of our output, such as `head`, has closed it
            _discard_output()
            raise typer.Exit(0) from None


def current_spelling(arguments: Sequence[str]) -> list[str]:
    """The arguments with today's names of commands and options; a note on stderr for each."""
    verb, *rest = arguments
    if verb == "train" and any(argument.endswith(".toml") for argument in rest):
        _note("to train a recipe, use `askonce train-recipe`")
        verb = "train-recipe"
    if verb == "bench":
        rest = _figures_file(rest)
    renamed = RENAMED.get(verb, {})
    for position, argument in enumerate(rest):
        name, equals, value = argument.partition("=")
        if name in renamed:
            _note(f"{name} is now {renamed[name]}")
            rest[position] = renamed[name] + equals + value
    return [verb, *rest]


def _figures_file(arguments: list[str]) -> list[str]:
    """``--json FILE`` of earlier versions as the hidden option ``--json-file FILE``."""
    index = next((n for n, one in enumerate(arguments) if one.startswith("--json")), None)
    if index is None:
        return arguments
    _, equals, value = arguments[index].partition("=")
    rest = arguments[index + 1 :]
    if not equals and rest and (rest[0] == "-" or rest[0].endswith(".json")):
        value, rest = rest[0], rest[1:]
    if not value:
        return arguments
    _note("--json prints to stdout; write `--json > FILE`")
    option = ["--json"] if value == "-" else ["--json-file", value]
    return [*arguments[:index], *option, *rest]


def _note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)


def _discard_output() -> None:
    """Let what is still buffered go nowhere, or Python would complain of it at exit."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # no file, or closed
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
