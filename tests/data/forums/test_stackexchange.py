import gzip
import random
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce import files
from askonce.archive import Archive, load
from askonce.data.forums import IMPORTERS, Damaged, Source
from askonce.data.forums.stackexchange import _records, link_of
from askonce.errors import AskonceError, DataError
from askonce.files import LONGEST_RECORD
from askonce.types import Link, Post

NOTICE = (
    "<blockquote><p><strong>Possible Duplicate:</strong><br>"
    '<a href="https://x.example.com/questions/1/why">Why?</a></p></blockquote>'
)


def row(**values):
    return "  <row " + " ".join(f"{k}={quoteattr(str(v))}" for k, v in values.items()) + " />"


def question(number, **values):
    known = {"Title": f"Title {number}", "Body": f"<p>body {number}</p>", "Score": 5}
    known |= {"CreationDate": "2011-06-21T20:49:19.747", "Tags": "<a><b-c>"}
    return row(Id=number, PostTypeId=1, **{**known, **values})


def answer(number, parent, **values):
    known = {"Body": f"<p>answer {number}</p>", "Score": -1}
    return row(Id=number, PostTypeId=2, ParentId=parent, **{**known, **values})


def table(name, *rows):
    head = '\ufeff<?xml version="1.0" encoding="utf-8"?>'
    return "\n".join((head, f"<{name}>", *rows, f"</{name}>", ""))


POSTS = (
    answer(4, 1),  # before its question
    question(1, AcceptedAnswerId=4),
    question(2, Body=NOTICE + "<p>It <code>x</code> rubs.</p>", Title="It rubs [duplicate]"),
    row(Id=3, PostTypeId=5, Body="a wiki"),
    answer(5, 2, Body="<script>alert(1)</script><p>oil it</p>", Tags=""),
    question(6, Tags="|a|b-c|", AcceptedAnswerId=7),
    answer(7, 6),
)
LINKS = (
    row(Id=1, PostId=2, RelatedPostId=1, LinkTypeId=3),
    row(Id=2, PostId=6, RelatedPostId=1, LinkTypeId=1),
    row(Id=3, PostId=6, RelatedPostId=99, LinkTypeId=1),
)


def write(folder, *posts, links=LINKS):
    folder.mkdir(exist_ok=True)
    (folder / "Posts.xml").write_text(table("posts", *posts), "utf-8")
    (folder / "PostLinks.xml").write_text(table("postlinks", *links), "utf-8")
    return folder


@pytest.fixture
def dump(tmp_path):
    return write(tmp_path / "dump", *POSTS)


def test_posts_marks_and_links_are_read(imported, dump):
    archive, summary = imported("stackexchange", dump)
    assert (summary.added, summary.links, summary.unknown_links, summary.damaged) == (6, 2, 1, 0)
    assert archive.post("1") == Post(
        "1",
        "Title 1",
        "body 1",
        score=5,
        tags=("a", "b-c"),
        created="2011-06-21T20:49:19.747",
        html="<p>body 1</p>",
    )
    assert archive.post("6").tags == ("a", "b-c")
    accepted = {name: post.accepted for name, post in archive.posts(["4", "5", "7"]).items()}
    assert accepted == {"4": True, "5": False, "7": True}
    assert archive.post("7").parent == "6"
    assert archive.links() == [Link("2", "1"), Link("6", "1", "related")]


def test_what_gives_duplicates_away_goes_and_markup_stays_for_display(imported, dump):
    archive, _ = imported("stackexchange", dump)
    post = archive.post("2")
    assert (post.title.strip(), post.body) == ("It rubs", "It x rubs.")
    assert post.html == "<p>It <code>x</code> rubs.</p>"
    scripted = archive.post("5")
    assert scripted.body == "oil it"
    assert "<script>" in scripted.html  # as written; who shows it must sanitise it


def test_code_blocks_may_be_left_out_of_the_text(imported, tmp_path):
    body = "<p>see</p><pre><code>x = 1</code></pre>"
    folder = write(tmp_path / "d", question(1, Body=body), links=())
    assert imported("stackexchange", folder)[0].post("1").body == "see\nx = 1"
    assert imported("stackexchange", folder, code=False)[0].post("1").body == "see"


def gzipped(folder):
    for path in list(folder.iterdir()):
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    return folder


