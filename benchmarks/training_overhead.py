"""What the training loop costs beside the model: its time per step by that of the bare step.

    python benchmarks/training_overhead.py [--quick] [--threads N] [--json F]

The bare step is forward, backward and update on batches that are tensors already. The loop's time
holds all it does for the same batches: drawing groups, sorting, padding, telling, and the step. The
two take turns, epoch by epoch, so that a busy moment of the machine hits both.
"""

import argparse
import copy
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from texts import trecqa_lengths
from timing import ratio

from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.training.batches import Collator, GroupBatch, GroupScorer
from askonce.training.events import Epoch, Event, Step
from askonce.training.fine_tuning import OPTIMISERS, group_losses, train
from askonce.training.recipe import Recipe, recipe_of
from askonce.training.sampling import GroupSampler
from askonce.types import Dataset, Pool, Post

VOCABULARY, DIM = 20_000, 300  # as GloVe
CANDIDATES = 5  # all of them in each group, so that the first epoch reads every text
MODELS: dict[str, dict[str, object]] = {  # from the fastest to a slow one
    "hyperqa": {"dim": 300},
    "ctrn": {"dim": 128},
    "qa-lstm": {"train_words": False},
}


def pools(count: int) -> Dataset:
    """Questions with one right answer among five, of TrecQA's lengths and language's words."""
    rng = np.random.default_rng(1)
    share = 1 / np.arange(1, VOCABULARY + 1)
    share /= share.sum()
    questions, answers = trecqa_lengths(CANDIDATES * count)

    def text(length: int) -> str:
        return " ".join(f"w{word}" for word in rng.choice(VOCABULARY, length, p=share))

    made = []
    for n in range(count):
        own = [Post(f"a{n}.{i}", body=text(answers[CANDIDATES * n + i])) for i in range(CANDIDATES)]
        labels = (1,) + (0,) * (CANDIDATES - 1)
        made.append(Pool(Post(f"q{n}", title=text(questions[n])), tuple(own), labels))
    return Dataset("made", {"train": made, "dev": made[:10]})


def bare(ranker: Ranker, recipe: Recipe, dataset: Dataset) -> Callable[[int], float]:
    """Seconds of the bare steps of an epoch, on a model of its own."""
    config = recipe.train
    sampler = GroupSampler(dataset, dataset.train, config.negatives, config.seed)
    collator = Collator(ranker.lexicon.read, sampler.right)
    scorer = GroupScorer(copy.deepcopy(ranker.model).train())
    weights = [p for p in scorer.parameters() if p.requires_grad]
    optimizer = OPTIMISERS[config.optimiser](weights, lr=config.rate)

    def batches(number: int) -> list[GroupBatch]:
        chosen = collator.batches(sampler.epoch(number), config.batch_size, number)
        made = [collator.collate(groups) for groups in chosen]
        for batch in made:
            _ = batch.queries.text.ids, batch.candidates.text.ids  # padded now, not in the step
        return made

    def run(number: int) -> float:
        made = batches(number)
        begin = time.perf_counter()
        for batch in made:
            optimizer.zero_grad()
            group_losses(scorer(batch), batch, config).mean().backward()
            optimizer.step()
        return time.perf_counter() - begin

    return run


def overhead(name: str, questions: int, epochs: int) -> dict[str, float]:
    """Milliseconds of a bare step and of the loop's, and the loop's by the bare one's."""
    dataset = pools(questions)
    recipe = recipe_of(
        {"model": {"name": name, **MODELS[name]}, "train": {"epochs": epochs + 1, "patience": 99}}
    )
    lexicon = Lexicon.build(dataset.posts.values())
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), DIM))
    ranker = Ranker.create(name, lexicon, vectors.astype(np.float32), recipe.options)
    run = bare(ranker, recipe, dataset)
    looped: list[float] = []
    plain: list[float] = []
    begin = 0.0

    def on_event(event: Event) -> None:
        nonlocal begin
        if isinstance(event, Epoch):
            plain.append(run(event.epoch))
            begin = time.perf_counter()
        elif isinstance(event, Step) and event.done == event.total:
            looped.append(time.perf_counter() - begin)

    with tempfile.TemporaryDirectory() as folder:
        train(ranker, dataset, recipe, Path(folder), on_event)
    steps = -(-questions // recipe.train.batch_size)
    looped, plain = looped[1:], plain[1:]  # the first epoch also splits every text into words
    return {
        "bare_ms": round(1000 * float(np.median(plain)) / steps, 3),
        "loop_ms": round(1000 * float(np.median(looped)) / steps, 3),
        "overhead": round(ratio(looped, plain), 3),
    }


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer epochs")
    # the loop itself has one; several make the step of a small model shorter or, when others work
    # on the machine, many times longer
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    questions, epochs = (250, 4) if options.quick else (500, 9)
    models = {name: overhead(name, questions, epochs) for name in MODELS}
    worst = max(figures["overhead"] for figures in models.values())
    text = json.dumps(
        {"overhead": worst, "models": models, "threads": options.threads, "epochs": epochs},
        indent=2,
    )
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
