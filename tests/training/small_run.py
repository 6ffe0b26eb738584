"""A small training run, from a test or in processes of its own.

    python tests/training/small_run.py FOLDER EVENT
    torchrun --nproc-per-node 2 tests/training/small_run.py FOLDER

One process runs MODEL until EVENT, such as "Step 2", prints it and waits for a signal. Under
torchrun the processes run each of SHARED and both pre-trainings, into folders of their own.
"""

import dataclasses
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from askonce.models import MODELS
from askonce.ranker import Ranker
from askonce.teachers.lexicon import TeacherLexicon
from askonce.text.lexicon import Lexicon
from askonce.training.events import Event, OnEvent, ignore
from askonce.training.fine_tuning import TrainedRanker, train
from askonce.training.pretraining.encoder_decoder import PretrainSettings, pretrain
from askonce.training.pretraining.language_models import (
    LanguageModelSettings,
    pretrain_language_models,
)
from askonce.training.processes import ALONE, Processes, launched
from askonce.training.recipe import Recipe, recipe_of
from askonce.types import Dataset, Pool, Post
from tests.teachers.small_teacher import small_teacher

WORDS = [f"w{i}" for i in range(40)]
DIM = 10
QUESTIONS = 9
MODEL = "qa-cnn"
# ten steps each: two epochs of five batches of two groups and one of one, where a process is idle
SHARED: dict[str, dict[str, Any]] = {
    # SGD: the bias of the score cancels in the loss, and others blow up the rounding that remains
    "hyperqa": {"negatives": {"source": "batch"}, "loss": "softmax", "optimiser": "sgd"},
    "rcnn": {"negatives": {"source": "pool", "count": 2}, "l2": 1e-3, "l2_form": "norm"},
    "ap-cnn": {"negatives": {"source": "pool", "count": 1, "hardest_of": 3}, "clip": 0.5},
}
PRETRAINED = ("rcnn", "cabin")


def text(rng: np.random.Generator, length: int) -> str:
    """Random words."""
    return " ".join(WORDS[i] for i in rng.integers(0, len(WORDS), length))


def made(questions: int = QUESTIONS, wrong: int = 4) -> Dataset:
    """Questions with one right answer, which shares words with the question, among wrong ones."""
    rng = np.random.default_rng(1)
    pools = []
    for n in range(questions + 6):
        query = Post(f"q{n}", title=text(rng, 3 + n % 4), body=text(rng, n % 3))
        right = Post(f"a{n}", body=f"{query.title} {text(rng, 3 + n % 5)}")
        others = [Post(f"a{n}.{i}", body=text(rng, 2 + (n + 3 * i) % 9)) for i in range(wrong)]
        pools.append(Pool(query, (right, *others), (1,) + (0,) * wrong))
    return Dataset("made", {"train": pools[:questions], "dev": pools[questions:]})


def tiny(name: str, **changes: object) -> dict[str, Any]:
    """Settings of a model that make it small; those that it does not have are left out."""
    fields = dataclasses.fields(MODELS[name].Config)
    shrunk = {f.name: 8 for f in fields if type(f.default) is int and f.default > 8}
    return shrunk | {key: changes[key] for key in changes if key in {f.name for f in fields}}


def without_dropout(name: str) -> dict[str, float]:
    """Settings that switch every dropout off."""
    fields = (field.name for field in dataclasses.fields(MODELS[name].Config))
    return {field: 0.0 for field in fields if field.startswith("dropout")}


def recipe(name: str = MODEL, options: dict[str, Any] | None = None, **changes: Any) -> Recipe:
    """A recipe for a few short epochs."""
    settings = {"epochs": 4, "batch_size": 4, "rate": 0.02, "patience": 9} | changes
    table = {"name": name, **(tiny(name) if options is None else options)}
    return recipe_of({"model": table, "train": settings})


def ranker(settings: Recipe, dataset: Dataset) -> Ranker:
    """The untrained ranker of the recipe, with random word vectors."""
    lexicon = Lexicon.build([Post("all", title=" ".join(WORDS)), *dataset.posts.values()])
    if MODELS[settings.model].reads == "vectors":
        lexicon = TeacherLexicon(lexicon.vocabulary, teacher=small_teacher()[0])
    vectors = np.random.default_rng(2).normal(size=(len(lexicon.vocabulary), DIM))
    return Ranker.create(settings.model, lexicon, vectors.astype(np.float32), settings.options)


def run(
    folder: Path,
    settings: Recipe,
    on_event: OnEvent = ignore,
    processes: Processes = ALONE,
    dataset: Dataset | None = None,
) -> TrainedRanker:
    """Train in a folder."""
    dataset = dataset or made()
    return train(ranker(settings, dataset), dataset, settings, folder, on_event, processes)


def shared(name: str) -> Recipe:
    """The recipe that one and several processes must agree on."""
    options = tiny(name, **without_dropout(name))
    return recipe(name, options, epochs=2, batch_size=2, **SHARED[name])


def pretrained(name: str, folder: Path, processes: Processes = ALONE) -> list[dict[str, Any]]:
    """Pre-train without dropout; six texts in a step leave a process idle in the last one."""
    size = 6 // processes.world_size
    folder.mkdir(parents=True, exist_ok=True)
    dataset = made()
    start = ranker(recipe(name, tiny(name, **without_dropout(name))), dataset)
    if name == "cabin":
        language = LanguageModelSettings(epochs=2, batch_size=size)
        return pretrain_language_models(start, dataset, language, folder, processes=processes)
    settings = PretrainSettings(epochs=2, batch_size=size)
    return pretrain(start, dataset, settings, folder, processes=processes)


def main() -> None:
    """Run as the command line says."""
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        processes = launched()
        for name in SHARED:
            run(folder / name, shared(name), processes=processes)
        for name in PRETRAINED:
            pretrained(name, folder / f"pretrained-{name}", processes)
        return

    def on_event(event: Event) -> None:
        line = f"{type(event).__name__} {getattr(event, 'epoch', '')}"
        if line == sys.argv[2]:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            signal.pause()

    run(folder, recipe(), on_event)


if __name__ == "__main__":
    main()
