"""How right "already asked" is: on held-out duplicates, on other questions, on another archive.

    python benchmarks/claims.py bicycles --other insuranceqa.askonce --json F
    python benchmarks/claims.py travel --data DIR --other insuranceqa.askonce --json F

A fifth of the marked duplicates and a fifth of the unmarked questions, at most 300 of each, are
taken out of the archive; a model of questions is trained on the rest and then asked what was taken
out, and questions of another archive, which it should not claim to know. ``--encoder`` and
``--minutes`` are those of ``askonce train``.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from askonce.archive import Archive, Snapshot, open_archive
from askonce.data.benchmarks import load_dataset
from askonce.data.benchmarks.pools import stable_hash
from askonce.engine import Engine
from askonce.index.base import batches
from askonce.training.archive.in_place import train_on_archive
from askonce.training.archive.preparing import TrainOptions
from askonce.training.archive.tasks.splits import find_clusters
from askonce.training.events import ignore
from askonce.types import Link, Post

MOST = 300  # questions of each kind
SHARE = 5  # one in so many is held out
BATCH = 32


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archive", help="a folder, a JSONL file, bicycles, or a dataset")
    parser.add_argument("--data", type=Path, help="folder of the dataset, which has a corpus")
    parser.add_argument("--other", default="bicycles", help="an archive about something else")
    parser.add_argument("--encoder", help="of askonce train; default: its own choice")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    training = TrainOptions(options.encoder, ("questions",), options.minutes)
    snapshot = (
        dataset_snapshot(options.archive, options.data)
        if options.data
        else open_archive(options.archive).snapshot()
    )
    text = json.dumps(measure(snapshot, options.other, training), indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


def dataset_snapshot(name: str, folder: Path) -> Snapshot:
    """The questions of a dataset's corpus; candidates of the highest label are duplicates."""
    dataset = load_dataset(name, folder)
    pools = [pool for split in dataset.splits.values() for pool in split]
    highest = max(label for pool in pools for label in pool.labels)
    links = [
        Link(pool.query.id, post.id)
        for pool in pools
        for post, label in zip(pool.candidates, pool.labels, strict=True)
        if label == highest
    ]
    archive = Archive.in_memory(name)
    archive.write(dataset.corpus)
    archive.add_links(links)  # circular ones are left out
    return archive.snapshot()


def measure(snapshot: Snapshot, other: str, training: TrainOptions) -> dict[str, Any]:
    """The shares of claims, and of first answers that readers voted against."""
    clusters = find_clusters(snapshot)
    sizes: dict[int, int] = {}
    for number in clusters.values():
        sizes[number] = sizes.get(number, 0) + 1
    marked = [p for p in snapshot.questions.values() if snapshot.duplicate_of(p.id)]
    single = [p for p in snapshot.questions.values() if sizes[clusters[p.id]] == 1]
    duplicates, unmarked = sample(marked), sample(single)
    foreign = sample(open_archive(other).iterate("question"), one_in=1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "rest.askonce"
        archive = rest(snapshot, {post.id for post in (*duplicates, *unmarked)}, folder)
        serving = train_on_archive(archive, training, ignore).manifest.questions
        archive.close()
        with Engine.open(folder) as engine:
            asked = {
                name: ask(engine, posts)
                for name, posts in (
                    ("held-out duplicates", duplicates),
                    ("unmarked questions", unmarked),
                    ("another archive", foreign),
                )
            }
    same = {post.id: clusters[post.id] for post in snapshot.questions.values()}
    for post, answer in zip(duplicates, asked["held-out duplicates"], strict=True):
        answer["right"] = any(same[name] == same[post.id] for name in answer["claimed"])
    claims = [x for name in list(asked)[:2] for x in asked[name] if x["claimed"]]
    # how many questions of the archive an unmarked one stands for, beside a marked one
    times = len(single) * len(duplicates) / (len(unmarked) * len(marked))
    weights = [1.0 if "right" in x else times for x in claims]
    right = sum(bool(x.get("right")) for x in claims)
    return {
        "archive": snapshot.name,
        "other": Path(other).stem,
        "encoder": serving.encoder if serving else None,
        "floor": round(serving.floor, 3) if serving else None,
        "questions": {name: len(answers) for name, answers in asked.items()},
        "claimed": {name: share(bool(x["claimed"]) for x in xs) for name, xs in asked.items()},
        "nothing shown": {name: share(x["nothing"] for x in xs) for name, xs in asked.items()},
        "precision": share(bool(x.get("right")) for x in claims),
        "precision at the archive's rates": round(right / sum(weights), 4) if claims else None,
        "precision on duplicates": share(bool(x.get("right")) for x in claims if "right" in x),
        "first answer voted against": share(x["negative"] for xs in asked.values() for x in xs),
    }


def sample(posts: Iterable[Post], one_in: int = SHARE) -> list[Post]:
    """The same posts in every run: one in so many, by a hash of their ids."""
    order = sorted(posts, key=lambda post: stable_hash("claims", post.id))
    return order[: min(MOST, len(order) // one_in)]


def rest(snapshot: Snapshot, held_out: set[str], folder: Path) -> Archive:
    """The archive without some questions and their answers."""
    posts = [p for p in snapshot.questions.values() if p.id not in held_out]
    posts += [a for a in snapshot.answers.values() if a.parent not in held_out]
    archive = Archive.open(folder, create=True)
    ends = ({link.source, link.target} for link in snapshot.links)
    links = [x for x, pair in zip(snapshot.links, ends, strict=True) if not pair & held_out]
    archive.write(posts, links)
    return archive


def ask(engine: Engine, posts: Sequence[Post]) -> list[dict[str, Any]]:
    """For each question, what is claimed, and whether its first answer is disliked."""
    asked = []
    for batch in batches(posts, BATCH):
        for similar, answers in engine.ask_many([post.text for post in batch]):
            claimed = [hit for hit in similar if hit.claimed]
            names = [name for hit in claimed for name in (hit.id, *(x.id for x in hit.folded))]
            negative = bool(answers) and (answers[0].votes or 0) < 0
            nothing = not any(hit.claimed or hit.close for hit in similar)
            asked.append({"claimed": names, "negative": negative, "nothing": nothing})
    return asked


def share(values: Iterable[bool]) -> float | None:
    """The share of true values; None without values."""
    listed = list(values)
    return round(sum(listed) / len(listed), 4) if listed else None


if __name__ == "__main__":
    main()
