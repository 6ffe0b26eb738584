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


def imported(form: str, name: str, seeds: list[bytes]) -> Made:
    """A file that an importer reads; a packed one if it begins like that."""
    from askonce.archive.rows import problem
    from askonce.data.forums import IMPORTERS, Source
    from askonce.types import Post

    folder = scratch()
    plain, packed = folder / "plain", folder / "packed"
    for folder in (plain, packed):
        folder.mkdir()

    def target(data: bytes) -> None:
        gzipped = data.startswith(b"\x1f\x8b")
        path = packed / f"{name}.gz" if gzipped else plain / name
        path.write_bytes(data)
        dump = path.parent if form == "stackexchange" else path
        for record in IMPORTERS[form](Source(dump)):
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
    made.__name__: made for made in (tokeniser, html, xml, csv, jsonl, trec, model)
}
