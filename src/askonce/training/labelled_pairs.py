"""Labelled pairs of texts: a classifier that says whether two texts ask the same.

Its features are the words and meaning that two texts share: shared stems, the ratio of lengths, the
cosine of an encoder's vectors u and v, and, where dev prefers it, u ⊙ v and |u - v|. A logistic
regression joins them; its strength of regularisation is chosen by average precision on dev and the
threshold by F1 on dev.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askonce.errors import AskonceError
from askonce.files import json_value, write_atomic
from askonce.index.stems import Stems
from askonce.teachers import STARTER, load_teacher
from askonce.types import Dataset, TextPair

FILE = "classifier.json"
FORMAT = 1
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C of the regression
MIN_PAIRS = 10  # of each label, to learn from
SIMPLE = 6  # features before u ⊙ v and |u - v|
SAMPLES = 1000  # of the bootstrap


@dataclass(frozen=True)
class PairFigures:
    pairs: int
    positives: int
    accuracy: float
    f1: float
    ap: float
    ap_interval: tuple[float, float]


class Labelled(NamedTuple):
    pairs: list[TextPair]
    labels: np.ndarray


def labelled_pairs(dataset: Dataset, split: str) -> Labelled:
    """The pairs of a split; both texts of a line, however the lines are grouped."""
    pools = dataset.splits.get(split, ())
    pairs = [(pool.query.text, post.text) for pool in pools for post in pool.candidates]
    labels = [int(label > 0) for pool in pools for label in pool.labels]
    return Labelled(pairs, np.array(labels))


@dataclass(frozen=True, eq=False)
class PairClassifier:
    """A logistic regression over features of pairs."""

    encoder: str  # as ``load_teacher`` takes it
    products: bool  # whether u ⊙ v and |u - v| are features
    mean: np.ndarray  # (F,)
    scale: np.ndarray  # (F,)
    weights: np.ndarray  # (F,)
    bias: float
    threshold: float  # of the probability

    def probabilities(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """The probability that the texts of each pair ask the same, (n,)."""
        if not pairs:
            return np.empty(0)
        return self.of_features(pair_features(pairs, self.encoder, self.products))

    def of_features(self, features: np.ndarray) -> np.ndarray:
        logits = (features - self.mean) / self.scale @ self.weights + self.bias
        return np.asarray(1 / (1 + np.exp(-logits)))

    def predict(self, pairs: Sequence[TextPair]) -> np.ndarray:
        return self.probabilities(pairs) >= self.threshold

    def save(self, folder: Path) -> None:
        arrays = {name: getattr(self, name).tolist() for name in ("mean", "scale", "weights")}
        plain = {"encoder": self.encoder, "products": self.products, "bias": self.bias}
        record = {"format": FORMAT, **plain, "threshold": self.threshold, **arrays}
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / FILE, json.dumps(record))

    @classmethod
    def load(cls, folder: Path) -> "PairClassifier":
        record = json_value(Path(folder) / FILE)
        if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
            raise AskonceError(f"{str(folder)!r} holds no classifier of format {FORMAT}")
        arrays = {name: np.array(record[name]) for name in ("mean", "scale", "weights")}
        values: dict[str, Any] = {**record, **arrays}
        return cls(**values)


def train_classifier(dataset: Dataset, encoder: str = STARTER) -> PairClassifier:
    """Learn from train; features, regularisation and threshold are chosen on dev."""
    train, dev = (labelled_pairs(dataset, split) for split in (dataset.train, dataset.dev))
    for name, part in (("train", train), ("dev", dev)):
        counts = np.bincount(part.labels, minlength=2) if len(part.labels) else np.zeros(2, int)
        if counts.min() < (MIN_PAIRS if name == "train" else 1):
            raise AskonceError(
                f"{name} has {counts[1]} pairs that are the same and {counts[0]} that are not; a "
                f"classifier needs {MIN_PAIRS} of each in train and one of each in dev"
            )
    features = [pair_features(part.pairs, encoder, products=True) for part in (train, dev)]
    best, chosen = -1.0, None
    for products in (False, True):
        used = [part if products else part[:, :SIMPLE] for part in features]
        for strength in STRENGTHS:
            classifier = _fitted(used[0], train.labels, (encoder, products), strength)
            probabilities = classifier.of_features(used[1])  # (n,)
            precision = average_precision(dev.labels, probabilities)
            if precision > best:
                threshold = best_threshold(dev.labels, probabilities)
                best, chosen = precision, replace(classifier, threshold=threshold)
    if chosen is None:
        raise AskonceError("no classifier could be fitted; are there features that differ?")
    return chosen


def measure(classifier: PairClassifier, part: Labelled) -> PairFigures:
    """Accuracy and F1 at the threshold, and average precision with its interval."""
    from sklearn.metrics import f1_score

    probabilities = classifier.probabilities(part.pairs)  # (n,)
    same = probabilities >= classifier.threshold
    rng = np.random.default_rng(1)
    count = len(same)
    samples = [rng.integers(0, count, count) for _ in range(SAMPLES)]
    values = [
        average_precision(part.labels, probabilities, np.bincount(rows, minlength=count))
        for rows in samples
        if part.labels[rows].any()
    ]
    low, high = np.quantile(values, (0.025, 0.975)) if values else (0.0, 0.0)
    return PairFigures(
        count,
        int(part.labels.sum()),
        float((same == part.labels).mean()),
        float(f1_score(part.labels, same, zero_division=0.0)),
        average_precision(part.labels, probabilities),
        (float(low), float(high)),
    )


def average_precision(
    labels: np.ndarray, probabilities: np.ndarray, copies: np.ndarray | None = None
) -> float:
    """The mean over positive pairs of the precision at their probability; 0 without one.

    As scikit-learn's, which takes many times longer for the samples of a bootstrap. ``copies`` says
    how often a sample has each pair.
    """
    order = np.argsort(-probabilities)
    copies = np.ones(len(labels), np.int64) if copies is None else copies[order]
    last = np.append(np.diff(probabilities[order]) != 0, True)  # of pairs of equal probability
    pairs, right = np.cumsum(copies)[last], np.cumsum(copies * labels[order])[last]  # (T,) each
    if not right[-1]:
        return 0.0
    gained = np.diff(right, prepend=0)
    return float((gained * right / np.maximum(pairs, 1)).sum() / right[-1])


def best_threshold(labels: np.ndarray, probabilities: np.ndarray) -> float:
    from sklearn.metrics import precision_recall_curve

    precision, recall, thresholds = precision_recall_curve(labels, probabilities)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)  # (T + 1,)
    return float(thresholds[int(f1[:-1].argmax())])


def pair_features(pairs: Sequence[TextPair], encoder: str, products: bool) -> np.ndarray:
    """Features (n, F) of pairs; the order of the two texts does not matter."""
    teacher = load_teacher(encoder)
    first, second = (teacher.encode(list(side)) for side in zip(*pairs, strict=True))  # (n, D)
    stems = Stems()
    words = [(set(stems(a)), set(stems(b))) for a, b in pairs]
    simple = [
        [
            len(a & b) / max(len(a | b), 1),
            len(a & b) / max(min(len(a), len(b)), 1),
            min(len(a), len(b)) / max(len(a), len(b), 1),
            float(a == b),
        ]
        for a, b in words
    ]
    cosine = (first * second).sum(1, keepdims=True)  # (n, 1)
    parts = [np.array(simple), cosine, cosine**2]
    parts += [first * second, np.abs(first - second)] if products else []
    return np.concatenate(parts, axis=1)


def _fitted(
    features: np.ndarray, labels: np.ndarray, settings: tuple[str, bool], strength: float
) -> PairClassifier:
    """A classifier of features (n, F); ``settings`` are its encoder and whether it has products."""
    from sklearn.linear_model import LogisticRegression

    mean, scale = features.mean(0), np.maximum(features.std(0), 1e-6)
    model: Any = LogisticRegression(C=strength, max_iter=1000)
    model.fit((features - mean) / scale, labels)
    return PairClassifier(*settings, mean, scale, model.coef_[0], float(model.intercept_[0]), 0.5)
