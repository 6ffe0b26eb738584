"""The tasks of an archive: labelled questions by split, and pools of candidates for them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from askonce.data.benchmarks.pools import stable_hash
from askonce.errors import AskonceError
from askonce.training.archive.tasks.drawer import Drawer
from askonce.training.archive.tasks.labels import ArchiveLabels, LabelledQuery
from askonce.training.archive.tasks.splits import MIN_CLUSTERS, SPLITS, split_by_time
from askonce.types import Dataset, Post, TaskName

MIN_DUPLICATES = 10  # questions; with fewer, titles are matched with bodies instead
UNMARKED = 500  # questions of dev, and of test, without a duplicate that are used as evidence
NEAR = 10  # of BM25's results for them, which an encoder must have read as well
MAX_POOLS = 30_000  # of train; more would make an epoch take longer than minutes

Labels = Literal["duplicates", "titles", "answers"]


@dataclass(frozen=True)
class LabelledTask:
    """One thing to learn from an archive: labelled questions, and the posts they could find."""

    name: str  # of the dataset
    labels: Labels
    queries: Mapping[str, Sequence[LabelledQuery]]  # by split
    posts: Sequence[Post]  # those of train first, then of dev, then of test
    seen: Mapping[str, int]  # how many of the posts existed for the questions of a split
    # new questions by split: right are those that each was marked a duplicate of
    asked: Mapping[str, Sequence[LabelledQuery]]

    def asked_sample(self, split: str) -> list[LabelledQuery]:
        """The new questions of a split that are used as evidence: all marked, some unmarked."""
        asked = self.asked.get(split, ())
        unmarked = [query for query in asked if not query.right]
        sample = sorted(unmarked, key=lambda query: stable_hash(query.query.id))[:UNMARKED]
        return [*(query for query in asked if query.right), *sample]


@dataclass(frozen=True)
class ArchiveTask(LabelledTask):
    """A task with pools of candidates for its questions."""

    dataset: Dataset
    # what BM25 finds first for the new questions of dev and test that are used as evidence
    near: Mapping[str, Sequence[Post]]


def labelled_tasks(
    labels: ArchiveLabels, names: Collection[TaskName]
) -> tuple[dict[TaskName, LabelledTask], dict[TaskName, str]]:
    """The tasks that the archive has labels for, and the reason for each one that is missing."""
    tasks: dict[TaskName, LabelledTask] = {}
    missing: dict[TaskName, str] = {}
    for name, make in TASKS.items():
        if name in names:
            try:
                tasks[name] = make(labels)
            except AskonceError as error:
                missing[name] = str(error)
    return tasks, missing


def draw_all(tasks: Mapping[TaskName, LabelledTask], seed: int) -> dict[TaskName, ArchiveTask]:
    """The tasks of one archive with pools."""
    drawn = {name: draw_pools(task, seed) for name, task in tasks.items()}
    if len(drawn) == len(TASKS):
        drawn["answers"] = _apart(drawn["answers"], drawn["questions"])
    return drawn


def question_task(labels: ArchiveLabels) -> LabelledTask:
    """Which questions are the same, by the archive's marked duplicates.

    Every question of a cluster of duplicates is right for every other. Where fewer than ten
    questions are marked, the title of a question is the query and its body the right candidate.
    """
    visited = [query for query in labels.visited("question") if query.right]
    queries, asked = labels.duplicates() + visited, labels.asked()
    corpus = {name: [post] for name, post in labels.archive.questions.items()}
    clusters = {labels.clusters[query.split_id] for query in queries}
    if len(queries) >= MIN_DUPLICATES and len(clusters) >= MIN_CLUSTERS:
        return _task(labels, "duplicates", queries, corpus, asked)
    queries = labels.titles()
    if not queries:
        raise AskonceError(
            f"archive {labels.archive.name!r} has no marked duplicates and no question with both a "
            "title and a body; nothing to learn from"
        )
    corpus = {name: [body] for name, body in labels.bodies.items()}
    return _task(labels, "titles", queries, corpus)


def answer_task(labels: ArchiveLabels) -> LabelledTask:
    """Which answer is right, by accepted answers and votes.

    Right is the accepted answer, else the best-voted one if it has two votes and more than the
    next. Wrong are the question's answers with at most half of its votes and two fewer; answers
    between are left out, and so are those of duplicates.
    """
    queries = labels.answered() + [query for query in labels.visited("answer") if query.right]
    if not queries:
        raise AskonceError(
            f"archive {labels.archive.name!r} has no accepted answer and none with two votes and "
            "more than the next; nothing to learn from"
        )
    corpus = {name: labels.archive.answers_to(name) for name in labels.archive.questions}
    return _task(labels, "answers", queries, corpus)


# answers first: their encoder, which may learn from more labels, is tried for questions too
TASKS: dict[TaskName, Callable[[ArchiveLabels], LabelledTask]] = {
    "answers": answer_task,
    "questions": question_task,
}


def draw_pools(task: LabelledTask, seed: int = 1) -> ArchiveTask:
    """The task with pools, which takes a search by BM25 for each of its questions.

    Training pools hold all right candidates with 15 wrong ones that BM25 finds and 15 random ones.
    Dev and test pools hold what BM25 finds first (50) and random wrong ones, 100 in all; a right
    one that BM25 does not find is ``missed`` and counts against every ranker, since a re-ranker
    behind BM25 will never see it. All labelled answers are candidates, since an engine finds them
    through their question. A pool draws from its own split and older ones only.
    """
    drawer = Drawer(seed, given=task.labels == "answers")
    splits, near, begin = {}, {}, 0
    for split in SPLITS:
        drawer.add(task.posts[begin : task.seen[split]])
        begin = task.seen[split]
        splits[split] = tuple(drawer.pool(query, split == "train") for query in task.queries[split])
        for query in task.asked_sample(split) if split != "train" else ():
            near[query.query.id] = drawer.near(query, NEAR)
    dataset = Dataset(task.name, splits, corpus=task.posts)
    return ArchiveTask(**vars(task), dataset=dataset, near=near)


def _task(
    labels: ArchiveLabels,
    kind: Labels,
    queries: Sequence[LabelledQuery],
    corpus: Mapping[str, Sequence[Post]],  # what may be found, by its question
    asked: Sequence[LabelledQuery] = (),
) -> LabelledTask:
    labelled = [query.split_id for query in queries]
    split_of = split_by_time(labels.archive.questions, labels.clusters, labelled)
    by_split = _by_split(queries, split_of)
    train = by_split["train"]
    # chosen by a hash of their ids, in their order
    chosen = sorted(range(len(train)), key=lambda n: stable_hash(train[n].query.id))[:MAX_POOLS]
    by_split["train"] = [train[n] for n in sorted(chosen)]
    posts: list[Post] = []
    seen = {}
    for split in SPLITS:
        posts += [post for q, own in corpus.items() if split_of[q] == split for post in own]
        seen[split] = len(posts)
    name = f"{labels.archive.name}-{'answers' if kind == 'answers' else 'questions'}"
    return LabelledTask(name, kind, by_split, posts, seen, _by_split(asked, split_of))


def _by_split(
    queries: Iterable[LabelledQuery], split_of: Mapping[str, str]
) -> dict[str, Sequence[LabelledQuery]]:
    by_split: dict[str, list[LabelledQuery]] = {split: [] for split in SPLITS}
    for query in queries:
        latest = SPLITS.index(split_of[query.split_id])
        # wrong posts of a later split must not be trained on
        wrong = (x for x in query.wrong if SPLITS.index(split_of[x.parent or x.id]) <= latest)
        own = replace(query, wrong=tuple(wrong)) if query.wrong else query
        by_split[SPLITS[latest]].append(own)
    return dict(by_split)


def _apart(answers: ArchiveTask, questions: ArchiveTask) -> ArchiveTask:
    """The task of answers without training questions that are in dev or test among the questions.

    Else the answers' encoder would be measured on questions that it has learnt.
    """
    held_out = {x.query.id for split in ("dev", "test") for x in questions.queries[split]}
    dataset = answers.dataset
    rest = [pool for pool in dataset.role("train") if pool.query.id not in held_out]
    if not rest:
        return answers
    splits = {**dataset.splits, dataset.train: tuple(rest)}
    return replace(answers, dataset=replace(dataset, splits=splits))
