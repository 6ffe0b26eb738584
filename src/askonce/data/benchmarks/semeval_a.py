"""SemEval-2016 task 3, subtask A (Qatar Living): a forum question and its comments, good or not."""

from collections.abc import Set
from pathlib import Path
from xml.etree.ElementTree import Element

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.near_copies import near_copies
from askonce.data.benchmarks.pool_builder import PoolBuilder
from askonce.data.benchmarks.semeval_files import OFFICIAL, clean, home, judged, locate
from askonce.data.formats.xml_file import attribute, child, child_text, line_of, parse_xml
from askonce.errors import AskonceError
from askonce.files import rows
from askonce.types import Dataset, Pool, Post

_LABELS = {"Good": 1, "PotentiallyUseful": 0, "Bad": 0}
_FILES = {  # in the order of release, since a question counts only where it was first released
    "train-part1": (
        "A.train-part1.tsv",
        "A.train-part1-fragment.tsv",
        OFFICIAL.format("train-part1"),
    ),
    "train-part2": ("A.train-part2.tsv", OFFICIAL.format("train-part2")),
    "dev": ("A.dev.tsv", OFFICIAL.format("dev")),
    "test": ("A.test.tsv", OFFICIAL.format("test")),
    "train-2015": ("A.train-2015-lemma.tsv",),
}
_SKIP = "SubtaskA_Skip_Because_Same_As_RelQuestion_ID"

Seen = set[tuple[str, str]]


@DATASETS.add("semeval-a", "semeval", "qatarliving")
def read(folder: Path) -> Dataset:
    """Qatar Living comments; only "Good" ones are right.

    Reads tables of six columns (question id, comment id, label, subject, body, comment) and the
    official XML. ``train`` is both parts of the 2016 training data; ``train-2015`` is the older
    data, lemmatised, of which some threads are also in dev or test; ``train-all`` is both, without
    those threads.
    """
    folder = home(folder)
    splits: dict[str, tuple[Pool, ...]] = {}
    seen: Seen = set()
    for name, files in _FILES.items():
        path = locate(folder, *files)
        if path is not None:
            pools = _read_xml(path, seen) if ".xml" in path.suffixes else _read_table(path)
            seen.update((pool.query.title, pool.query.body) for pool in pools)
            splits[name] = pools
    if not splits:
        raise AskonceError(f"no A.*.tsv and no {OFFICIAL.format('*')} in {str(folder)!r}")
    parts = [splits[name] for name in ("train-part1", "train-part2") if name in splits]
    if parts:
        splits["train"] = tuple(pool for part in parts for pool in part)
        older = _apart(splits.get("train-2015", ()), splits.get("dev", ()), splits.get("test", ()))
        splits["train-all"] = splits["train"] + older
    return Dataset("semeval-a", splits, protocol="drop_no_pos")


def _apart(older: tuple[Pool, ...], *held_out: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """The threads of which neither the question nor a comment is in what is held out."""
    threads = [_texts(pool) for pool in older]
    others = [text for pools in held_out for pool in pools for text in _texts(pool)]
    copies = iter(near_copies([text for texts in threads for text in texts], others))
    known = [any([next(copies) for _ in texts]) for texts in threads]
    return tuple(pool for pool, seen in zip(older, known, strict=True) if not seen)


def _texts(pool: Pool) -> list[str]:
    return [pool.query.text, *(post.text for post in pool.candidates)]


def _read_table(path: Path) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    for line, (query, comment, label, subject, body, text) in rows(path, 6):
        builder.add(
            line,
            Post(query, clean(subject), clean(body)),
            Post(comment, body=clean(text), kind="answer", parent=query),
            judged(path, line, label, _LABELS),
        )
    return builder.pools()


def _read_xml(path: Path, seen: Set[tuple[str, str]]) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    here: Seen = set()
    for thread in parse_xml(path).iter("Thread"):
        query = _question(path, child(path, thread, "RelQuestion"))
        key = (query.title, query.body)
        # The same forum thread may be found for several original questions. The task counts it
        # once: later parts flag it, and where the flag is missing the same text tells.
        if thread.get(_SKIP) is not None or key in seen or key in here:
            continue
        here.add(key)
        _add_comments(builder, thread, query)
    return builder.pools()


def _question(path: Path, element: Element) -> Post:
    return Post(
        attribute(path, element, "RELQ_ID"),
        clean(child_text(path, element, "RelQSubject")),
        clean(child_text(path, element, "RelQBody")),
    )


def _add_comments(builder: PoolBuilder, thread: Element, query: Post) -> None:
    path = builder.path
    for comment in thread.iter("RelComment"):
        line = line_of(comment)
        text = clean(child_text(path, comment, "RelCText"))
        label = attribute(path, comment, "RELC_RELEVANCE2RELQ")
        builder.add(
            line,
            query,
            Post(attribute(path, comment, "RELC_ID"), body=text, kind="answer", parent=query.id),
            judged(path, line, label, _LABELS),
        )
