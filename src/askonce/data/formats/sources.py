"""Where a post came from, as forums write it: addresses and names, made fit for an archive."""

from urllib.parse import urlsplit

LONGEST_NAME = 200  # characters of an author, a site or a licence
LONGEST_URL = 2000


def is_web_address(url: str) -> bool:
    """Whether a page can link to it: not ``javascript:`` and the like."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def web_address(value: object) -> str | None:
    """The address if an archive can hold it, else None: a bad link is no reason to lose a post."""
    text = value.strip() if isinstance(value, str) else ""
    usable = len(text) <= LONGEST_URL and text.isprintable() and is_web_address(text)
    return text if usable else None


def display_name(value: object) -> str | None:
    """A name on one line, cut to what an archive holds; None if nothing visible is left."""
    text = value if isinstance(value, str) else ""
    words = "".join(c if c.isprintable() else " " for c in text).split()
    return " ".join(words)[:LONGEST_NAME].strip() or None
