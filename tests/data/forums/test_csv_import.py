import csv
import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce.archive import Archive, load
from askonce.data.forums import IMPORTERS, Source
from askonce.errors import AskonceError, ConfigError, DataError
from askonce.types import Link, Post


def write(path, *rows, delimiter=","):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    path.write_text(text.getvalue(), "utf-8")
    return path


HEADER = ("Id", "Kind", "Parent ID", "Subject", "Text", "Votes", "Accepted", "Tags", "Created")
ROWS = (
    ("4", "answer", "1", "", 'so, "this"\nway', "-2", "yes", "", ""),
    ("1", "question", "", "Why?", "why, oh why", "7", "", "a; b c", "2021-01-17"),
    ("2", "q", "", "How?", "<p>how <b>now</b></p>", "", "", "<x><y>", "17.1.2021"),
)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_row_per_post(imported, tmp_path, delimiter):
    path = write(tmp_path / "a.csv", HEADER, *ROWS, delimiter=delimiter)
    archive, summary = imported("csv", path)
    assert (summary.added, summary.damaged) == (3, 0)
    body = 'so, "this"\nway'
    assert archive.post("4") == Post("4", "", body, "answer", "1", -2, True)
    why = Post("1", "Why?", "why, oh why", score=7, tags=("a", "b c"), created="2021-01-17")
    assert archive.post("1") == why
    html = "<p>how <b>now</b></p>"
    assert archive.post("2") == Post("2", "How?", "how now", tags=("x", "y"), html=html)


def test_a_row_per_question_with_its_answer(imported, tmp_path):
    rows = (("question", "answer", "duplicate of"), ("Why?", "So.", ""), ("How?", "", "q-2"))
    archive, summary = imported("csv", write(tmp_path / "faq.csv", *rows))
    assert list(archive.iterate()) == [
        Post("q-2", "Why?"),
        Post("a-2", body="So.", kind="answer", parent="q-2", accepted=True),
        Post("q-3", "How?"),
    ]
    assert archive.links() == [Link("q-3", "q-2")]
    assert summary.links == 1


def test_columns_may_have_any_names(imported, tmp_path):
    rows = (("Nr", "Frage", "Antwort", "title"), ("7", "Warum?", "Darum.", "x"))
    path = write(tmp_path / "a.csv", *rows)
    columns = {"id": "Nr", "title": "frage", "answer": "Antwort"}
    archive, _ = imported("csv", path, columns=columns)
    assert archive.post("7").title == "Warum?"
    assert archive.post("7-answer").body == "Darum."


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"title": "Subjekt"}, r"a\.csv has no column 'Subjekt'; did you mean 'Subject'\?"),
        ({"titel": "Subject"}, r"no field is called 'titel'; did you mean 'title'"),
    ],
)
def test_wrong_columns_are_named_with_the_nearest(tmp_path, columns, message):
    path = write(tmp_path / "a.csv", HEADER, *ROWS)
    with pytest.raises(ConfigError, match=message):
        next(IMPORTERS["csv"](Source(path, columns=columns)))


def test_a_table_without_text_says_how_to_name_it(tmp_path):
    path = write(tmp_path / "a.csv", ("x", "y"), ("1", "2"))
    with pytest.raises(AskonceError, match="title or body among x, y; name one, such as"):
        next(IMPORTERS["csv"](Source(path)))
    path.write_text("")
    with pytest.raises(DataError, match="a header, found 'an empty file'"):
        next(IMPORTERS["csv"](Source(path)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5,question,,t", "line 6: expected 9 columns, found 4"),
        ('5,question,,"t" x,b,,,,', "line 6: expected a well-formed row"),
        ("5,poll,,t,b,,,,", "line 6: expected a kind question or answer, found 'poll'"),
        ("5,question,,t,b,many,,,", "line 6: expected 'score': a whole number"),
        ("5,answer,1,,b,,perhaps,,", "line 6: expected accepted: true or false, found 'perhaps'"),
        ("5,answer,,,b,,,,", "post '5': an answer needs 'parent'"),
        ("5,answer,77,,b,,,,", "post '5': expected its question '77'"),
        ("5,question,,\udcff,b,,,,", r"line 6: expected UTF-8 text, found b'\xff'"),
        ("5,question,,,,,,,", "post '5': no text"),
        ("1,question,,again,,,,,", "post '1': expected a new id"),
        (f"5,question,,t,{'x' * 2_000_000},,,,", "post '5': body of 2,000,000 characters"),
        ('5,question,,"t,b,,,,', "line 6: expected a well-formed row, found 'unexpected end"),
    ],
)
def test_a_bad_row_is_named_and_the_rest_is_read(imported, tmp_path, line, message):
    path = write(tmp_path / "a.csv", HEADER, *ROWS)
    with path.open("ab") as stream:
        stream.write(line.encode("utf-8", "surrogateescape") + b"\n,,,,,,,,\n\n")
        if "unexpected" not in message:
            stream.write(b"9,question,,last,,,,,\n")
    archive, summary = imported("csv", path)
    assert summary.damaged == 1
    assert message in summary.examples[0]
    assert len(list(archive.iterate())) == (3 if "unexpected" in message else 4)
    with pytest.raises(AskonceError):
        imported("csv", path, strict=True)


