"""Mailing lists: mbox files, as list servers archive them."""

import email
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from askonce.data.formats.sources import display_name, web_address
from askonce.data.forums import IMPORTERS, Damaged, Imported, Source
from askonce.files import LONGEST_RECORD
from askonce.text.html import html_to_text
from askonce.types import Post

_WHAT = "an mbox file or a folder of them, .gz or not"
_FROM = re.compile(rb"From \S.*\s\d?\d:\d\d\b.*\d{4}\s*$")  # with the time, unlike a sentence
_LONGEST_FROM = 400  # bytes
_VIA = re.compile(r"\s+via\s+\S.*$")  # as lists write the names of others
_ID = re.compile(r"<([^<>\s]+)>")
_REPLY = re.compile(r"(?:\s*(?:re|aw|sv|antw|rif|r)\s*(?:\[\d+\])?:)+", re.IGNORECASE)
_LIST_TAG = re.compile(r"^\s*\[[^\]]{1,40}\]")
_WROTE = re.compile(r"^.{0,200}(?:wrote|writes|schrieb|a écrit|escribió)\s*:?\s*$", re.IGNORECASE)
_LONGEST_QUOTED = 40  # lines of a question that a reply may be recognised by
_SHORTEST_QUOTED = 20  # characters of such a line
_ERRORS = (ValueError, LookupError, TypeError, AttributeError, AssertionError, MessageError)


class _Mail(NamedTuple):
    id: str
    above: list[str]  # ids of the messages that it answers, oldest first
    subject: str
    author: str | None
    created: str | None
    url: str | None
    site: str | None
    text: str

    @property
    def is_reply(self) -> bool:
        return bool(self.above) or _REPLY.match(self.subject) is not None

    @property
    def title(self) -> str:
        return _LIST_TAG.sub("", _REPLY.sub("", _LIST_TAG.sub("", self.subject))).strip()


@dataclass
class _Threads:
    above: dict[str, str] = field(default_factory=dict)  # message -> the one it answers
    starters: dict[str, str | None] = field(default_factory=dict)  # thread -> its author
    by_subject: dict[str, str] = field(default_factory=dict)
    by_line: dict[int, str] = field(default_factory=dict)

    def learn(self, mail: _Mail) -> None:
        known = [name for name in mail.above if name != mail.id]
        if known:
            self.above[mail.id] = known[-1]
            for older, newer in pairwise(known):
                self.above.setdefault(newer, older)

    def start(self, mail: _Mail) -> None:
        self.starters[mail.id] = mail.author
        self.by_subject[mail.title.lower()] = mail.id
        for line in list(_lines(mail.text))[:_LONGEST_QUOTED]:
            self.by_line.setdefault(hash(line), mail.id)

    def of(self, mail: _Mail) -> str | None:
        """The thread that a reply belongs to: by reference, by what it quotes, by its subject."""
        return (
            self._by_reference(mail.id)
            or self._by_quote(mail)
            or self.by_subject.get(mail.title.lower())
        )

    def _by_reference(self, name: str) -> str | None:
        seen = {name}
        while (above := self.above.get(name)) and above not in seen:
            seen.add(name := above)
        return name if name in self.starters else None

    def _by_quote(self, mail: _Mail) -> str | None:
        quoted = (line.lstrip("> ").strip() for line in mail.text.splitlines() if line[:1] == ">")
        threads = (self.by_line.get(hash(line)) for line in quoted if len(line) >= _SHORTEST_QUOTED)
        return next(filter(None, threads), None)


@IMPORTERS.add("mbox", "mailing-list")
def read(source: Source) -> Iterator[Imported]:
    """A mailing list's archive: mbox files, as Mailman and others write them.

    A message that starts a thread is a question; replies of others answer it, without what they
    quote. Threads are known by References and In-Reply-To, else by the quoted lines, else by the
    subject. Addresses of people are not kept. The files are read twice.
    """
    paths = source.files(_WHAT, ".mbox", ".mbx", ".txt", ".eml")
    source.expect(*paths, *paths)
    threads = _Threads()
    for _, mail in _mails(source, paths):
        if isinstance(mail, _Mail):
            threads.learn(mail)
    waiting: list[_Mail] = []
    for where, mail in _mails(source, paths):
        if isinstance(mail, Damaged):
            yield mail
        elif mail.is_reply:
            waiting.append(mail)
        elif not mail.title and not mail.text:
            yield Damaged(where, "expected a subject or a text")
        else:
            threads.start(mail)
            yield _post(mail, source)
        if len(waiting) > _MOST_WAITING:
            yield from _answers(waiting, threads, source)
            waiting = []
    yield from _answers(waiting, threads, source)