def packed(folder):
    import py7zr

    target = folder.parent / "site.7z"
    with py7zr.SevenZipFile(target, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    return target


def packed_one_by_one(folder):
    import py7zr

    for path in list(folder.iterdir()):
        with py7zr.SevenZipFile(folder / f"site-{path.stem}.7z", "w") as archive:
            archive.write(path, path.name)
        path.unlink()
    return folder


@pytest.mark.parametrize("pack", [gzipped, packed, packed_one_by_one])
def test_every_packing_gives_the_same(imported, dump, pack):
    plain, summary = imported("stackexchange", dump)
    other, same = imported("stackexchange", pack(dump))
    assert same == summary
    assert list(other.iterate(html=True)) == list(plain.iterate(html=True))
    assert other.links() == plain.links()


def test_reading_says_how_far_it_is(dump):
    reported = []
    source = Source(dump, moved=lambda source: reported.append((source.done, source.size)))
    list(IMPORTERS["stackexchange"](source))
    assert reported[-1][0] == reported[-1][1] > 0


def test_links_alone_make_no_archive(dump):
    (dump / "Posts.xml").unlink()
    with pytest.raises(AskonceError, match=r"no Posts\.xml, \.gz or \.7z in"):
        next(IMPORTERS["stackexchange"](Source(dump)))
    with pytest.raises(AskonceError, match="nothing at"):
        next(IMPORTERS["stackexchange"](Source(dump / "nowhere")))
    with pytest.raises(AskonceError, match="name the file or folder"):
        next(IMPORTERS["stackexchange"](Source()))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(PostTypeId=1, Body="x", Title="t"), "line 4: expected a row with Id"),
        (row(Id=9, Body="x", Title="t"), "a row with PostTypeId"),
        (row(Id=9, PostTypeId=1, Title="t"), "a row with Body"),
        (row(Id=9, PostTypeId=1, Body="x"), "a row with Title"),
        (row(Id=9, PostTypeId=2, Body="x"), "a row with ParentId"),
        (question("x9"), "Id: a number, found 'x9'"),
        (question(9, Score="many"), "'Score': a whole number, found 'many'"),
        (question(9, CreationDate="soon"), "CreationDate: a date, found 'soon'"),
        (question(9, Title="\u200b", Body="<p></p>"), ""),
        ('  <row Id="9" PostTypeId="1" Title="&#x1;" Body="x" />', "invalid character number"),
        ('  <row Id="9" PostTypeId="1" Title="a" Title="b" Body="x" />', "duplicate attribute"),
        ('  <row Id="9" PostTypeId="1" Title="<" Body="x" />', "not well-formed"),
        ('  <row Id="9" PostTypeId="1" Title="&nbsp;" Body="x" />', "undefined entity"),
        ("  <row <row <row", "not well-formed"),
    ],
)
def test_a_bad_row_is_named_and_the_rest_is_read(imported, tmp_path, bad, message):
    folder = write(tmp_path / "d", question(1), bad, question(2), answer(3, 2))
    if not message:  # odd, but good
        assert imported("stackexchange", folder)[1].damaged == 0
        return
    archive, summary = imported("stackexchange", folder)
    assert sorted(post.id for post in archive.iterate()) == ["1", "2", "3"]
    assert summary.damaged == 1
    assert "Posts.xml, line 4" in summary.examples[0]
    assert message in summary.examples[0]
    with pytest.raises(AskonceError, match=r"Posts\.xml, line 4"):
        imported("stackexchange", folder, strict=True)


def test_bytes_that_are_no_text_cost_one_row(imported, tmp_path):
    folder = write(tmp_path / "d", question(1), question(2, Title="BAD"), question(3))
    path = folder / "Posts.xml"
    path.write_bytes(path.read_bytes().replace(b"BAD", b"\xff\xfe"))
    archive, summary = imported("stackexchange", folder)
    assert [post.id for post in archive.iterate()] == ["1", "3"]
    assert summary.damaged == 1


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("packing", ["xml", "gz"])
def test_a_file_cut_in_the_middle_counts_up_to_the_cut(imported, tmp_path, share, packing):
    many = [question(n, Body=random.Random(n).randbytes(300).hex()) for n in range(1, 400)]
    folder = write(tmp_path / "d", *many)
    path = folder / "Posts.xml"
    if packing == "gz":
        path = gzipped(folder) / "Posts.xml.gz"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    archive, summary = imported("stackexchange", folder)
    assert summary.damaged == 1
    assert abs(summary.added - 400 * share) < 30
    assert list(archive.kinds(["1"])) == ["1"]
    with pytest.raises(AskonceError, match="found"):
        imported("stackexchange", folder, strict=True)


