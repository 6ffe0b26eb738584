"""The two forms of a post that came as HTML: for reading and for display."""

import re

from askonce.text.html import html_to_text
from askonce.text.leaks import strip_notices

_TAG = re.compile(
    r"</?(?:p|br|div|pre|code|ul|ol|li|blockquote|h[1-6]|strong|em|b|i|img|table)\s*/?>"
    r"|<(?:a|img|pre|code|div|p)\s+\w+\s*=",
    re.IGNORECASE,
)


def is_html(text: str) -> bool:
    """Whether a text has the tags that forums use."""
    return "<" in text and _TAG.search(text) is not None


def two_forms(html: str, code: bool) -> tuple[str, str]:
    """Plain text and HTML, both without the notices that give duplicates away."""
    html = strip_notices(html)
    return html_to_text(html, code), html
