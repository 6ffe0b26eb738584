"""Training on two processes against one, each with one core: figures and speed, as JSON.

    python benchmarks/processes.py --data DIR [--json FILE]

Fine-tuning (HyperQA on WikiQA): dev MAP after one epoch for several seeds, on one process and on
two. Pre-training (RCNN's on SemEval B, CABIN's on WikiQA): words a second on one and on two. All by
``torchrun -m askonce.cli``, as a user would. About ten minutes on two idle cores.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

SEEDS = (1, 2, 3)
TRAINED = "wikiqa/hyperqa"
PRETRAINED = ("semeval-b/rcnn", "wikiqa/cabin")


def main() -> None:
    """Run everything and print or write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--recipes", type=Path, default=Path("recipes"))
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    given = parser.parse_args()
    figures: dict[str, Any] = {
        "cores": os.cpu_count(),
        "training": training(given),
        "pretraining": {},
    }
    for name in PRETRAINED:
        figures["pretraining"][name] = pretraining(given, name)
    text = json.dumps(figures, indent=1)
    print(text)
    if given.json:
        given.json.write_text(text + "\n", "utf-8")


def training(given: argparse.Namespace) -> dict[str, Any]:
    """Dev MAP after one epoch: the difference of two processes beside the spread over seeds."""
    maps = {
        processes: [
            launched(
                given, processes, "train-recipe", TRAINED, "train.epochs=1", f"train.seed={seed}"
            )[-1]["dev"]["MAP"]
            for seed in SEEDS
        ]
        for processes in (1, 2)
    }
    return {
        "recipe": TRAINED,
        "dev_map": maps,
        "mean_difference": fmean(maps[2]) - fmean(maps[1]),
        "sd_over_seeds": stdev(maps[1]),
    }


def pretraining(given: argparse.Namespace, name: str) -> dict[str, Any]:
    """Words a second of the first epoch, by side where a model has two."""
    speeds = {}
    for processes in (1, 2):
        records = launched(given, processes, "pretrain", name, "pretrain.epochs=1")
        speeds[processes] = fmean(r["words_per_second"] for r in records if r["epoch"])
    return {"words_per_second": speeds, "ratio": speeds[2] / speeds[1]}


def launched(
    given: argparse.Namespace, processes: int, verb: str, recipe: str, *changes: str
) -> list[dict[str, Any]]:
    """What the command wrote of its epochs."""
    print(f"{verb} {recipe} on {processes}: {' '.join(changes)}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", str(processes), "-m", "askonce.cli", verb]
        command += [str(given.recipes / f"{recipe}.toml"), "--data", str(given.data)]
        command += ["--out", folder]
        for change in changes:
            command += ["--set", change]
        env = os.environ | {"OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
        (lines,) = Path(folder).glob("*.jsonl")
        return [json.loads(line) for line in lines.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main()
