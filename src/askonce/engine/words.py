"""The words of a hit that a question shares, which a page highlights."""

from collections.abc import Callable

from askonce.text.tokenise import tokenise


def shared_words(text: str, wanted: frozenset[str], terms: Callable[[str], list[str]]) -> list[str]:
    """The words of a text whose stems are wanted, each once, in the order in which they come."""
    pairs = zip(tokenise(text), terms(text), strict=True)
    return list(dict.fromkeys(word for word, stem in pairs if stem in wanted))
