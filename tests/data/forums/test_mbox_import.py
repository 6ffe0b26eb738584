"""Threads of mailing lists."""

from askonce.types import Post
from tests.data.forums.samples import records, write
from tests.data.forums.samples.mbox import MBOX


def test_a_reply_without_references_is_placed_by_its_subject(tmp_path):
    text = "\n".join(line for line in MBOX.splitlines() if not line.startswith(("In-Rep", "Refer")))
    text = text.replace("> It jumps when I climb a steep hill.\n", "")
    actual = [r for r in records("mbox", write(tmp_path, "a.mbox", text)) if isinstance(r, Post)]
    assert {post.id: post.parent for post in actual} == {
        "q1@bikes.example": None,
        "a2@bikes.example": None,
        "a1@bikes.example": "q1@bikes.example",
    }


def test_a_header_of_an_impossible_character_set_stays_as_it_is_written(tmp_path):
    raw = b"From a@x.example Mon Mar  4 10:00:00 2024\nMessage-ID: <1@x>\n"
    raw += b"From: =?utf\xc3\xa98?q?Ada?= <a@x.example>\nSubject: =?\xc3\xa9?b?YQ==?= c\n\nd\n"
    path = tmp_path / "a.mbox"
    path.write_bytes(raw)
    (post,) = records("mbox", path)
    assert isinstance(post, Post)
    assert post.body == "d" and post.title.endswith(" c")
