"""SemEval-2016 task 3, subtask B (Qatar Living): a new question and the old ones found for it."""

from collections.abc import Callable
from pathlib import Path

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pool_builder import PoolBuilder
from askonce.data.benchmarks.semeval_files import OFFICIAL, clean, home, judged, locate
from askonce.data.formats.xml_file import attribute, child, child_text, line_of, parse_xml
from askonce.errors import AskonceError
from askonce.files import rows
from askonce.types import Dataset, Pool, Post

_LABELS = {"PerfectMatch": 1, "Relevant": 1, "Relevant+": 1, "Irrelevant": 0}
_TABLES = {  # one file, or parts of which each is needed
    "train": ("B.train.tsv",),
    "dev": ("B.dev.tsv",),
    "test": ("B.test.tsv",),
    "train-lemma": ("B.lemma.p1.tsv", "B.lemma.p2.tsv"),
    "dev-lemma": ("B.lemma.dev.tsv",),
    "test-lemma": ("B.lemma.test.tsv",),
}
_OFFICIAL = {"train": ("train-part1", "train-part2"), "dev": ("dev",), "test": ("test",)}
_ROLES = ("train", "dev", "test")


@DATASETS.add("semeval-b")
def read(folder: Path) -> Dataset:
    """Qatar Living questions; "PerfectMatch" and "Relevant" ones are right.

    Reads tables of five columns (question id, related id, label, question, related question) and
    the official XML. ``train``, ``dev`` and ``test`` hold the text as written, ``train-lemma``
    and so on the lemmatised text.
    """
    folder = home(folder)
    splits = _read_all(folder, _TABLES, _read_table)
    official = {
        name: tuple(OFFICIAL.format(part) for part in parts)
        for name, parts in _OFFICIAL.items()
        if name not in splits
    }
    splits |= _read_all(folder, official, _read_xml)
    if not splits:
        raise AskonceError(f"no B.*.tsv and no {OFFICIAL.format('*')} in {str(folder)!r}")
    # A model must be trained, chosen and tested on one form of text. The lemmatised tables are
    # whole (700 test pairs); the raw test table lost 16 pairs and the subjects of the questions.
    lemmatised = all(f"{role}-lemma" in splits for role in _ROLES)
    train, dev, test = (f"{role}-lemma" if lemmatised else role for role in _ROLES)
    return Dataset("semeval-b", splits, train, dev, test, protocol="drop_no_pos")


def _read_all(
    folder: Path,
    files: dict[str, tuple[str, ...]],
    read_part: Callable[[Path], tuple[Pool, ...]],
) -> dict[str, tuple[Pool, ...]]:
    """The splits of which every part is there."""
    splits = {}
    for name, parts in files.items():
        paths = [path for part in parts if (path := locate(folder, part))]
        if len(paths) == len(parts):
            splits[name] = tuple(pool for path in paths for pool in read_part(path))
    return splits


def _read_table(path: Path) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    for line, (query, candidate, label, question, related) in rows(path, 5):
        question = clean(question)
        if path.name.startswith("B.test"):  # its questions were quoted twice over
            question = clean(question)
        builder.add(
            line,
            _post(query, question),
            _post(candidate, clean(related)),
            judged(path, line, label, _LABELS),
        )
    return builder.pools()


def _post(name: str, text: str) -> Post:
    """Lemmatised text has `` . `` between subject and body; other text is taken as body."""
    title, mark, body = text.partition(" . ")
    return Post(name, title, body) if mark else Post(name, body=title)


def _read_xml(path: Path) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    for original in parse_xml(path).iter("OrgQuestion"):
        query = Post(
            attribute(path, original, "ORGQ_ID"),
            clean(child_text(path, original, "OrgQSubject")),
            clean(child_text(path, original, "OrgQBody")),
        )
        for thread in original.iter("Thread"):
            related = child(path, thread, "RelQuestion")
            line = line_of(related)
            candidate = Post(
                attribute(path, related, "RELQ_ID"),
                clean(child_text(path, related, "RelQSubject")),
                clean(child_text(path, related, "RelQBody")),
            )
            label = attribute(path, related, "RELQ_RELEVANCE2ORGQ")
            builder.add(line, query, candidate, judged(path, line, label, _LABELS))
    return builder.pools()
