"""SemEval-2016 task 3 (Qatar Living).

Subtask A ranks the comments of a forum question; subtask B ranks old questions for a new one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

from askonce.data.benchmarks import DATASETS
from askonce.data.benchmarks.pools import PoolBuilder
from askonce.data.formats.xml import attribute, child, child_text, line_of, parse_xml
from askonce.errors import AskonceError, DataError
from askonce.files import descend, find, rows
from askonce.text.stopwords import STOPWORDS
from askonce.types import Dataset, Pool, Post

_OFFICIAL = "SemEval2016-Task3-CQA-QL-{}.xml"
_SUBFOLDERS = (".", "raw", "train", "dev", "test")  # the official archives use one per part
_A_LABELS = {"Good": 1, "PotentiallyUseful": 0, "Bad": 0}
_A_FILES = {  # in order of release, since a question counts only where it was first released
    "train-part1": (
        "A.train-part1.tsv",
        "A.train-part1-fragment.tsv",
        _OFFICIAL.format("train-part1"),
    ),
    "train-part2": ("A.train-part2.tsv", _OFFICIAL.format("train-part2")),
    "dev": ("A.dev.tsv", _OFFICIAL.format("dev")),
    "test": ("A.test.tsv", _OFFICIAL.format("test")),
    "train-2015": ("A.train-2015-lemma.tsv",),
}
_A_SKIP = "SubtaskA_Skip_Because_Same_As_RelQuestion_ID"
_B_LABELS = {"PerfectMatch": 1, "Relevant": 1, "Relevant+": 1, "Irrelevant": 0}
_B_TABLES = {  # one file, or several parts that are all required
    "train": ("B.train.tsv",),
    "dev": ("B.dev.tsv",),
    "test": ("B.test.tsv",),
    "train-lemma": ("B.lemma.p1.tsv", "B.lemma.p2.tsv"),
    "dev-lemma": ("B.lemma.dev.tsv",),
    "test-lemma": ("B.lemma.test.tsv",),
}
_B_OFFICIAL = {"train": ("train-part1", "train-part2"), "dev": ("dev",), "test": ("test",)}
_ROLES = ("train", "dev", "test")

TitlesAndBodies = set[tuple[str, str]]  # titles and bodies


@DATASETS.add("semeval-a", "semeval", "qatarliving")
def read_a(folder: Path) -> Dataset:
    """Qatar Living comments; only "Good" ones are relevant.

    Reads tables of six columns (question id, comment id, label, subject, body, comment) and the
    official XML. ``train`` is both parts of the 2016 training data; ``train-2015`` is the older
    data, lemmatised, of which some threads are also in dev or test; ``train-all`` is both, without
    those threads.
    """
    folder = descend(folder, "semeval2016_task3")
    splits: dict[str, tuple[Pool, ...]] = {}
    seen: TitlesAndBodies = set()
    for name, files in _A_FILES.items():
        path = _find(folder, *files)
        if path is not None:
            pools = _read_a_xml(path, seen) if ".xml" in path.suffixes else _read_a_table(path)
            seen.update((pool.query.title, pool.query.body) for pool in pools)
            splits[name] = pools
    if not splits:
        raise AskonceError(f"no A.*.tsv and no {_OFFICIAL.format('*')} in {str(folder)!r}")
    parts = [splits[name] for name in ("train-part1", "train-part2") if name in splits]
    if parts:
        splits["train"] = tuple(pool for part in parts for pool in part)
        older = _apart(splits.get("train-2015", ()), splits.get("dev", ()), splits.get("test", ()))
        splits["train-all"] = splits["train"] + older
    return Dataset("semeval-a", splits, protocol="drop_no_pos")


def _apart(older: tuple[Pool, ...], *held_out: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """The threads that share neither their question nor a comment with held-out data."""
    threads = [_texts(pool) for pool in older]
    others = [text for pools in held_out for pool in pools for text in _texts(pool)]
    copies = iter(near_copies([text for texts in threads for text in texts], others))
    leaks = [any([next(copies) for _ in texts]) for texts in threads]
    return tuple(pool for pool, leaked in zip(older, leaks, strict=True) if not leaked)


def _texts(pool: Pool) -> list[str]:
    return [pool.query.text, *(post.text for post in pool.candidates)]


def _read_a_table(path: Path) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    for line, (query, comment, label, subject, body, text) in rows(path, 6):
        builder.add(
            line,
            Post(query, clean(subject), clean(body)),
            Post(comment, body=clean(text), kind="answer", parent=query),
            _label(path, line, label, _A_LABELS),
        )
    return builder.pools()


def _read_a_xml(path: Path, seen: Set[tuple[str, str]]) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    here: TitlesAndBodies = set()
    for thread in parse_xml(path).iter("Thread"):
        query = _question(path, child(path, thread, "RelQuestion"), "REL")
        key = (query.title, query.body)
        # A forum thread may be returned for several original questions. The task counts it once:
        # later parts flag the repetitions, and where the flag is missing, the text shows it.
        if thread.get(_A_SKIP) is not None or key in seen or key in here:
            continue
        here.add(key)
        _add_comments(builder, thread, query)
    return builder.pools()


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
            _label(path, line, label, _A_LABELS),
        )


@DATASETS.add("semeval-b")
def read_b(folder: Path) -> Dataset:
    """Qatar Living questions; "PerfectMatch" and "Relevant" ones are relevant.

    Reads tables of five columns (question id, related id, label, question, related question) and
    the official XML. ``train``, ``dev`` and ``test`` hold the text as written, ``train-lemma``
    and so on the lemmatised text.
    """
    folder = descend(folder, "semeval2016_task3")
    splits = _read_all(folder, _B_TABLES, _read_b_table)
    official = {
        name: tuple(_OFFICIAL.format(part) for part in parts)
        for name, parts in _B_OFFICIAL.items()
        if name not in splits
    }
    splits |= _read_all(folder, official, _read_b_xml)
    if not splits:
        raise AskonceError(f"no B.*.tsv and no {_OFFICIAL.format('*')} in {str(folder)!r}")
    # Training, dev and test must have the same form of text. The lemmatised tables are complete
    # (700 test pairs); the raw test table lacks 16 pairs and the subjects of the questions.
    lemmatised = all(f"{role}-lemma" in splits for role in _ROLES)
    train, dev, test = (f"{role}-lemma" if lemmatised else role for role in _ROLES)
    return Dataset("semeval-b", splits, train, dev, test, protocol="drop_no_pos")


@DATASETS.add("semeval-b-raw")
def read_b_raw(folder: Path) -> Dataset:
    """SemEval B with the text as written, which sentence encoders expect."""
    splits = {name: pools for name, pools in read_b(folder).splits.items() if name in _ROLES}
    return Dataset("semeval-b-raw", splits, protocol="drop_no_pos")


def _read_all(
    folder: Path, files: dict[str, tuple[str, ...]], read_part: Callable[[Path], tuple[Pool, ...]]
) -> dict[str, tuple[Pool, ...]]:
    """The splits whose parts all exist."""
    splits = {}
    for name, parts in files.items():
        paths = [path for part in parts if (path := _find(folder, part))]
        if len(paths) == len(parts):
            splits[name] = tuple(pool for path in paths for pool in read_part(path))
    return splits


def _read_b_table(path: Path) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    for line, (query, candidate, label, question, related) in rows(path, 5):
        question = clean(question)
        if path.name.startswith("B.test"):  # its questions are quoted twice
            question = clean(question)
        builder.add(
            line,
            _post(query, question),
            _post(candidate, clean(related)),
            _label(path, line, label, _B_LABELS),
        )
    return builder.pools()


def _post(name: str, text: str) -> Post:
    """Lemmatised text has `` . `` between subject and body; other text is taken as body."""
    title, mark, body = text.partition(" . ")
    return Post(name, title, body) if mark else Post(name, body=title)


def _read_b_xml(path: Path) -> tuple[Pool, ...]:
    builder = PoolBuilder(path)
    for original in parse_xml(path).iter("OrgQuestion"):
        query = _question(path, original, "ORG")
        for thread in original.iter("Thread"):
            related = child(path, thread, "RelQuestion")
            line = line_of(related)
            label = attribute(path, related, "RELQ_RELEVANCE2ORGQ")
            candidate = _question(path, related, "REL")
            builder.add(line, query, candidate, _label(path, line, label, _B_LABELS))
    return builder.pools()


def _question(path: Path, element: Element, prefix: str) -> Post:
    """An ``OrgQuestion`` or a ``RelQuestion``."""
    tag = f"{prefix.title()}Q"
    return Post(
        attribute(path, element, f"{prefix}Q_ID"),
        clean(child_text(path, element, f"{tag}Subject")),
        clean(child_text(path, element, f"{tag}Body")),
    )


def _find(folder: Path, *names: str) -> Path | None:
    """The first of these files, in the folder itself or in a sub-folder of the task."""
    return next(filter(None, (find(folder / part, *names) for part in _SUBFOLDERS)), None)


def clean(text: str) -> str:
    """One line of text without the CSV quoting that remains in the task's files.

    In these files a quotation mark of the text is always doubled; a single one at either end marks
    the border of a CSV field: a subject may have the left one and its body the right one.
    """
    text = " ".join(text.split())
    if '"' not in text:
        return text
    if (len(text) - len(text.lstrip('"'))) % 2:
        text = text[1:]
    if (len(text) - len(text.rstrip('"'))) % 2:
        text = text[:-1]
    return text.replace('""', '"').strip()


def _label(path: Path, line: int, label: str, labels: Mapping[str, int]) -> int:
    if label not in labels:
        raise DataError(path, " or ".join(labels), label, line)
    return labels[label]


SHARE, LEAST = 0.5, 2  # of the shorter text's word pairs that both texts have
STEM = 4  # letters that identify the forms of a word
_WORD = re.compile(r"[a-z]{4,}")  # shorter ones are mostly forms of be, have and do

WordPairs = set[tuple[str, str]]


def near_copies(texts: Sequence[str], of: Sequence[str]) -> list[bool]:
    """Whether each text is a near copy of any of the others: lemmatised, shortened, or signed.

    Data that was released twice, in two forms, must not be in both training and test.
    """
    others = [_pairs(text) for text in of]
    having: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, pairs in enumerate(others):
        for pair in pairs:
            having[pair].append(index)
    copies = []
    for text in texts:
        own = _pairs(text)
        shared = Counter(index for pair in own for index in having.get(pair, ()))
        copies.append(
            any(
                count >= LEAST and count >= SHARE * min(len(own), len(others[index]))
                for index, count in shared.items()
            )
        )
    return copies


def _pairs(text: str) -> WordPairs:
    """Neighbouring content words."""
    stems = [word[:STEM] for word in _WORD.findall(text.lower()) if word not in STOPWORDS]
    return set(pairwise(stems))
