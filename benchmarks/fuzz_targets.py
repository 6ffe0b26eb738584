"""What fuzz.py throws bytes at: each target reads them as a user's file or text would be read.

A target may raise AskonceError, nothing else. Files are in memory where the system allows it.
"""

import atexit
import gzip
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

Target = Callable[[bytes], None]
Made = tuple[Target, list[bytes]]  # with inputs to begin from


class Wrong(Exception):
    """What a reader gave is not what it promises."""


def scratch() -> Path:
    """A folder that goes with the process."""
    home = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = tempfile.mkdtemp(prefix="fuzz-", dir=home)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def text_of(data: bytes) -> str:
    """Bytes as a text that may hold anything, halves of surrogate pairs too."""
    return data.decode("utf-8", "surrogateescape")


def tokeniser() -> Made:
    """Tokens of any text, which tokenised again are the same."""
    from askonce.text.tokenise import tokenise

    def target(data: bytes) -> None:
        tokens = tokenise(text_of(data))
        if tokenise(" ".join(tokens)) != tokens:
            raise Wrong(f"{tokens!r} tokenised again is {tokenise(' '.join(tokens))!r}")

    return target, [
        b"Don't run ~/.ssh/config --dry-run, 1,000 c++ a@b.org",
        "車輪 🚲\u0301’".encode(),
    ]


def html() -> Made:
    """Markup as text, without notices, and made safe."""
    from askonce.text.html import html_to_text
    from askonce.text.leaks import strip_notices
    from askonce.text.sanitise import safe_html

    def target(data: bytes) -> None:
        text = text_of(data)
        html_to_text(text), html_to_text(text, code=False), strip_notices(text)
        safe = safe_html(text.encode("utf-8", "replace").decode())
        if "<script" in safe or "javascript:" in safe.partition("href=")[2][:30]:
            raise Wrong(f"unsafe: {safe!r}")

    return target, [
        b"<p onclick=x>a <b>b</b></p><pre><code>c</code></pre><!-- d --><script>e</script>&#65;",
        b"<blockquote><p><strong>Possible Duplicate:</strong><a href='/q/1'>x</a></p></blockquote>",
    ]


def imported(form: str, name: str, seeds: list[bytes], mapping: str = "") -> Made:
    """A file that an importer reads; a packed one if it begins like that."""
    from askonce.archive.rows import problem
    from askonce.data.forums import IMPORTERS, Source
    from askonce.types import Post

    folder = scratch()
    plain, packed, fields = folder / "plain", folder / "packed", folder / "fields.toml"
    fields.write_text(mapping)
    for folder in (plain, packed):
        folder.mkdir()

    def target(data: bytes) -> None:
        gzipped = data.startswith(b"\x1f\x8b")
        path = packed / f"{name}.gz" if gzipped else plain / name
        path.write_bytes(data)
        dump = path.parent if form == "stackexchange" else path
        for record in IMPORTERS[form](Source(dump, mapping=fields if mapping else None)):
            if isinstance(record, Post):
                problem(record)

    return target, seeds


