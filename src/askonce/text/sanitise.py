"""Sanitise HTML written by users, and strip control characters from text."""

import re

import nh3

TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "cite", "code", "dd", "del", "details", "dfn", "div"),
    *("dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li"),
    *("mark", "ol", "p", "pre", "q", "s", "samp", "small", "span", "strike", "strong", "sub"),
    *("summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "tt", "u", "ul", "var"),
}
ATTRIBUTES = {"a": {"href", "title"}, "img": {"src", "alt", "title"}, "ol": {"start"}}

# A standards-compliant parser needs quadratic time and output for deeply nested tags, and for
# formatting tags whose attributes all differ. So attributes that are dropped anyway are removed
# first, and HTML with more tags than any real post is not shown (its plain text is).
MAX_TAGS = 4_000
MAX_ODD_TAGS = 100
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_DROPPED = re.compile(r"<(?!(?:a|img|ol)[\s/])([a-z][a-z0-9]*)[\s/][^<>]*>", re.IGNORECASE)
_ODD = re.compile(r"<(?!(?:a|img|ol)[\s/])[a-z][^\s/<>]*[\s/]", re.IGNORECASE)


def safe_html(html: str) -> str:
    """HTML without scripts, trackers or styles; "" if nothing safe is left.

    Links get rel="nofollow noopener noreferrer"; relative ones lose their target.
    """
    if not html or html.count("<") > MAX_TAGS:
        return ""
    html = _DROPPED.sub(r"<\1>", html)
    if sum(1 for _ in _ODD.finditer(html)) > MAX_ODD_TAGS:
        return ""
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="nofollow noopener noreferrer",
    ).strip()


def clean_text(text: str, replacement: str = "") -> str:
    """Replace control characters; tabs and line breaks stay."""
    return _CONTROLS.sub(replacement, text)