_MOST_WAITING = 50_000  # replies in memory before their questions are looked for


def _post(mail: _Mail, source: Source, thread: str | None = None) -> Post:
    """A question, or an answer to the thread."""
    return Post(
        id=mail.id,
        title="" if thread else mail.title,
        body=_own_words(mail.text),
        kind="answer" if thread else "question",
        parent=thread,
        created=mail.created,
        url=mail.url,
        author=mail.author,
        site=display_name(source.site) or mail.site,
    )


def _answers(waiting: list[_Mail], threads: _Threads, source: Source) -> Iterator[Imported]:
    for mail in waiting:
        thread = threads.of(mail)
        post = _post(mail, source, thread)
        if thread is None:  # its thread began before the archive
            threads.start(mail)
            yield post
        elif post.body and (mail.author is None or mail.author != threads.starters[thread]):
            yield post


def _own_words(text: str) -> str:
    """The text without quotations, the line that introduces them, and the signature."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.rstrip() == "--" or line == "-- ":
            break
        if line[:1] == ">":
            while lines and (not lines[-1].strip() or _WROTE.match(lines[-1])):
                lines.pop()
        else:
            lines.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line[:1] != ">" and len(line.strip()) >= _SHORTEST_QUOTED:
            yield line.strip()


def _mails(source: Source, paths: list[Path]) -> Iterator[tuple[str, _Mail | Damaged]]:
    for path in paths:
        with source.open(path) as stream:
            for number, (line, raw) in enumerate(_messages(stream.lines()), start=1):
                where = f"{path.name}, message {number} at line {line}"
                try:
                    yield where, _mail(email.message_from_bytes(raw))
                except _ERRORS as error:
                    yield where, Damaged(where, f"expected a message, found {error}"[:200])
            for flaw in stream.flaws():
                yield path.name, Damaged.of(flaw)


def _messages(lines: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """The messages with the lines they begin at; one begins with ``From `` after a blank line."""
    message: list[bytes] = []
    start, size, after_blank = 1, 0, True
    for number, line in enumerate(lines, start=1):
        if after_blank and len(line) < _LONGEST_FROM and _FROM.match(line.rstrip()):
            if message:
                yield start, b"".join(message)
            message, start, size = [], number, 0
        elif size <= LONGEST_RECORD:  # of a longer message only the start
            message.append(line[1:] if line.startswith(b">From ") else line)
            size += len(line)
        after_blank = not line.strip()
    if message:
        yield start, b"".join(message)


def _mail(message: Message) -> _Mail:
    own = _ID.search(str(message.get("Message-ID", "")))
    if own is None:
        raise ValueError("no Message-ID")
    above = _ID.findall(str(message.get("References", "")))
    above += [n for n in _ID.findall(str(message.get("In-Reply-To", ""))) if n not in above][:1]
    name, address = parseaddr(_header(message, "From").replace(" at ", "@"))
    return _Mail(
        id=own[1][:200],
        above=above,
        subject=_header(message, "Subject"),
        author=display_name(_VIA.sub("", name)) or display_name(address.partition("@")[0]),
        created=_date(message),
        url=web_address(_header(message, "Archived-At").strip("<> ")),
        site=display_name(_header(message, "List-Id").rpartition("<")[2].strip("<> ")),
        text=_text(message),
    )


def _header(message: Message, name: str) -> str:
    value = str(message.get(name, ""))
    with suppress(*_ERRORS):  # then it stays as it is written
        value = str(make_header(decode_header(value)))
    return " ".join(value.encode("utf-8", "replace").decode().split())


def _date(message: Message) -> str | None:
    try:
        date = parsedate_to_datetime(str(message.get("Date", "")))
        return date.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (*_ERRORS, OverflowError):
        return None


def _text(message: Message) -> str:
    """The first part of plain text, else of HTML."""
    readers: dict[str, Callable[[str], str]] = {"text/plain": str, "text/html": html_to_text}
    for kind, convert in readers.items():
        for part in message.walk():
            if part.get_content_type() == kind and not part.get_filename():
                return convert(_decoded(part))
    return ""


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else str(part.get_payload()).encode()
    try:
        text = raw.decode(part.get_content_charset() or "utf-8", "replace")
    except LookupError:
        text = raw.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\xa0", " ").replace("\0", "")
