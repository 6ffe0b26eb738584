"""The pair model of an archive, which re-ranks; for answers also as a student of a cross-encoder.

Only for answers: among similar questions a cross-encoder tuned on a few hundred marks is below BM25
(travel and SemEval B in docs/results), so there is nothing to learn from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from askonce.errors import AskonceError
from askonce.ranker import Ranker
from askonce.teachers import MINILM
from askonce.training.archive.candidates.recipes import pair_recipe
from askonce.training.archive.candidates.task_training import TaskTraining, train_model
from askonce.training.checkpoint import Progress
from askonce.training.cross_encoder import CrossSettings
from askonce.training.distillation.beside import BesidePairTeacher
from askonce.training.distillation.pair_teacher import PairTeacher
from askonce.training.distillation.settings import PairDistilSettings
from askonce.training.epochs import Stop
from askonce.training.events import OnEvent
from askonce.training.fine_tuning import FineTuning, TrainedRanker, fit
from askonce.training.processes import core_seconds
from askonce.training.recipe import Recipe
from askonce.types import Dataset, Pool, Post, TextPair

RERANK_SECONDS = 0.06  # of one core, the limit for a pair model and one question
TEACHING_SHARE = 0.5  # of the time left, for a cross-encoder that teaches the pair model
PAIR, CROSS_ENCODER, PAIR_STUDENT = "pair", "cross-encoder", "pair-student"  # folders
DISTIL = PairDistilSettings()
TIMED_PAIRS = 16  # read to estimate how long the teacher takes
TAUGHT_NEGATIVES = 8  # of a pool, which the teacher scores
BACKWARD = 3  # reading a pair in training takes as long as this many without


@dataclass(frozen=True, eq=False)
class TrainedPair:
    ranker: Ranker
    progress: Progress
    location: str  # as a manifest names it


def train_pair(run: TaskTraining, query: str, candidates: Sequence[Post]) -> TrainedPair | None:
    """The model that re-ranks; None where it would keep a reader waiting, or no time is left.

    ``query`` and ``candidates`` are an example of what it will read. For answers, a student of a
    cross-encoder takes its place where that is better on dev.
    """
    if run.clock.left == 0:
        return None
    recipe = pair_recipe(run.task.dataset.name, run.seed)
    ranker = run.words().ranker(recipe)
    seconds = cost(ranker, query, candidates)
    if seconds > RERANK_SECONDS:
        text = f"{ranker.name} takes {1000 * seconds:.0f} ms for {len(candidates)} candidates"
        run.note(f"no pair model, since {text}")
        return None
    trained = train_model(run, ranker, run.pair_data, recipe, PAIR)
    student = _train_pair_student(run, recipe)
    if student is not None and max(student.progress.values) > max(trained.progress.values):
        return TrainedPair(student.ranker, student.progress, f"{run.name}/{PAIR_STUDENT}")
    return TrainedPair(trained.ranker, trained.progress, f"{run.name}/{PAIR}")


def _train_pair_student(run: TaskTraining, recipe: Recipe) -> TrainedRanker | None:
    """The pair model beside a cross-encoder; None without a teacher's weights or without time."""
    if run.name != "answers" or run.teacher is None:
        return None
    dataset, folder = student_data(run.pair_data), run.folder / CROSS_ENCODER
    source = None if run.teacher.name == MINILM else run.teacher.name
    try:
        teacher = archive_teacher(source, dataset, folder, run.seed, run.on_event)
    except AskonceError as error:  # not every sentence encoder is a plain transformer
        run.note(f"no student of a cross-encoder: {error}")
        return None
    seconds, left = teaching_seconds(teacher, dataset), TEACHING_SHARE * run.clock.left
    if seconds > left:
        run.note(
            f"no student of a cross-encoder, which would take {seconds:,.0f} s where {left:,.0f} s "
            "are left; give more --minutes"
        )
        return None
    run.say("training the student of a cross-encoder")
    ranker, folder = run.words().ranker(recipe), run.folder / PAIR_STUDENT
    stop: Stop = lambda: run.clock.left == 0  # noqa: E731
    beside = BesidePairTeacher(teacher, DISTIL, run.on_event)
    return fit(FineTuning(ranker, dataset, recipe, folder, beside=beside), run.on_event, stop)


def cost(ranker: Ranker, query: str, candidates: Sequence[Post]) -> float:
    return min(core_seconds(lambda: ranker.rank(query, candidates)) for _ in range(5))


def student_data(dataset: Dataset) -> Dataset:
    """Training pools with the first negatives only, since the teacher scores each pair."""
    train = tuple(map(_shorter, dataset.role("train")))
    return replace(dataset, splits={**dataset.splits, dataset.train: train})


def _shorter(pool: Pool) -> Pool:
    right = [pair for pair in pool.pairs if pair[1] > 0]
    wrong = [pair for pair in pool.pairs if pair[1] <= 0]
    return pool.with_pairs([*right, *wrong[:TAUGHT_NEGATIVES]])


def archive_teacher(
    source: str | None, dataset: Dataset, folder: Path, seed: int, on_event: OnEvent
) -> PairTeacher:
    """The cross-encoder of an archive; its weights and scores stay in the folder."""
    tuning = CrossSettings(DISTIL.epochs, DISTIL.examples, dev_pools=50, seed=seed)
    return PairTeacher(source, dataset, tuning, cache=folder, on_event=on_event)


def teaching_seconds(teacher: PairTeacher, dataset: Dataset) -> float:
    """Seconds of one core for tuning the teacher and scoring the student's pairs."""
    pools = [pool for pool in dataset.role("train") if pool.positives]
    dev = [len(pool.candidates) for pool in dataset.role("dev") if pool.positives]
    tuning = teacher.config
    examples = min(tuning.examples, sum(len(pool.positives) for pool in pools))
    tuned = tuning.epochs * examples * (1 + tuning.negatives) * BACKWARD
    measured = (tuning.epochs + 1) * sum(sorted(dev, reverse=True)[: tuning.dev_pools])
    scored = sum(len(pool.candidates) for pool in pools)
    sample: list[TextPair] = [
        (pool.query.text, pool.positives[0].text)
        for pool in pools[:: max(1, len(pools) // TIMED_PAIRS)][:TIMED_PAIRS]
    ]
    return (tuned + measured + scored) * teacher.seconds_per_pair(sample)
