"""The words of a hit that a question shares, which a page highlights."""

from collections.abc import Callable

from askonce.text.stopwords import STOPWORDS
from askonce.text.tokenise import tokenise

Terms = Callable[[str], list[str]]  # the stem of each word of a text


def content_stems(text: str, terms: Terms) -> frozenset[str]:
    """The stems of the words that carry meaning."""
    words = tokenise(text)
    pairs = zip(words, terms(text), strict=True)
    return frozenset(stem for word, stem in pairs if word not in STOPWORDS)


def shared_words(text: str, wanted: frozenset[str], terms: Terms) -> list[str]:
    """The words of a text whose stems are wanted, each once, in the order in which they come."""
    pairs = zip(tokenise(text), terms(text), strict=True)
    return list(dict.fromkeys(word for word, stem in pairs if stem in wanted))
