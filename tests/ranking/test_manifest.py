import json
from dataclasses import replace

import pytest

from askonce.errors import AskonceError, DataError
from askonce.ranking.calibration import Calibration
from askonce.ranking.manifest import (
    Manifest,
    Serving,
    TeacherReading,
    current,
    new_folder,
    read_manifest,
    remove_old,
    save_manifest,
    write_manifest,
)
from askonce.ranking.votes import VoteWeights

FULL = Manifest(
    created="2024-05-01T10:00:00+00:00",
    questions=Serving(
        encoder="questions/encoder",
        pair="questions/pair",
        how="reciprocal",
        weights={"bm25": 1.0, "vectors": 0.5, "pair": 2.0},
        calibration=Calibration(-3.5, {"bm25": 0.25, "shared": 2.0}),
        labels="duplicates",
        figures={"dev": {"bm25": {"MAP": 0.25}, "fused": {"MAP": 0.5}}},
        queries={"dev": 11},
        history=({"phase": "encoder", "epoch": 1, "dev": {"MAP": 0.5}},),
        seconds=12.5,
    ),
    answers=Serving(encoder="sentence:minilm", blend=VoteWeights(votes=0.25, accepted=0.5)),
    change=7,
)


def test_a_manifest_comes_back_as_it_was(tmp_path):
    folder = new_folder(tmp_path)
    write_manifest(folder, FULL)
    assert read_manifest(folder) == FULL
    assert current(tmp_path) == folder


def test_weights_follow_the_share_that_a_teacher_has_read():
    serving = Serving(
        "teacher",
        fast="student",
        weights={"vectors": 2.0, "pair": 4.0},
        unread_weights={"bm25": 1.0, "vectors": 0.5, "pair": 3.0},
    )
    assert serving.fusion_at(0).weights == {"bm25": 1.0, "vectors": 0.5, "pair": 3.0}
    assert serving.fusion_at(0.5).weights == {"bm25": 0.5, "vectors": 1.25, "pair": 3.5}
    assert serving.fusion_at(1).weights == {"bm25": 0.0, "vectors": 2.0, "pair": 4.0}
    assert replace(serving, unread_weights={}).fusion_at(0) == serving.fusion


def test_a_question_that_is_typed_has_weights_of_its_own():
    weights, typed = {"vectors": 2.0}, {"bm25": 1.0, "vectors": 0.5}
    serving = Serving("teacher", fast="student", weights=weights, typed_weights=typed)
    assert serving.fusion_at(1, typed=True).weights == {"bm25": 1.0, "vectors": 0.5}
    assert serving.fusion_at(1).weights == weights
    unread = replace(serving, unread_weights={"bm25": 1.0})
    assert unread.fusion_at(0.5, typed=True).weights == {"bm25": 1.0, "vectors": 0.25}
    assert replace(serving, typed_weights={}).fusion_at(1, typed=True).weights == weights


def test_saving_alone_puts_nothing_in_service(tmp_path):
    save_manifest(tmp_path, FULL)
    assert read_manifest(tmp_path) == FULL
    assert current(tmp_path) is None


def test_folders_count_up(tmp_path):
    assert [new_folder(tmp_path).name for _ in range(3)] == ["0001", "0002", "0003"]


def test_a_newer_format_is_refused(tmp_path):
    save_manifest(tmp_path, FULL)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(DataError, match="expected format 1, found 2"):
        read_manifest(tmp_path)


def test_a_manifest_of_an_earlier_version_is_read(tmp_path):
    save_manifest(tmp_path, FULL)
    record = json.loads((tmp_path / "manifest.json").read_text())
    for task in ("questions", "answers"):
        for new in ("intervals", "teacher"):
            del record[task][new]
    (tmp_path / "manifest.json").write_text(json.dumps(record))
    assert read_manifest(tmp_path) == FULL


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_what_is_no_manifest_is_refused(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError):
        read_manifest(tmp_path)


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(AskonceError, match="train again"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("name", ["../0001", "/etc", "", ".training", "a/b", ".."])
def test_current_cannot_leave_its_folder(tmp_path, name):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "current").write_text(name)
    with pytest.raises(DataError, match="name of a folder beside it"):
        current(tmp_path)


def test_the_last_two_trainings_stay_and_unfinished_ones_go(tmp_path):
    for _ in range(4):
        write_manifest(new_folder(tmp_path), FULL)
    new_folder(tmp_path)  # stopped before its manifest
    remove_old(tmp_path)
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == [
        "0003",
        "0004",
        "current",
    ]


def test_what_serves_is_never_removed(tmp_path):
    first = new_folder(tmp_path)
    write_manifest(first, FULL)
    for _ in range(3):
        save_manifest(new_folder(tmp_path), FULL)
    remove_old(tmp_path)
    assert current(tmp_path) == first
    assert first.is_dir()


@pytest.mark.parametrize(
    ("encoder", "systems", "expected"),
    [
        ("questions/adapter", ("bm25", "fused minilm", "fused"), "fused minilm"),
        ("sentence:minilm", ("bm25", "fused"), "fused"),
        ("sentence:minilm", ("bm25", "pair", "without pair", "fused"), "without pair"),
        ("questions/encoder", ("bm25", "fused"), None),
        ("sentence:minilm", (), None),
    ],
)
def test_the_system_of_the_teacher_untrained(encoder, systems, expected):
    figures = {"test": {name: {"MAP": 0.5} for name in systems}}
    serving = Serving(encoder, figures=figures, teacher=TeacherReading("minilm", 5, 5))
    assert serving.untrained == expected
    assert Serving(encoder, figures=figures).untrained is None
