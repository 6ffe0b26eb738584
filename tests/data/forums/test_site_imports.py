"""Discourse, GitHub, help centres, mailing lists, SQL dumps and mapped files."""

from types import ModuleType

import pytest

from askonce.archive import Archive, load
from askonce.archive.export import export
from askonce.data.forums import IMPORTERS, Damaged, Source
from askonce.types import Post
from tests.data.forums.samples import (
    discourse,
    github,
    mapped,
    mbox,
    phpbb,
    question2answer,
    records,
    write,
    zendesk,
)

SAMPLES: dict[str, ModuleType] = {
    "discourse": discourse,
    "github": github,
    "zendesk": zendesk,
    "mbox": mbox,
    "question2answer": question2answer,
    "phpbb": phpbb,
    "mapped": mapped,
}


def options_of(folder, options):
    if "mapping" not in options:
        return options
    return options | {"mapping": write(folder, "map.toml", options["mapping"])}


@pytest.mark.parametrize("form", SAMPLES)
def test_a_sample_is_read_exported_and_read_again(tmp_path, imported, form):
    name, content, options, expected = SAMPLES[form].SAMPLE
    path, options = write(tmp_path, name, content), options_of(tmp_path, options)
    actual = records(form, path, **options)
    assert [record for record in actual if not isinstance(record, Damaged)] == expected
    flaw = getattr(SAMPLES[form], "FLAW", None)
    damaged = [str(record) for record in actual if isinstance(record, Damaged)]
    assert [text[: len(flaw or "")] for text in damaged] == ([flaw] if flaw else [])
    archive, summary = imported(form, path, **options)
    assert summary.added == sum(isinstance(record, Post) for record in expected)
    export(archive, tmp_path / "out.jsonl")
    again = Archive.in_memory()
    load(again, IMPORTERS["jsonl"](Source(tmp_path / "out.jsonl")), strict=True)
    assert list(again.iterate(html=True)) == list(archive.iterate(html=True))
    assert again.links() == archive.links()
    again.close()


@pytest.mark.parametrize("form", [form for form in SAMPLES if hasattr(SAMPLES[form], "DAMAGED")])
def test_a_damaged_file_is_reported_with_its_line(tmp_path, form):
    name, content, expected = SAMPLES[form].DAMAGED
    options = options_of(tmp_path, {"mapping": mapped.FAQ_MAP} if form == "mapped" else {})
    actual = [str(r) for r in records(form, write(tmp_path, name, content), **options)]
    assert len(actual) == len(expected)
    for line, start in zip(actual, expected, strict=True):
        assert line.startswith(start)


@pytest.mark.parametrize("form", ["discourse", "github", "zendesk"])
def test_pages_are_read_from_a_folder_and_cut_files_are_reported(tmp_path, form):
    _, pages, options, expected = SAMPLES[form].SAMPLE
    for number, page in enumerate(pages):
        write(tmp_path, f"{number}.json.gz", page)
    assert records(form, tmp_path, **options) == expected
    write(tmp_path, "z.json", '{"articles": [')
    (flaw,) = [r for r in records(form, tmp_path, **options) if isinstance(r, Damaged)]
    assert str(flaw).startswith("z.json: expected JSON, found ")
