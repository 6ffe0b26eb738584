"""Typed settings: frozen dataclasses read from TOML or JSON, strict about names and types."""

import dataclasses
import json
import tomllib
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Lt

from askonce.errors import ConfigError, DataError, shorten
from askonce.registry import nearest

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

C = TypeVar("C")
# numbers within limits, which ``settings`` checks
AtLeastOne = Annotated[int, Ge(1)]
AtLeastZero = Annotated[int, Ge(0)]
NotNegative = Annotated[float, Ge(0)]
AboveZero = Annotated[float, Gt(0)]
BelowOne = Annotated[float, Ge(0), Lt(1)]
LIMITS = {"ge": "at least", "gt": "more than", "lt": "less than"}  # as pydantic names them


def settings(kind: type[C], values: Mapping[str, Any], where: str = "") -> C:
    """The dataclass ``kind`` with these values; unknown names and wrong types are errors.

    ``where`` is a prefix for error messages, such as ``"model."``.
    """
    from pydantic import ValidationError

    try:
        # as JSON, since a list may then stand for a tuple and a table for a dataclass
        adapter = _adapter(cast(Hashable, kind))
        return cast(C, adapter.validate_json(json.dumps(dict(values), default=str)))
    except ValidationError as error:
        problems = error.errors(include_url=False)
    unknown = (p for p in problems if p["type"] == "unexpected_keyword_argument")
    problem = next(unknown, problems[0])
    raise ConfigError(_message(kind, values, problem, where))


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DataError(path, "a TOML file", "nothing at this path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, "TOML", str(error)) from None


def as_dict(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any settings dataclass
    """The settings as plain values, for JSON and TOML; ``settings`` reads them back."""
    return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}


def _plain(value: Any) -> Any:  # noqa: ANN401
    if dataclasses.is_dataclass(value):
        return as_dict(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":  # noqa: ANN401 - any dataclass
    from pydantic import ConfigDict, TypeAdapter

    # pydantic takes a config for an optional dataclass only, and applies it to the ones inside
    return TypeAdapter(kind | None, config=ConfigDict(extra="forbid", strict=True))


def _message(kind: type, values: Mapping[str, Any], error: "ErrorDetails", where: str) -> str:
    """What is wrong, at which setting, and what is expected there."""
    problem, loc = error["type"], error["loc"]
    parent: Any = kind
    hint: Any = kind
    value: Any = values
    path = ""
    for step in loc:
        parent, hint = hint, _inner(hint, step)
        known = isinstance(value, Sequence) or (isinstance(value, Mapping) and step in value)
        value = value[step] if known else None
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    where += path.removeprefix(".")
    if problem == "unexpected_keyword_argument":
        return f"unknown setting {where!r}; {nearest(str(loc[-1]), get_type_hints(parent))}"
    if problem in ("missing", "json_invalid"):
        return f"{where or kind.__name__} is {'missing' if loc else 'no table of settings'}"
    if get_origin(hint) is Literal:
        return f"{where} = {shorten(value)}; {nearest(str(value), map(str, get_args(hint)))}"
    limits = [
        f"{LIMITS[key]} {limit}" for key, limit in error.get("ctx", {}).items() if key in LIMITS
    ]
    value = float(value) if limits and hint is float else value
    return f"{where} = {shorten(value)}; expected {(*limits, _described(hint))[0]}"


def _inner(hint: Any, step: int | str) -> Any:  # noqa: ANN401 - type hints
    """The type hint of one field, item or entry; that of T for ``T | None``."""
    if dataclasses.is_dataclass(hint):
        inner = get_type_hints(hint).get(str(step), Any)
    else:
        args = get_args(hint)
        inner = args[step] if isinstance(step, int) and Ellipsis not in args else args[-1]
        inner = args[0] if inner is Ellipsis else inner
    without_none = [arg for arg in get_args(inner) if arg is not type(None)]
    return without_none[0] if type(None) in get_args(inner) else inner


def _described(hint: Any) -> str:  # noqa: ANN401 - a type hint
    if get_origin(hint) is tuple:
        return "a list"
    if dataclasses.is_dataclass(hint) or get_origin(hint) is not None:
        return "a table"
    return getattr(hint, "__name__", str(hint))
