"""HTML that others wrote, made harmless; texts without control characters."""

import re

import nh3

TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "cite", "code", "dd", "del", "details", "dfn", "div"),
    *("dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li"),
    *("mark", "ol", "p", "pre", "q", "s", "samp", "small", "span", "strike", "strong", "sub"),
    *("summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "tt", "u", "ul", "var"),
}
ATTRIBUTES = {"a": {"href", "title"}, "img": {"src", "alt", "title"}, "ol": {"start"}}

# A parser that follows the standard takes quadratic time, and writes quadratic output, for deeply
# nested tags and for formatting tags with attributes that are all different. So attributes that we
# drop anyway go first, and what has more tags than any real post is left to its plain text.
MOST_TAGS = 4_000
MOST_ODD_TAGS = 100
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_DROPPED = re.compile(r"<(?!(?:a|img|ol)[\s/])([a-z][a-z0-9]*)[\s/][^<>]*>", re.IGNORECASE)
_ODD = re.compile(r"<(?!(?:a|img|ol)[\s/])[a-z][^\s/<>]*[\s/]", re.IGNORECASE)


def safe_html(html: str) -> str:
    """The formatting of a post without anything that runs, tracks or styles; "" where none is left.

    Links get rel="nofollow noopener noreferrer"; relative ones lose their target.
    """
    if not html or html.count("<") > MOST_TAGS:
        return ""
    html = _DROPPED.sub(r"<\1>", html)
    if sum(1 for _ in _ODD.finditer(html)) > MOST_ODD_TAGS:
        return ""
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="nofollow noopener noreferrer",
    ).strip()


def clean_text(text: str, instead: str = "") -> str:
    """The text without control characters; tabs and line ends stay."""
    return _CONTROLS.sub(instead, text)
