"""Typed settings: a frozen dataclass read from a mapping or TOML, strict about every name."""

import dataclasses
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from askonce.errors import ConfigError, DataError, shorten
from askonce.registry import nearest

C = TypeVar("C")


def settings(kind: type[C], values: Mapping[str, Any], where: str = "") -> C:
    """Build the dataclass ``kind`` from ``values``; an unknown key is an error."""
    hints = get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown setting {where + key!r}; {nearest(key, known)}")
    read = {key: _convert(hints[key], value, where + key) for key, value in values.items()}
    try:
        return kind(**read)
    except TypeError as error:  # a setting without a default is missing
        raise ConfigError(f"{where or kind.__name__}: {error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise DataError(path, "a TOML file", "nothing at this path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, "TOML", str(error)) from None


def as_dict(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any settings dataclass
    """The settings as plain values, for JSON and TOML; reading them back gives an equal object."""
    return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}


def _plain(value: Any) -> Any:  # noqa: ANN401
    if dataclasses.is_dataclass(value):
        return as_dict(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _convert(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    if convert := _GENERIC.get(get_origin(hint)):
        return convert(hint, value, where)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return settings(typing.cast(type, hint), value, f"{where}.")
    if hint is float and type(value) is int and abs(value) < 2**1000:
        return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    raise ConfigError(f"{where} = {shorten(value)}; expected {getattr(hint, '__name__', hint)}")


def _convert_union(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    for choice in get_args(hint):
        if choice is type(None):
            if value is None:
                return None
            continue
        try:
            return _convert(choice, value, where)
        except ConfigError:
            continue
    raise ConfigError(f"{where} = {shorten(value)}; expected {hint}")


def _convert_tuple(hint: Any, value: Any, where: str) -> tuple[Any, ...]:  # noqa: ANN401
    inner = get_args(hint)
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{where} = {shorten(value)}; expected a list")
    kinds = [inner[0]] * len(value) if len(inner) == 2 and inner[1] is Ellipsis else list(inner)
    if len(kinds) != len(value):
        raise ConfigError(f"{where} = {shorten(value)}; expected a list of {len(kinds)}")
    return tuple(
        _convert(k, v, f"{where}[{n}]") for n, (k, v) in enumerate(zip(kinds, value, strict=True))
    )


def _convert_literal(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    if value in get_args(hint):
        return value
    choices = map(str, get_args(hint))
    raise ConfigError(f"{where} = {shorten(value)}; {nearest(str(value), choices)}")


def _convert_mapping(hint: Any, value: Any, where: str) -> dict[str, Any]:  # noqa: ANN401
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} = {shorten(value)}; expected a table")
    inner = get_args(hint)[1]
    return {key: _convert(inner, item, f"{where}.{key}") for key, item in value.items()}


_GENERIC: dict[Any, Callable[[Any, Any, str], Any]] = {
    Union: _convert_union,
    types.UnionType: _convert_union,
    Literal: _convert_literal,
    tuple: _convert_tuple,
    Mapping: _convert_mapping,
}