def test_a_question_that_never_comes_costs_its_answers(imported, tmp_path):
    folder = write(tmp_path / "d", question(1), answer(2, 77), answer(3, 2), answer(4, 1))
    archive, summary = imported("stackexchange", folder)
    assert sorted(archive.kinds(["1", "2", "3", "4"])) == ["1", "4"]
    assert summary.damaged == 2
    assert "post '2': expected its question '77', found none" in summary.examples


def test_cyclic_duplicates_are_left_out_and_counted(imported, tmp_path):
    pairs = [(1, 2), (2, 3), (3, 1), (4, 4)]
    links = [row(Id=n, PostId=a, RelatedPostId=b, LinkTypeId=3) for n, (a, b) in enumerate(pairs)]
    folder = write(tmp_path / "d", *(question(n) for n in (1, 2, 3, 4)), links=links)
    archive, summary = imported("stackexchange", folder)
    assert (summary.links, summary.unknown_links, summary.circular_links) == (2, 0, 2)
    assert archive.originals(["1", "4"]) == {"1": "3", "4": "4"}


def test_a_body_of_ten_megabytes_is_passed_over(imported, tmp_path):
    folder = write(tmp_path / "d", question(1), question(2, Body="x " * 5_000_000), question(3))
    archive, summary = imported("stackexchange", folder)
    assert [post.id for post in archive.iterate()] == ["1", "3"]
    assert "post '2': body of" in summary.examples[0]


