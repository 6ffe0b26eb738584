"""What the two readers of SemEval-2016 task 3 share: where files are, how text is cleaned."""

from collections.abc import Mapping
from pathlib import Path

from askonce.errors import DataError
from askonce.files import descend, find

OFFICIAL = "SemEval2016-Task3-CQA-QL-{}.xml"
_PLACES = (".", "raw", "train", "dev", "test")  # the official archives keep each part in a folder


def home(folder: Path) -> Path:
    """The folder of the task's files."""
    return descend(folder, "semeval2016_task3")


def locate(folder: Path, *names: str) -> Path | None:
    """The first of these files, in the folder itself or in one of the task's own sub-folders."""
    return next(filter(None, (find(folder / place, *names) for place in _PLACES)), None)


def clean(text: str) -> str:
    """One line of text without the CSV quoting that the task's authors left in it.

    In these files a quotation mark of the writer is always doubled; a single one at either end is
    the border of a CSV field, of which a subject may hold the left one and its body the right one.
    """
    text = " ".join(text.split())
    if '"' not in text:
        return text
    if (len(text) - len(text.lstrip('"'))) % 2:
        text = text[1:]
    if (len(text) - len(text.rstrip('"'))) % 2:
        text = text[:-1]
    return text.replace('""', '"').strip()


def judged(path: Path, line: int, label: str, labels: Mapping[str, int]) -> int:
    """The number of a label's name."""
    if label not in labels:
        raise DataError(path, " or ".join(labels), label, line)
    return labels[label]
