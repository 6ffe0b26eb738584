"""Labelled pools from an archive's own marks, votes and titles, so that it can train on itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from askonce.archive import Snapshot
from askonce.data.benchmarks.pools import stable_hash
from askonce.errors import AskonceError
from askonce.training.archive.labels import ArchiveLabels, LabelledQuery
from askonce.training.archive.splits import LEAST, SPLITS, split_by_time
from askonce.training.pool_drawer import Drawer
from askonce.types import Dataset, Post

ENOUGH = 10  # questions with a duplicate; with fewer, titles are matched with bodies instead
MOST = 30_000  # training pools; more would take an epoch beyond minutes

Labels = Literal["duplicates", "titles", "answers"]


@dataclass(frozen=True)
class ArchiveTask:
    """One thing to learn from an archive: pools, and what its questions could have found."""

    dataset: Dataset
    labels: Labels
    examples: Mapping[str, Sequence[LabelledQuery]]  # by split
    posts: Sequence[Post]  # those of train first, then of dev, then of test
    seen: Mapping[str, int]  # how many of the posts were there for the questions of a split
    # what was asked by split, as new questions: right are those that it was marked a duplicate of
    asked: Mapping[str, Sequence[LabelledQuery]] = field(default_factory=dict)


def question_dataset(archive: Snapshot, seed: int = 1) -> Dataset:
    """The pools of :func:`question_task`."""
    return question_task(archive, seed).dataset


def answer_dataset(archive: Snapshot, seed: int = 1) -> Dataset:
    """The pools of :func:`answer_task`."""
    return answer_task(archive, seed).dataset


def question_task(archive: Snapshot, seed: int = 1) -> ArchiveTask:
    """Pools to learn which questions are the same, from the archive's marked duplicates.

    Every question of a cluster of duplicates is right for every other. Where fewer than ten
    questions are marked, the title of a question is the query and its body the right candidate.

    Training pools hold all right candidates with 15 wrong ones that BM25 finds and 15 random ones.
    Dev and test pools hold what BM25 finds first (50) and random wrong ones, 100 in all; a right
    one that BM25 does not find is ``missed`` and counts against every ranker, since a re-ranker
    behind BM25 will never see it. A pool draws from its own split and older ones only.
    """
    known = ArchiveLabels.of(_enough(archive))
    labels: Labels = "duplicates"
    examples = known.duplicates()
    corpus = {name: [post] for name, post in known.archive.questions.items()}
    asked = known.asked()
    if len(examples) < ENOUGH or len({known.clusters[e.query.id] for e in examples}) < LEAST:
        labels = "titles"
        examples = known.titles()
        corpus = {name: [body] for name, body in known.bodies.items()}
        asked = []
    if not examples:
        raise AskonceError(
            f"archive {archive.name!r} has no marked duplicates and no question with both a title "
            "and a body; nothing to learn from"
        )
    return _task(known, labels, examples, corpus, Drawer(seed), asked)


def answer_task(archive: Snapshot, seed: int = 1) -> ArchiveTask:
    """Pools to learn which answer is right, from accepted answers and votes.

    Right is the accepted answer, else the best-voted one if it has two votes and more than the
    next. Wrong are the question's answers with at most half of its votes and two fewer; answers
    between are left out, and so are those of duplicates. All of these are candidates, since an
    engine finds them through their question; others come from BM25 and chance, as many as in
    :func:`question_task`. A pool draws from its own split and older ones only.
    """
    known = ArchiveLabels.of(_enough(archive))
    examples = known.answered()
    if not examples:
        raise AskonceError(
            f"archive {archive.name!r} has no accepted answer and none with two votes and more "
            "than the next; nothing to learn from"
        )
    corpus = {name: known.archive.answers_to(name) for name in known.archive.questions}
    return _task(known, "answers", examples, corpus, Drawer(seed, given=True))


def describe(archive: Snapshot) -> dict[str, int]:
    """What there is to learn from: counts of posts, marks, and pools of each kind."""
    known = ArchiveLabels.of(archive)
    marks = {
        (link.source, link.target)
        for link in archive.links
        if link.kind == "duplicate" and {link.source, link.target} <= archive.questions.keys()
    }
    return {
        "questions": len(archive.questions),
        "answers": len(archive.answers),
        "accepted": sum(answer.accepted for answer in archive.answers.values()),
        "duplicates": len(marks),
        "clusters": sum(len(members) > 1 for members in known.members.values()),
        "duplicate_pools": len(known.duplicates()),
        "title_pools": len(known.titles()),
        "answer_pools": len(known.answered()),
    }


def _task(
    known: ArchiveLabels,
    labels: Labels,
    examples: Sequence[LabelledQuery],
    corpus: Mapping[str, Sequence[Post]],  # what may be drawn, by its question
    drawer: Drawer,
    asked: Sequence[LabelledQuery] = (),
) -> ArchiveTask:
    """Fill the drawer split by split, so that a pool never holds a post of a later one."""
    labelled = [example.query.id for example in examples]
    split_of = split_by_time(known.archive.questions, known.clusters, labelled)
    by_split = _by_split(examples, split_of)
    by_split["train"] = _at_most(by_split["train"], MOST)
    posts: list[Post] = []
    splits, seen = {}, {}
    for split in SPLITS:
        new = [post for q, some in corpus.items() if split_of[q] == split for post in some]
        drawer.add(new)
        posts += new
        seen[split] = len(posts)
        splits[split] = tuple(drawer.pool(x, split == "train") for x in by_split[split])
    kind = "answers" if labels == "answers" else "questions"
    everything = [post for some in corpus.values() for post in some]
    dataset = Dataset(f"{known.archive.name}-{kind}", splits, corpus=everything)
    return ArchiveTask(dataset, labels, by_split, posts, seen, _by_split(asked, split_of))


def _by_split(
    examples: Iterable[LabelledQuery], split_of: Mapping[str, str]
) -> dict[str, Sequence[LabelledQuery]]:
    found: dict[str, list[LabelledQuery]] = {split: [] for split in SPLITS}
    for example in examples:
        found[split_of[example.query.id]].append(example)
    return dict(found)


def _at_most(examples: Sequence[LabelledQuery], count: int) -> Sequence[LabelledQuery]:
    """All in their order, or as many as allowed by a hash of their ids."""
    if len(examples) <= count:
        return examples
    order = sorted(range(len(examples)), key=lambda n: stable_hash(examples[n].query.id))
    return [examples[n] for n in sorted(order[:count])]


def _enough(archive: Snapshot) -> Snapshot:
    if len(archive.questions) < 2:
        count = "one question" if archive.questions else "no question"
        raise AskonceError(
            f"archive {archive.name!r} holds {count}; training compares questions, so add more"
        )
    return archive
