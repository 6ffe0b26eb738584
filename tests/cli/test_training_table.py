"""What `askonce train` prints about the systems that it compared."""

import pytest

from askonce.cli.archives.training_table import METRICS, show_serving, summary
from askonce.ranking.manifest import Serving, TeacherReading

SYSTEMS = {
    "bm25": 0.4,
    "vectors": 0.6,
    "vectors minilm": 0.5,
    "fused minilm": 0.55,
    "while typing": 0.45,
    "fused": 0.65,
}
SERVING = Serving(
    "answers/adapter-2",
    fast="answers/student",
    weights={"bm25": 1.0, "vectors": 2.0},
    labels="answers",
    figures={
        split: {name: dict.fromkeys(METRICS, value) for name, value in SYSTEMS.items()}
        for split in ("dev", "test")
    },
    intervals={"test": {"fused": (0.55, 0.75)}},
    queries={"dev": 80, "test": 81},
    teacher=TeacherReading("minilm", 900, 1000),
)


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")


def test_every_system_has_the_name_of_its_encoder(capsys, wide):
    show_serving("answers", SERVING)
    shown = capsys.readouterr().out
    for label in ("BM25", "adapter-2 alone", "minilm alone", "minilm fused", "in service"):
        assert label in shown
    assert "dev (n=80)" in shown and "test (n=81)" in shown
    assert "0.6500 [0.550, 0.750]" in shown
    assert "read 900 of 1,000 posts" in shown


def test_where_bm25_serves_the_first_encoder_has_its_name_too(capsys, wide):
    systems = ("bm25", "vectors", "fused starter", "vectors qa-cnn", "fused qa-cnn", "fused")
    figures = {"dev": {name: dict.fromkeys(METRICS, 0.5) for name in systems}}
    show_serving("answers", Serving(labels="answers", figures=figures, queries={"dev": 9}))
    shown = capsys.readouterr().out
    assert "starter alone" in shown and "starter fused" in shown
    assert "vectors alone" not in shown


def test_a_line_says_what_you_would_have_had_and_what_you_get():
    expected = "BM25 0.400, minilm untrained with BM25 0.550, in service 0.650, while typing 0.450"
    assert summary(SERVING) == f"MAP on test (n=81): {expected}"


def test_a_task_without_labels_has_no_empty_table(capsys, wide):
    teacher = TeacherReading("minilm", 61, 61)
    weights = {"bm25": 1.0, "vectors": 3.0}
    show_serving("questions", Serving("sentence:minilm", weights=weights, teacher=teacher))
    assert capsys.readouterr().out.splitlines() == [
        "questions: 1 bm25 + 3 vectors serves (sentence:minilm, no labels)",
        "teacher minilm: read 61 of 61 posts",
    ]
