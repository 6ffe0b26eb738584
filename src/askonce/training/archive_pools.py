"""Labelled pools from an archive's own marks, votes and titles, so that it can train on itself."""

from collections.abc import Mapping, Sequence

from askonce.archive import Archive
from askonce.errors import AskonceError
from askonce.training.archive_labels import Example, Known
from askonce.training.archive_splits import LEAST, SPLITS, split_by_time
from askonce.training.pool_drawer import Drawer
from askonce.types import Dataset, Post

ENOUGH = 10  # questions with a duplicate; with fewer, titles are matched with bodies instead


def question_dataset(archive: Archive, seed: int = 1) -> Dataset:
    """Pools to learn which questions are the same, from the archive's marked duplicates.

    Every question of a cluster of duplicates is right for every other. Where fewer than ten
    questions are marked, the title of a question is the query and its body the right candidate.

    Training pools hold all right candidates with 15 wrong ones that BM25 finds and 15 random ones.
    Dev and test pools hold what BM25 finds first (50) and random wrong ones, 100 in all; a right
    one that BM25 does not find is ``missed`` and counts against every ranker, since a re-ranker
    behind BM25 will never see it. A pool draws from its own split and older ones only.
    """
    known = Known.of(_enough(archive))
    examples = known.duplicates()
    corpus = {name: [post] for name, post in known.archive.questions.items()}
    if len(examples) < ENOUGH or len({known.clusters[e.query.id] for e in examples}) < LEAST:
        examples = known.titles()
        corpus = {name: [body] for name, body in known.bodies.items()}
    if not examples:
        raise AskonceError(
            f"archive {archive.name!r} has no marked duplicates and no question with both a title "
            "and a body; nothing to learn from"
        )
    return _dataset(known, f"{archive.name}-questions", examples, corpus, Drawer(seed))


def answer_dataset(archive: Archive, seed: int = 1) -> Dataset:
    """Pools to learn which answer is right, from accepted answers and votes.

    Right is the accepted answer, else the best-voted one if it has two votes and more than the
    next. Wrong are the question's answers with at most half of its votes and two fewer; answers
    between are left out, and so are those of duplicates. All of these are candidates, since an
    engine finds them through their question; others come from BM25 and chance, as many as in
    :func:`question_dataset`. A pool draws from its own split and older ones only.
    """
    known = Known.of(_enough(archive))
    examples = known.answered()
    if not examples:
        raise AskonceError(
            f"archive {archive.name!r} has no accepted answer and none with two votes and more "
            "than the next; nothing to learn from"
        )
    corpus = {name: known.archive.answers_to(name) for name in known.archive.questions}
    return _dataset(known, f"{archive.name}-answers", examples, corpus, Drawer(seed, given=True))


def describe(archive: Archive) -> dict[str, int]:
    """What there is to learn from: counts of posts, marks, and pools of each kind."""
    known = Known.of(archive)
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


def _dataset(
    known: Known,
    name: str,
    examples: Sequence[Example],
    corpus: Mapping[str, Sequence[Post]],  # what may be drawn, by its question
    drawer: Drawer,
) -> Dataset:
    """Fill the drawer split by split, so that a pool never holds a post of a later one."""
    labelled = [example.query.id for example in examples]
    split_of = split_by_time(known.archive.questions, known.clusters, labelled)
    splits = {}
    for split in SPLITS:
        drawer.add([post for q, posts in corpus.items() if split_of[q] == split for post in posts])
        splits[split] = tuple(
            drawer.pool(example, split == "train")
            for example in examples
            if split_of[example.query.id] == split
        )
    return Dataset(name, splits, corpus=[post for posts in corpus.values() for post in posts])


def _enough(archive: Archive) -> Archive:
    if len(archive.questions) < 2:
        count = "one question" if archive.questions else "no question"
        raise AskonceError(
            f"archive {archive.name!r} holds {count}; training compares questions, so add more"
        )
    return archive