def xml() -> Made:
    """The rows of a Stack Exchange dump."""
    row = b'<row Id="1" PostTypeId="1" Title="a" Body="&lt;p&gt;b&lt;/p&gt;" Tags="&lt;c&gt;" />'
    other = b'<row Id="2" PostTypeId="2" ParentId="1" CreationDate="2020-01-01" Body="d"/>'
    declared = (
        b'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + row + b"\n" + other + b"\n</posts>"
    )
    return imported(
        "stackexchange", "Posts.xml", [declared, b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"]
    )


def csv() -> Made:
    """A table."""
    table = (
        b"id,kind,title,body,parent,tags,created,score\n1,question,a,<p>b</p>,,x y,2020-01-01,3\n"
    )
    return imported(
        "csv",
        "table.csv",
        [table, b'question;answer\n"a ""b""";"c\nd"\n', b"\xef\xbb\xbftitle\tbody\na\tb\n"],
    )


def jsonl() -> Made:
    """Lines of JSON."""
    post = {
        "id": "1",
        "kind": "question",
        "title": "a",
        "html": "<p>b</p>",
        "tags": ["c"],
        "score": 1,
    }
    link = {"kind": "link", "source": "1", "target": "2", "link": "related"}
    lines = "\n".join(map(json.dumps, (post, link))).encode()
    return imported("jsonl", "posts.jsonl", [lines, gzip.compress(lines, mtime=0)])


def discourse() -> Made:
    """A topic, and an export, of Discourse."""
    posts = [
        {"post_number": 1, "cooked": "<p>a</p>", "created_at": "2020-01-01", "username": "b"},
        {"post_number": 2, "raw": "c", "actions_summary": [{"id": 2, "count": 3}], "user_id": 4},
    ]
    topic = {"id": 1, "title": "d", "tags": ["e"], "post_stream": {"posts": posts}}
    export = {"topics": [{"id": 1, "title": "d", "posts": posts}], "users": [{"id": 4}]}
    return imported("discourse", "page.json", [json.dumps(p).encode() for p in (topic, export)])


def github() -> Made:
    """An issue of the REST API, and a discussion of GraphQL."""
    address = "https://github.com/o/r/issues/1"
    issue = {"title": "a", "html_url": address, "reactions": {"+1": 1}, "labels": [{"name": "b"}]}
    comment = {"databaseId": 2, "body": "Duplicate of #3", "replies": {"nodes": []}}
    thread = {"title": "c", "url": address, "comments": {"nodes": [comment]}, "answer": {"id": "d"}}
    pages = (issue, {"data": {"repository": {"discussions": {"nodes": [thread]}}}})
    return imported("github", "page.json", [json.dumps(page).encode() for page in pages])


def zendesk() -> Made:
    """Articles, and posts and comments of a community, of a help centre."""
    article = {"id": 1, "title": "a", "body": "<p>b</p>", "label_names": ["c"], "author_id": 4}
    post = {"id": 2, "title": "d", "details": "e", "vote_sum": 1, "html_url": "https://x.example"}
    comment = {"id": 3, "post_id": 2, "body": "f", "official": True}
    page = {"articles": [article], "posts": [post], "comments": [comment], "users": [{"id": 4}]}
    return imported("zendesk", "page.json", [json.dumps(page).encode()])


def mbox() -> Made:
    """The messages of a mailing list."""
    question = (
        b"From a@x.example Mon Mar  4 10:00:00 2024\nMessage-ID: <1@x>\n"
        b"From: =?utf-8?q?Ad=C3=A9?= <a@x.example>\nSubject: [b] c\n\nd\n>From e\n\n--\nf\n\n"
    )
    reply = (
        b"From g@x.example Mon Mar  4 11:00:00 2024\nMessage-ID: <2@x>\nReferences: <1@x>\n"
        b"Subject: Re: [b] c\nContent-Type: multipart/alternative; boundary=h\n\n--h\n"
        b"Content-Type: text/html; charset=latin-1\nContent-Transfer-Encoding: base64\n\n"
        b"PHA+aTwvcD4=\n--h--\n\n"
    )
    return imported("mbox", "list.mbox", [question + reply])


def question2answer() -> Made:
    """A dump of Question2Answer, as SQL."""
    dump = (
        b"-- a\nCREATE TABLE `qa_posts` (`postid` int, `type` enum('Q','A'), `parentid` int, "
        b"`title` text, `content` text, `created` datetime, PRIMARY KEY (`postid`));\n"
        b"INSERT INTO `qa_posts` VALUES (1,'Q',NULL,'b \\'c\\'','<p>d</p>','2016-05-16 20:04:43'),"
        b"(2,'A',1,NULL,'e',NULL);\n"
    )
    return imported("question2answer", "dump.sql", [dump])


def phpbb() -> Made:
    """A dump of phpBB, as SQL."""
    dump = (
        b"INSERT INTO `phpbb_topics` (`topic_id`, `topic_title`, `topic_first_post_id`) VALUES "
        b"(1, 'a &quot;b&quot;', 1);\nINSERT INTO `phpbb_posts` (`post_id`, `topic_id`, "
        b"`poster_id`, `post_time`, `post_text`) VALUES "
        b"(1, 1, 2, 972086460, '<r><B><s>[b]</s>c</B></r>'),\n"
        b"(2, 1, 3, 0, '[quote=\"d\":e]f[quote]g[/quote:e][/quote:e] h');\n"
    )
    return imported("phpbb", "dump.sql", [dump])


def mapped() -> Made:
    """XML of questions and answers by a mapping."""
    mapping = """
items = "section.entry"
[question]
id = "@key"
title = "ask"
score = "@votes"
tags = "topic"
duplicate_of = "@same"
[answer]
items = "reply"
body = "."
accepted = "@best"
"""
    entry = (
        b'<faq><section><entry key="1" votes="2" same="3"><ask>a</ask><topic>b</topic>'
        b'<reply best="yes">c &amp; <b>d</b></reply></entry></section></faq>'
    )
    return imported("mapped", "faq.xml", [entry], mapping)


def trec() -> Made:
    """Qrels and runs."""
    from askonce.evaluation.trec_files import read_qrels, read_run

    path = scratch() / "table"

    def target(data: bytes) -> None:
        path.write_bytes(data[1:])
        (read_run if data[:1] == b"r" else read_qrels)(path)

    return target, [b"q1 0 d1 1\n1 0 d2 0\n", b"r1 Q0 d1 1 0.5 tag\n1 Q0 d2 2 -1e3 tag\n"]


def model() -> Made:
    """The files of a model folder, one of them damaged."""
    import numpy as np

    from askonce.ranker import Ranker
    from askonce.ranker_folder import CONFIG, VOCABULARY, WEIGHTS
    from askonce.ranking.manifest import CURRENT, MANIFEST, current, read_manifest
    from askonce.text.lexicon import Lexicon
    from askonce.types import Post

    folder = scratch() / "models" / "0001"
    lexicon = Lexicon.build([Post("1", title="one two three")])
    vectors = np.zeros((len(lexicon.vocabulary), 4), dtype=np.float32)
    Ranker.create("hyperqa", lexicon, vectors, {"dim": 4}).save(folder)
    (folder / MANIFEST).write_text('{"format": 1, "created": "", "questions": {"encoder": "x"}}')
    (folder.parent / CURRENT).write_text("0001\n")
    paths = [folder / name for name in (CONFIG, VOCABULARY, WEIGHTS, MANIFEST)]
    paths += [folder.parent / CURRENT, folder / WEIGHTS]
    whole = [path.read_bytes() for path in paths]
    numbers = len(whole[-1]) - int.from_bytes(whole[-1][:8], "little") - 8  # bytes after the header

    def target(data: bytes) -> None:
        index = data[0] % len(paths) if data else 0
        content = data[1:]
        if index == len(paths) - 1:  # another header, with its true length
            content = len(content).to_bytes(8, "little") + content + bytes(numbers)
        paths[index].write_bytes(content)
        try:
            if paths[index].name == CURRENT:
                current(folder.parents[1])
            elif paths[index].name == MANIFEST:
                read_manifest(folder)
            else:
                Ranker.load(folder)
        finally:
            paths[index].write_bytes(whole[index])

    seeds = [bytes([index]) + content for index, content in enumerate(whole)]
    seeds[-1] = seeds[-1][:1] + whole[-1][8:-numbers]
    return target, seeds


TARGETS: dict[str, Callable[[], Made]] = {
    made.__name__: made
    for made in (
        *(tokeniser, html, xml, csv, jsonl, discourse, github, zendesk, mbox, question2answer),
        *(phpbb, mapped, trec, model),
    )
}
