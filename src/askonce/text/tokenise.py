"""Text to words: most are split at spaces, the rest by one pattern.

The pattern has only possessive repeats (``++``, ``*+``), so the time is linear.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from askonce.types import TokeniserName

# Han and kana are written without spaces: there, each character is a token.
_CJK = (
    r"\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\uff66-\uff9f\U00020000-\U0003ffff"
)
# Accents, vowel signs and joiners are parts of words, although \w leaves them out.
_MARK = (
    r"[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u0898-\u0963"
    r"\u0966-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u0f86-\u0fbc\u102b-\u103e"
    r"\u1056-\u109d\u135d-\u135f\u1712-\u1734\u1752-\u17d3\u180b-\u180d\u1ab0-\u1b44\u1b80-\u1bf3"
    r"\u1cd0-\u1dff\u200c\u200d\u20d0-\u20f0\u3099\u309a\ua8e0-\ua8f1\ua980-\ua9c0\uabe3-\uabed"
    r"\ufe00-\ufe0f\ufe20-\ufe2f]"
)
_LETTER = rf"[^\W_{_CJK}]"  # or digit
_WORD = rf"{_LETTER}++(?:{_MARK}++{_LETTER}*+)*+"
_JOINED = rf"{_WORD}(?:(?:[-.'&@]|_++){_WORD}|,(?<=[0-9],)[0-9]{{3}}(?!{_LETTER}))*+"
_OPENING = r"""(\[{'"`"""  # a flag or a path begins after a space or one of these
_EMOJI = r"[\u2600-\u2767\u2776-\u27bf\U0001f000-\U0001faff]"

TOKEN = re.compile(
    "|".join(
        [
            # URLs, without the punctuation after them
            rf"(?:https?://|www\.)(?:[-.,:;?!'()\[\]*$@~+_]*+(?:{_LETTER}|[/=&#%]))++",
            # don't, apt-get, node.js, at&t, me@home.org, foo_bar, 1,000, c++11, c#
            rf"{_JOINED}(?:\+\+{_LETTER}*+|\#(?!{_LETTER}))?",
            rf"--(?<![^\s{_OPENING}]--){_JOINED}",  # --dry-run
            rf"~?/(?<![^\s{_OPENING}~]/)\.?{_WORD}(?:[-./+_@]{{1,3}}{_WORD})*+",  # ~/.ssh/config
            rf"[{_CJK}]{_MARK}*+",
            r"[\U0001f1e6-\U0001f1ff]{2}",  # a flag is two letters
            rf"{_EMOJI}(?:[\ufe0f\U0001f3fb-\U0001f3ff]|\u200d{_EMOJI})*+",
        ]
    )
)
# NFC sorts the accents of a letter in quadratic time, so long runs of them are cut.
_LONG_RUN = re.compile(r"([^\w\s\x00-\x7f]{60})[^\w\s\x00-\x7f]++")
_WITHOUT_SPACES = re.compile(f"[{_CJK}]")
_EDGES = ".,;:!?\"'()[]“”"
# "the claim.The insurer": a missing space, unlike "node.js" and "ASP.NET"
GLUED_SENTENCES = re.compile(r"\.(?<=[a-z0-9]\.)(?=[A-Z](?![A-Z]))")


def tokenise(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation.

    Contractions and code-like words stay whole: ``don't``, ``apt-get``, ``/etc/fstab``,
    ``--help``, ``c++``, ``3.5``, addresses. Each Chinese or Japanese character and each emoji is a
    word. Tokenising the tokens again changes nothing.
    """
    text = GLUED_SENTENCES.sub(". ", text).lower()
    if not text.isascii():
        text = unicodedata.normalize("NFC", _LONG_RUN.sub(r"\1", text)).replace("’", "'")
        if _WITHOUT_SPACES.search(text):
            return TOKEN.findall(text)
    tokens: list[str] = []
    for chunk in text.split():
        if chunk.isalnum():
            tokens.append(chunk)
        elif (bare := chunk.strip(_EDGES)).isalnum():
            tokens.append(bare)
        else:
            tokens += TOKEN.findall(chunk)
    return tokens


def split_whitespace(text: str) -> list[str]:
    """The words of a text whose tokens are already separated by spaces, in lower case."""
    return text.lower().split()


TOKENISERS: Final[Mapping[TokeniserName, Callable[[str], list[str]]]] = {
    "words": tokenise,
    "whitespace": split_whitespace,
}
