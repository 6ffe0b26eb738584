"""Remove label leaks from text: notices of duplicates, and links to other questions.

A model that reads "Possible Duplicate: ..." learns to copy the label instead of to compare two
questions. All functions accept HTML, Markdown and plain text. Every pattern stops at the next tag,
bracket or line end, or after a fixed length, so the time is linear for any input.
"""

import re

_LONGEST = 5000  # characters of a notice; after that its element counts as unclosed

_MARK = r"(?:possible|exact)\s+duplicates?"
_ANSWERED = r"this\s+question\s+already\s+has\s+(?:an\s+answer|(?:\d+\s+)?answers?)(?:\s+here)?"
_NOTE = rf"(?:{_MARK}(?:\s+of)?|{_ANSWERED})"

# An element that begins with a notice; only the innermost one is removed.
_ELEMENT = re.compile(
    r"<(?P<tag>blockquote|aside|div|p)\b[^<>]*>"
    r"(?:\s++|</?(?:p|b|strong|em|i|h\d|br|span)\b[^<>]*>){0,12}+"
    rf"(?:{_NOTE}\s*(?:</\w+>\s*)?:|{_MARK}\s+of\b)",
    re.IGNORECASE,
)
_PARAGRAPH_END = re.compile(r"</p\s*>|(?=<(?:p|div|pre|blockquote|h\d|hr)\b)|\Z", re.IGNORECASE)
_LIST = re.compile(r"\s*<(ul|ol)\b(?:(?!</\1).)*+</\1\s*>", re.DOTALL | re.IGNORECASE)

# The same as lines of text, with white space and Markdown signs before and after.
_START, _COLON = r"^[ \t>*_#-]*+", r"[ \t*_]*+:[ \t*_]*+"
_SENTENCE = r"[^\n]*?(?:[.?!]++(?=\s|\Z)|$)"
_COUNTED = r"[^\n]*?\b\d+ answers?\b\)?"
_COUNTED_LINE = rf"(?:[^\n]*+\n)?{_COUNTED}[ \t]*+$"
_NOTES = tuple(
    re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for pattern in (
        # a whole quotation
        rf"^[ \t]*+>[ \t>*_#-]*+{_NOTE}{_COLON}[^\n]*+(?:\n[ \t]*+>[^\n]*+)*+",
        # "3 answers" ends each title that has an answer
        rf"{_START}{_ANSWERED}{_COLON}(?:{_COUNTED}(?:\n{_COUNTED_LINE})*+|(?:\n{_COUNTED_LINE})++)"
        r"(?:\nclosed \d+ \w+ ago\b[^\n]*+)?",
        # titles up to an empty line; without empty lines, one title
        rf"{_START}{_NOTE}{_COLON}(?:\n[ \t]*+(?=\n))*+"
        r"(?:(?:\n[^\n]++){1,4}?(?=\n[ \t]*+\n)|\n[^\n]++|\Z)",
        # all in one line
        rf"{_START}(?:{_NOTE}{_COLON}|{_MARK}\s+of\b){_SENTENCE}",
        r"(?:(?<=\s)|^)\[duplicate\](?=[ \t]*$)",
    )
)

_HOST = r"(?:https?:)?(?://)?(?:[\w-]++\.)*+[\w-]++(?::\d++)?"
_QUESTION = r"/(?:questions|q|a)/\d"
_PATH = re.compile(_QUESTION, re.IGNORECASE)
_ANCHOR = re.compile(
    rf"""<a\s[^<>]*?href\s*=\s*["']?(?:{_HOST})?{_QUESTION}[^<>]*>"""
    r"[^<]*+(?:<(?!/?a\b)[^<]*+)*+(?:</a\s*>)?",
    re.IGNORECASE,
)
_MARKDOWN_LINK = re.compile(
    r"\[(?:[^\[\]\n]|\[[^\[\]\n]*+\])*+\]"
    rf"""\(<?(?:{_HOST})?{_QUESTION}[^()\s]*+(?:\s++["'][^()\n]*+)?\)""",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    rf"(?<![\w./:-])(?:{_HOST}{_QUESTION}|/(?:questions|q)/\d)"
    r"""(?:[^\s<>"'()\[\]]*[^\s<>"'()\[\].,;:!?])?""",
    re.IGNORECASE,
)


def strip_leaks(text: str) -> str:
    """The text without notices of duplicates and without links to other questions.

    The text of a link is removed too, since it is usually the other question's title.
    """
    text = strip_links(strip_notices(text))
    return (_ADDRESS.sub(" ", text) if _PATH.search(text) else text).strip()


def strip_notices(text: str) -> str:
    """The text without the notices that forums add to questions closed as duplicates."""
    lower = text.lower()
    if "duplicate" not in lower and "already" not in lower:  # nearly all texts
        return text
    text = _without_elements(text)
    for pattern in _NOTES:
        text = pattern.sub("", text)
    return text


def strip_links(text: str) -> str:
    """The text without HTML and Markdown links to questions and their link texts."""
    return _MARKDOWN_LINK.sub(" ", _ANCHOR.sub(" ", text)) if _PATH.search(text) else text


def _without_elements(html: str) -> str:
    parts, start = [], 0
    while (notice := _ELEMENT.search(html, start)) is not None:
        parts.append(html[start : notice.start()])
        start = _end(html, notice["tag"].lower(), notice.end())
    return "".join((*parts, html[start:]))


def _end(html: str, tag: str, start: int) -> int:
    """Where the element that is open at ``start`` ends; an unclosed one ends as a paragraph."""
    limit = start + _LONGEST
    if tag != "p":
        depth = 1
        tags = re.compile(rf"<(/?){tag}\b[^<>]*>", re.IGNORECASE)
        for match in tags.finditer(html, start, limit):
            depth += -1 if match[1] else 1
            if depth == 0:
                return match.end()
    paragraph = _PARAGRAPH_END.search(html, start, limit)
    end = paragraph.end() if paragraph else limit
    titles = _LIST.match(html, end, limit)
    return titles.end() if titles else end
