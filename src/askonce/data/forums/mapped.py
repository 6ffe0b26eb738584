"""XML or JSON of questions and answers in any shape, by a mapping file that names the fields."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from askonce.data import formats
from askonce.data.formats.posts import plain_or_html
from askonce.data.formats.sources import display_name, web_address
from askonce.data.formats.xml import line_of, parse_xml
from askonce.data.forums import IMPORTERS, Imported, Source, converted, host_of, iso_date
from askonce.errors import ConfigError, DataError
from askonce.registry import nearest
from askonce.text.leaks import strip_notices
from askonce.types import Link, Post

_WHAT = "an XML or JSON file"
_QUESTION = (
    *("id", "title", "body", "score", "tags", "created", "url", "author", "author_url", "site"),
    *("licence", "duplicate_of"),
)
_ANSWER = ("items", "id", "body", "score", "accepted", "created", "url", "author", "author_url")
_TRUE = ("1", "true", "yes")


@dataclass(frozen=True)
class Mapped:
    """Where the questions are, and where each field of a question and of its answers is.

    A path is names with dots between: keys of JSON, tags of XML. ``@name`` is an attribute of XML,
    ``.`` the element itself.
    """

    items: str
    question: Mapping[str, str]
    answer: Mapping[str, str]


@IMPORTERS.add("mapped", "pairs", "xml", "json")
def read(source: Source) -> Iterator[Imported]:
    """Questions with their answers in an XML or JSON file, by the mapping of ``--map FILE.toml``.

    ``items`` is the path to each question; ``[question]`` and ``[answer]`` map our fields to paths
    below it; ``items`` of ``[answer]``, where a question has several.
    """
    path = source.need_file(_WHAT)
    mapping = read_mapping(source.mapping)
    if path.name.removesuffix(".gz").endswith(".xml"):
        source.expect(path)
        roots: Iterator[formats.Record | DataError] = _xml(path)
    else:
        roots = source.json_pages(_WHAT)
    yield from converted(_items(roots, mapping), lambda item: _posts(item, mapping, source))


def read_mapping(path: Path | None) -> Mapped:
    if path is None:
        raise ConfigError("this format needs --map FILE.toml, which says where the fields are")
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the mapping {str(path)!r}: {error}") from None
    _check_names(path, "", values, ("items", "question", "answer"))
    question, answer = values.get("question", {}), values.get("answer", {})
    _check_names(path, "[question] ", question, _QUESTION)
    _check_names(path, "[answer] ", answer, _ANSWER)
    if not {"title", "body"} & question.keys():
        raise ConfigError(f"{path.name}: [question] needs 'title' or 'body'")
    return Mapped(str(values.get("items", "")), question, answer)


def _check_names(path: Path, table: str, values: object, names: tuple[str, ...]) -> None:
    if not isinstance(values, dict):
        raise ConfigError(f"{path.name}: {table or 'a mapping '}is a table of names")
    for name, value in values.items():
        if name not in names:
            raise ConfigError(f"{path.name}: {table}has {name!r}; {nearest(name, names)}")
        if table and not isinstance(value, str):
            raise ConfigError(f"{path.name}: {table}{name} is {value!r}; expected a path")


def _xml(path: Path) -> Iterator[formats.Record | DataError]:
    try:
        root = parse_xml(path)
    except DataError as error:
        yield DataError(Path(path.name), error.expected, error.actual, error.line)
        return
    yield formats.Record(Path(path.name), None, {root.tag: root, "": root})


def _items(
    roots: Iterator[formats.Record | DataError], mapping: Mapped
) -> Iterator[formats.Record | DataError]:
    number = 0
    for root in roots:
        if isinstance(root, DataError):
            yield root
            continue
        top: Any = root.values.get("", root.values)
        items = list(_at(top, mapping.items))
        if not items:
            names = [k for k in root.values if k] or [child.tag for child in top]
            yield root.error(f"items at {mapping.items!r}", names[:10])
        for item in items:
            number += 1
            line = line_of(item) if isinstance(item, Element) else None
            yield formats.Record(Path(f"{root.path}, item {number}"), line, {"": item})


def _at(node: Any, path: str) -> Iterator[Any]:  # noqa: ANN401 - JSON or an element
    """Everything at a path below a node; lists on the way are gone through."""
    name, _, rest = path.partition(".") if path != "." else (".", "", "")
    if isinstance(node, list):
        for each in node:
            yield from _at(each, path)
    elif name in ("", "."):
        yield node
    elif isinstance(node, Element):
        if name[:1] == "@":
            yield from (node.attrib[name[1:]],) if name[1:] in node.attrib else ()
        else:
            for child in node.findall(name):
                yield from _at(child, rest)
    elif isinstance(node, dict) and name in node:
        yield from _at(node[name], rest)


def _texts(node: Any, path: str | None) -> list[str]:  # noqa: ANN401
    values = _at(node, path) if path else ()
    texts = ("".join(v.itertext()) if isinstance(v, Element) else v for v in values)
    return [str(text).strip() for text in texts if text is not None and str(text).strip()]


@dataclass(frozen=True)
class _Fields:
    record: formats.Record
    node: Any
    paths: Mapping[str, str]

    def get(self, name: str) -> str:
        return next(iter(_texts(self.node, self.paths.get(name))), "")

    def number(self, name: str) -> int | None:
        return replace(self.record, values={name: self.get(name)}).integer(name)


def _posts(item: formats.Record, mapping: Mapped, source: Source) -> Iterator[Post | Link]:
    fields = _Fields(item, item.values[""], mapping.question)
    number = item.path.name.rpartition(" ")[2]
    body, html = plain_or_html(fields.get("body"), source.code)
    url = web_address(fields.get("url"))
    question = Post(
        id=fields.get("id") or f"q-{number}",
        title=strip_notices(fields.get("title")).strip(),
        body=body,
        score=fields.number("score"),
        tags=tuple(_texts(fields.node, mapping.question.get("tags"))),
        created=iso_date(fields.get("created")),
        html=html,
        url=url,
        author=display_name(fields.get("author")),
        author_url=web_address(fields.get("author_url")),
        site=display_name(fields.get("site") or source.site) or host_of(url),
        licence=display_name(fields.get("licence")),
    )
    if not question.text.strip():
        raise item.error("a question with a title or a body", "neither")
    yield question
    if original := fields.get("duplicate_of"):
        yield Link(question.id, original)
    yield from _answers(item, question, mapping, source)


def _answers(
    item: formats.Record, question: Post, mapping: Mapped, source: Source
) -> Iterator[Post]:
    nodes = _at(item.values[""], mapping.answer.get("items", ".")) if mapping.answer else ()
    for number, node in enumerate(nodes, start=1):
        fields = _Fields(item, node, mapping.answer)
        body, html = plain_or_html(fields.get("body"), source.code)
        if body:
            yield Post(
                id=fields.get("id") or f"{question.id}-a{number}",
                body=body,
                kind="answer",
                parent=question.id,
                score=fields.number("score"),
                accepted=fields.get("accepted").lower() in _TRUE,
                created=iso_date(fields.get("created")),
                html=html,
                url=web_address(fields.get("url")) or question.url,
                author=display_name(fields.get("author")),
                author_url=web_address(fields.get("author_url")),
                site=question.site,
                licence=question.licence,
            )
