import json

import pytest

from askonce.data.forums import IMPORTERS, Source
from askonce.errors import AskonceError
from askonce.types import Link, Post


@pytest.fixture
def folder(tmp_path):
    def lines(name, *records):
        (tmp_path / name).write_text("".join(json.dumps(r) + "\n" for r in records))

    lines(
        "corpus.jsonl",
        {
            "_id": "1",
            "title": "My wheel",
            "text": "It wobbles.",
            "metadata": {"url": 3},
        },
        {"_id": "2", "title": "", "text": "Why does my chain skip?"},
        {"_id": 3, "title": "", "text": "Oil it.", "metadata": {"kind": "answer", "score": 4}},
        {"_id": "4", "title": "", "text": "Never asked for.", "metadata": {"kind": "answer"}},
        {"_id": "5", "title": "no text"},
    )
    lines(
        "queries.jsonl",
        {"_id": "1", "text": "wheel wobbles"},
        {"_id": "2", "text": "The chain\nit jumps", "title": "The chain"},
    )
    (tmp_path / "qrels").mkdir()
    head = "query-id\tcorpus-id\tscore\n"
    (tmp_path / "qrels" / "test.tsv").write_text(f"{head}1\t1\t1\n2\t2\t0\n2\t3\t2\n2\t77\t1\nx\n")
    (tmp_path / "qrels" / "related.tsv").write_text(f"{head}2\t1\t1\n")
    return tmp_path


def test_documents_and_queries_become_questions_unless_they_say_otherwise(imported, folder):
    archive, summary = imported("beir", folder)
    assert {post.id: post for post in archive.iterate()} == {
        "1": Post("1", "My wheel", "It wobbles."),
        "2": Post("2", "Why does my chain skip?"),
        "query-1": Post("query-1", "wheel wobbles"),
        "query-2": Post("query-2", "The chain", "it jumps"),
        "3": Post("3", body="Oil it.", kind="answer", parent="query-2", score=4),
    }
    assert archive.links() == [Link("query-1", "1"), Link("query-2", "1", "related")]
    assert summary.unknown_links == 1
    assert summary.damaged == 3
    reported = "\n".join(summary.examples)
    assert "test.tsv, line 6: expected 3 columns" in reported
    assert "corpus.jsonl, line 5: expected 'text': a text" in reported
    assert "post '4': an answer needs 'parent'" in reported


def test_a_table_without_header_keeps_its_first_line(imported, folder):
    (folder / "qrels" / "test.tsv").write_text("1\t1\t1\n2\t3\t2\n")
    archive, summary = imported("beir", folder)
    assert Link("query-1", "1") in archive.links()
    assert not [line for line in summary.examples if "test.tsv" in line]


def test_a_missing_file_is_reported(folder):
    (folder / "queries.jsonl").unlink()
    with pytest.raises(AskonceError, match=r"no queries\.jsonl"):
        list(IMPORTERS["beir"](Source(folder)))
    with pytest.raises(AskonceError, match="is a file; expected a BEIR folder"):
        list(IMPORTERS["beir"](Source(folder / "corpus.jsonl")))
