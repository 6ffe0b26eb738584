"""Labelled pairs: a classifier, its threshold on dev, its figures on test."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, f1_score
from typer.testing import CliRunner

from askonce.cli import app
from askonce.data.benchmarks import load_dataset
from askonce.errors import AskonceError
from askonce.training.labelled_pairs import (
    PairClassifier,
    average_precision,
    best_threshold,
    labelled_pairs,
    measure,
    pair_features,
    train_classifier,
)

THINGS = [
    "chain",
    "brake",
    "tyre",
    "saddle",
    "wheel",
    "pedal",
    "spoke",
    "cable",
    "gear",
    "frame",
    "lamp",
    "pump",
]
SAME = (("how do I repair my {}", "what is the way to fix a {}"), ("{} is broken", "broken {}"))


def write(path, count, seed):
    """Pairs about one thing in other words, and pairs about two things in like words."""
    rng = np.random.default_rng(seed)
    lines = ["text1,text2,is_duplicate"]
    for n in range(count):
        form = SAME[rng.integers(len(SAME))]
        one, other = rng.choice(THINGS, 2, replace=False)
        same = n % 3 == 0
        lines.append(
            f"{form[0].format(one)} {n},{form[1].format(one if same else other)},{int(same)}"
        )
    path.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    for seed, (split, count) in enumerate({"train": 120, "dev": 60, "test": 60}.items()):
        write(folder / f"{split}.csv", count, seed)
    return folder


@given(st.data(), st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=30))
def test_average_precision_of_a_sample_is_that_of_scikit_learn(data, pairs):
    labels, probabilities = np.array(pairs, float).T
    rows = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=30))
    copies = np.bincount(rows, minlength=len(pairs))
    expected = (
        average_precision_score(labels[rows], probabilities[rows]) if labels[rows].any() else 0
    )
    assert average_precision(labels, probabilities, copies) == pytest.approx(expected)


def test_it_learns_what_is_the_same(folder, tmp_path):
    dataset = load_dataset("csv", folder)
    classifier = train_classifier(dataset)
    test = labelled_pairs(dataset, "test")
    figures = measure(classifier, test)
    assert figures.pairs == 60 and figures.positives == 20
    probabilities = classifier.probabilities(test.pairs)
    assert figures.ap == pytest.approx(average_precision_score(test.labels, probabilities))
    assert figures.accuracy == accuracy_score(test.labels, classifier.predict(test.pairs))
    assert figures.f1 == pytest.approx(f1_score(test.labels, classifier.predict(test.pairs)))
    assert figures.ap > 0.9 and figures.f1 > 0.8
    low, high = figures.ap_interval
    assert low <= figures.ap <= high
    classifier.save(tmp_path)
    again = PairClassifier.load(tmp_path)
    np.testing.assert_allclose(again.probabilities(test.pairs), probabilities)
    assert again.predict([]).tolist() == []


def test_the_order_of_two_texts_does_not_matter():
    pairs = [("how do I mend a chain", "chains"), ("why", "how do I mend a tyre")]
    turned = [(b, a) for a, b in pairs]
    for products in (False, True):
        features = pair_features(pairs, "starter", products)
        np.testing.assert_allclose(features, pair_features(turned, "starter", products), atol=1e-6)


def test_the_threshold_has_the_best_f1_on_dev():
    labels = np.array([1, 1, 0, 1, 0, 0])
    probabilities = np.array([0.9, 0.8, 0.7, 0.6, 0.2, 0.1])
    threshold = best_threshold(labels, probabilities)
    scores = {t: f1_score(labels, probabilities >= t) for t in probabilities}
    assert scores[threshold] == max(scores.values())


def test_too_few_pairs(tmp_path):
    write(tmp_path / "train.csv", 12, 1)
    write(tmp_path / "dev.csv", 12, 2)
    with pytest.raises(AskonceError, match="train has 4 pairs that are the same and 8 that"):
        train_classifier(load_dataset("csv", tmp_path))


def test_the_command(folder, tmp_path):
    command = ["train-pairs", str(folder), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["figures"]["test"]["ap"] > 0.9
    assert 0 < printed["threshold"] < 1
    assert (tmp_path / "out" / "classifier.json").is_file()


def test_pairs_as_jsonl(tmp_path):
    lines = [
        {"text1": "how", "text2": "so", "label": 1},
        {"text1": "how", "text2": "no", "label": 0},
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, lines)))
    part = labelled_pairs(load_dataset("jsonl", tmp_path), "train")
    assert sorted(zip(part.pairs, part.labels.tolist(), strict=True)) == [
        (("how", "no"), 0),
        (("how", "so"), 1),
    ]
