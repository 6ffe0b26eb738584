"""Forum HTML as plain text, by a few regular expressions that read the input once.

No tree is built, so deep nesting and unclosed elements do no harm. Every pattern stops at the next
``<`` or takes the rest of the input, so the time is linear for any input.
"""

import html as entities
import re

_INLINE = (
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|q|s|samp|"
    "small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
# A quoted attribute may hold ">"; where the quotes do not pair up, the tag ends at the next ">".
_REST_OF_TAG = r"""(?:(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>|[^<>]*+>)"""

_UNSEEN = re.compile(  # an element that is never closed runs to the end, as in a browser
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style)(?=[\s/>]).*?(?:</\1(?=[\s/>])[^<>]*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_PRE = re.compile(r"<pre(?=[\s/>])[^<>]*>(.*?)(?:</pre\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_INLINE_TAG = re.compile(rf"</?(?:{_INLINE})(?=[\s/>]){_REST_OF_TAG}", re.IGNORECASE)
_ANY_TAG = re.compile(rf"</?[a-zA-Z]{_REST_OF_TAG}|<[!?][^<>]*+>")
# int() refuses thousands of digits, and html.unescape would pass its ValueError on.
_HUGE_ENTITY = re.compile(r"&#[0-9]{1000}[0-9]*+;?")
# Control characters that are not white space, lone surrogates, and line-break hints.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff\u00ad\ufeff]|\u200c?\u200b"
)


def html_to_text(html: str, code: bool = True) -> str:
    """The words of a forum post without its markup, one line per block element.

    Inline ``<code>`` always stays, since it is often the key word; ``<pre>`` blocks stay, with
    their indentation, only with ``code``. Scripts, styles, comments and control characters go.
    Broken markup never raises.
    """
    if "<" not in html:
        return _tidy(_unescape(html))
    parts = _PRE.split(_UNSEEN.sub(" ", html))  # outside, inside, outside, ...
    parts[::2] = [_tidy(_unescape(_strip_tags(part))) for part in parts[::2]]
    parts[1::2] = [_tidy_code(_unescape(_strip_tags(part))) if code else "" for part in parts[1::2]]
    return "\n".join(filter(None, parts))


def _strip_tags(html: str) -> str:
    """Remove inline tags; any other tag ends a line, so that words of two blocks stay apart."""
    return _ANY_TAG.sub("\n", _INLINE_TAG.sub("", html))


def _unescape(text: str) -> str:
    if "&" in text:
        text = entities.unescape(_HUGE_ENTITY.sub("\ufffd", text))
    plain = text.replace("\n", "").isprintable()  # nearly always, and faster than the pattern
    return text if plain else _INVISIBLE.sub("", text)


def _tidy(text: str) -> str:
    """White space as a browser shows it, except that line ends stay."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def _tidy_code(text: str) -> str:
    lines = (line.replace("\xa0", " ").rstrip() for line in text.splitlines())
    return "\n".join(filter(None, lines))