def test_an_element_without_end_is_passed_over_in_bounded_memory(imported, tmp_path):
    open_ended = question(2).replace(" />", "")
    filling = ["y" * 1000] * (LONGEST_RECORD // 900)
    folder = write(tmp_path / "d", question(1), open_ended, *filling, question(3))
    archive, summary = imported("stackexchange", folder)
    assert [post.id for post in archive.iterate()] == ["1", "3"]
    assert summary.damaged == 1


def test_control_characters_are_cleaned_away(imported, tmp_path):
    folder = write(tmp_path / "d", question(1, Title="a\x7fb\u0090c", Body="x\x9by"))
    post = imported("stackexchange", folder)[0].post("1")
    assert (post.title, post.body, post.html) == ("abc", "xy", "xy")


LAUGHS = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a0 "ha">{}]><posts>
<row Id="1" PostTypeId="1" Title="&a30;" Body="x" /></posts>""".format(
    "".join(f'<!ENTITY a{n} "&a{n - 1};&a{n - 1};">' for n in range(1, 31))
)


@pytest.mark.parametrize("text", [LAUGHS, '<!DOCTYPE x SYSTEM "file:///etc/passwd"><posts/>'])
def test_declared_entities_are_refused_at_once(tmp_path, text):
    (tmp_path / "Posts.xml").write_text(text)
    start = time.process_time()
    with pytest.raises(DataError, match="expected no document type"):
        load(Archive.in_memory(), IMPORTERS["stackexchange"](Source(tmp_path)))
    assert time.process_time() - start < 2


def test_deep_nesting_is_refused(tmp_path):
    (tmp_path / "Posts.xml").write_text("<posts>" + "<a>" * 1_000_000)
    with pytest.raises(DataError, match="expected a table of rows"):
        list(IMPORTERS["stackexchange"](Source(tmp_path)))


@pytest.mark.parametrize("filling", [b" ", b"<row />\n", b"x" * 99 + b"\n", b"<row Body='"])
def test_a_gzip_bomb_is_refused(tmp_path, filling, monkeypatch):
    monkeypatch.setattr(files, "SMALL", 4 << 20)  # test_csv_import has one of the real size
    size = 16 << 20
    with gzip.open(tmp_path / "Posts.xml.gz", "wb", compresslevel=6) as stream:
        stream.write(b"<posts>")
        block = filling * ((8 << 20) // len(filling))
        for _ in range(size // len(block)):
            stream.write(block)
    with pytest.raises(DataError, match="at most 200 times its packed size"):
        list(IMPORTERS["stackexchange"](Source(tmp_path)))


def test_a_7z_bomb_and_broken_7z_are_refused(tmp_path, monkeypatch):
    import py7zr

    monkeypatch.setattr(files, "SMALL", 4 << 20)
    (tmp_path / "big").write_bytes(bytes(16 << 20))
    with py7zr.SevenZipFile(tmp_path / "bomb.7z", "w") as archive:
        archive.write(tmp_path / "big", "Posts.xml")
    with pytest.raises(DataError, match=r"bomb\.7z: expected at most 200 times"):
        list(IMPORTERS["stackexchange"](Source(tmp_path / "bomb.7z")))
    whole = (tmp_path / "bomb.7z").read_bytes()
    for broken in (whole[:-20], b"7z\xbc\xaf'\x1c nothing", b""):
        (tmp_path / "broken.7z").write_bytes(broken)
        with pytest.raises(DataError, match=r"broken\.7z: expected a whole 7z archive"):
            list(IMPORTERS["stackexchange"](Source(tmp_path / "broken.7z")))


@given(st.data())
def test_no_damage_is_fatal(data):
    text = table("posts", *POSTS).encode()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 30)))
        new = data.draw(st.binary(max_size=6) | st.sampled_from([b"<row ", b'"', b"/>", b"&#1;"]))
        text = text[:start] + new + text[end:]
    with TemporaryDirectory() as folder:
        Path(folder, "Posts.xml").write_bytes(text)
        archive = Archive.in_memory()
        load(archive, IMPORTERS["stackexchange"](Source(Path(folder))))
        assert (
            len(archive.snapshot().answers) == archive.counts()["answers"]
        )  # none lacks its question
        archive.close()


@pytest.mark.data
def test_the_links_of_a_real_site(data_folder):
    path = data_folder / "travel_se_links" / "PostLinks.xml.gz"
    actual = list(_records(Source(), path, link_of))
    assert not [record for record in actual if isinstance(record, Damaged)]
    kinds = [link.kind for link in actual]
    assert (kinds.count("duplicate"), kinds.count("related")) == (1404, 5044)
    assert actual[0] == Link("28", "25", "related")


@pytest.mark.data
def test_a_real_folder_without_posts_is_reported(data_folder, tmp_path):
    shutil.copy(data_folder / "travel_se_links" / "PostLinks.xml.gz", tmp_path)
    with pytest.raises(AskonceError, match=r"no Posts\.xml"):
        list(IMPORTERS["stackexchange"](Source(tmp_path)))


@pytest.mark.parametrize("encoding", ["utf-x", "utf-7", "rot13", "idna"])  # found by fuzzing
def test_an_unknown_encoding_is_reported(tmp_path, encoding):
    declared = f'<?xml version="1.0" encoding="{encoding}"?><posts><row Id="1"/></posts>'
    (tmp_path / "Posts.xml").write_text(declared)
    with pytest.raises(DataError, match="expected XML in UTF-8"):
        list(IMPORTERS["stackexchange"](Source(tmp_path)))


USERS = (
    row(Id=-1, DisplayName="Community"),
    row(Id=7, DisplayName=" Ada  L. "),
    row(Id=8, DisplayName="Nobody"),
)


def test_posts_are_attributed_by_site_and_id(imported, tmp_path):
    folder = write(
        tmp_path / "bikes.stackexchange.com",
        question(1, OwnerUserId=7, ContentLicense="CC BY-SA 4.0"),
        answer(2, 1, OwnerDisplayName="a guest"),
        answer(3, 1),
        links=(),
    )
    (folder / "Users.xml").write_text(table("users", *USERS), "utf-8")
    archive, summary = imported("stackexchange", folder)
    assert summary.damaged == 0
    site = "https://bikes.stackexchange.com"
    expected = {"url": f"{site}/questions/1", "author": "Ada L.", "author_url": f"{site}/users/7"}
    expected |= {"site": "bikes.stackexchange.com", "licence": "CC BY-SA 4.0"}
    assert archive.post("1").source == expected
    assert archive.post("2").url == f"{site}/a/2"
    assert (archive.post("2").author, archive.post("2").author_url) == ("a guest", None)
    assert archive.post("3").author is None


@pytest.mark.parametrize(
    ("name", "given", "site"),
    [
        ("bikes.stackexchange.com", None, "bikes.stackexchange.com"),
        ("dump", None, None),
        ("dump", "https://ask.example.org/", "ask.example.org"),
        ("2024.bikes", None, None),
    ],
)
def test_the_site_is_known_by_the_name_of_the_dump_or_as_given(
    imported, tmp_path, name, given, site
):
    folder = write(tmp_path / name, question(1, OwnerUserId=7), links=())
    archive, _ = imported("stackexchange", folder, site=given)
    post = archive.post("1")
    assert (post.site, post.url) == (site, site and f"https://{site}/questions/1")
    assert post.author_url == (site and f"https://{site}/users/7")


def test_a_damaged_user_is_counted_and_costs_no_post(imported, dump):
    (dump / "Users.xml").write_text(table("users", row(DisplayName="no id"), *USERS), "utf-8")
    _, summary = imported("stackexchange", dump)
    assert (summary.added, summary.damaged) == (6, 1)
    assert "Users.xml, line 3: expected a row with Id" in summary.examples[0]
