"""Texts published as word indices (``idx_12 idx_7 ...``) with a vocabulary, as InsuranceQA is."""

from collections.abc import Callable
from pathlib import Path

from askonce.errors import DataError
from askonce.files import rows
from askonce.types import Post

Decoder = Callable[[Path, int, str], str]


def decoder(vocabulary: Path) -> Decoder:
    """A function (file, line, indices) -> text that looks words up in a vocabulary file."""
    words: dict[str, str] = {}
    for number, (index, word) in rows(vocabulary, 2):
        if index in words:
            raise DataError(vocabulary, "each index once", index, number)
        words[index] = word

    def decode(path: Path, line: int, indices: str) -> str:
        try:
            return " ".join([words[index] for index in indices.split()])
        except KeyError as error:
            raise DataError(path, f"indices of {vocabulary}", error.args[0], line) from None

    return decode


def plain(path: Path, line: int, text: str) -> str:
    """The text itself: the decoder of a file that is not encoded."""
    return text


def read_answers(path: Path, decode: Decoder) -> dict[str, Post]:
    """The posts of a table of answer id and text, by id; an id that comes twice is an error."""
    answers: dict[str, Post] = {}
    for number, (name, text) in rows(path, 2):
        if name in answers:
            raise DataError(path, "each answer id once", name, number)
        answers[name] = Post(name, body=decode(path, number, text), kind="answer")
    return answers