def test_html_that_was_escaped_twice_is_unescaped(imported, tmp_path):
    header = ("id", "title", "body", "tags")
    body = "&lt;p&gt;a &amp;lt; b&lt;/p&gt;"
    escaped = ("1", "&quot;Why&quot;?", body, "&lt;x&gt;&lt;y-z&gt;")
    plain = ("2", "A &amp; B", "a < b", "x")
    archive, _ = imported("csv", write(tmp_path / "a.csv", header, escaped, plain))
    expected = Post("1", '"Why"?', "a < b", tags=("x", "y-z"), html="<p>a &lt; b</p>")
    assert archive.post("1") == expected
    assert archive.post("2") == Post("2", "A &amp; B", "a < b", tags=("x",))


def test_a_gzip_bomb_is_refused(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wb") as stream:
        stream.write(b"title\n")
        for _ in range(100):
            stream.write((b"x" * 99_999 + b"\n") * 10)
    with pytest.raises(DataError, match="at most 200 times"):
        list(IMPORTERS["csv"](Source(tmp_path / "a.csv.gz")))


@pytest.mark.data
@pytest.mark.slow
def test_a_real_forum(imported, data_folder):
    path, site = data_folder / "devops_se" / "posts.csv.gz", "devops.stackexchange.com"
    archive, summary = imported("csv", path, site=site)
    counts = archive.counts()
    assert (counts["questions"], counts["answers"]) == (3700, 4968)
    assert (counts["accepted"], counts["answered"]) == (1627, 3227)
    assert summary.damaged == 0
    first = archive.post("1")
    assert first.title == "What are the advantages of using Jenkins over Hudson?"
    assert first.body.startswith("Jenkins is a fork of Hudson.\nWhat are the benefits")
    assert first.tags == ("jenkins", "software-recommendation", "hudson")
    assert first.score == 18
    assert first.url == f"https://{site}/questions/1"
    assert first.author_url == f"https://{site}/users/3"
    assert not any("&lt;" in post.title for post in archive.iterate("question"))


cells = st.text(max_size=12) | st.sampled_from(["1", "question", "answer", "&lt;p&gt;", '"', "2"])


@given(st.binary(max_size=60) | st.lists(st.lists(cells, max_size=9), max_size=5), st.booleans())
def test_no_input_crashes(content, with_header):
    text = io.StringIO()
    csv.writer(text).writerows([HEADER] if with_header else [])
    if isinstance(content, list):
        csv.writer(text).writerows(content)
    raw = text.getvalue().encode("utf-8", "surrogatepass")
    raw += content if isinstance(content, bytes) else b""
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_bytes(raw)
        archive = Archive.in_memory()
        try:
            load(archive, IMPORTERS["csv"](Source(path)))
        except AskonceError:
            assert not with_header
        archive.close()


def test_a_header_of_several_lines_is_reported_on_one(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'qior*"a ""b""";"Lc\nd\x00"\n')  # found by fuzzing
    with pytest.raises(AskonceError, match=r"title or body among .*, Lc d; name one") as caught:
        list(IMPORTERS["csv"](Source(tmp_path / "t.csv")))
    assert "\n" not in str(caught.value)


def test_sources_are_read_and_bad_links_dropped(imported, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id,title,permalink,Author,author_url,answer,license\n"
        "1,Why?,https://x.example/1,Ada,javascript:alert(1),So.,CC0\n"
    )
    archive, summary = imported("csv", path, site="x.example")
    assert summary.damaged == 0
    expected = {"url": "https://x.example/1", "author": "Ada", "author_url": None}
    assert archive.post("1").source == {**expected, "site": "x.example", "licence": "CC0"}
    answer = archive.post("1-answer")  # its author is unknown
    assert (answer.url, answer.author) == ("https://x.example/1", None)


def test_tables_of_stack_exchange_get_addresses_from_their_site(imported, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "Id,PostTypeId,ParentId,Title,Body,OwnerUserId,OwnerDisplayName\n"
        "1,1,,Why?,x,7,\n2,2,1,,So.,,a guest\n"
    )
    archive, _ = imported("csv", path, site="bikes.stackexchange.com")
    site = "https://bikes.stackexchange.com"
    question, answer = archive.post("1"), archive.post("2")
    assert (question.url, question.author_url) == (f"{site}/questions/1", f"{site}/users/7")
    assert (answer.url, answer.author_url, answer.author) == (f"{site}/a/2", None, "a guest")
    archive, _ = imported("csv", path)
    assert archive.post("1").url is None
