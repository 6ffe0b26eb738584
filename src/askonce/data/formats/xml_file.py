"""XML with line numbers, read without trusting it: a file that declares entities is refused."""

from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from askonce.errors import DataError
from askonce.files import whole_text

_LINE = "{askonce}line"  # no attribute of a file can have a name in braces


def parse_xml(path: Path) -> Element:
    """The root element; each element knows its line, see :func:`line_of`."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(tag, {**attributes, _LINE: str(parser.CurrentLineNumber)})

    # A DTD may describe elements, as SemEval's does; entities are what makes XML dangerous.
    def refuse(name: str, *_: object) -> NoReturn:
        raise DataError(path, "no entity declarations", name, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(whole_text(path), True)
    except expat.ExpatError as error:
        found = expat.errors.messages[error.code]
        raise DataError(path, "well-formed XML", found, error.lineno) from None
    return builder.close()


def line_of(element: Element) -> int:
    """The line on which the element starts."""
    return int(element.attrib[_LINE])


def attribute(path: Path, element: Element, name: str) -> str:
    """The value of an attribute that must be there."""
    value = element.get(name)
    if value is None:
        raise DataError(
            path, f"an attribute {name!r}", f"<{element.tag}> without it", line_of(element)
        )
    return value


def child(path: Path, element: Element, tag: str) -> Element:
    """The first child of this name, which must be there."""
    found = element.find(tag)
    if found is None:
        raise DataError(path, f"<{tag}>", f"<{element.tag}> without it", line_of(element))
    return found


def child_text(path: Path, element: Element, tag: str) -> str:
    """The text of a child that must be there; an empty element is an empty text."""
    return child(path, element, tag).text or ""
