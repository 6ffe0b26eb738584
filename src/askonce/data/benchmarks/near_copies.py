"""Find texts that are copies of others in all but word forms: lemmatised, cut, or with a signature.

Data that was released twice, in two forms, must not be learned from where it is tested on.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from askonce.text.stopwords import STOPWORDS

SHARE, LEAST = 0.5, 2  # of the shorter text's pairs of words that the other has too
STEM = 4  # letters by which forms of a word are one
_WORD = re.compile(r"[a-z]{4,}")  # shorter ones are mostly forms of be, have and do

Pairs = set[tuple[str, str]]


def near_copies(texts: Sequence[str], of: Sequence[str]) -> list[bool]:
    """Whether each text is a near copy of any of the others."""
    others = [_pairs(text) for text in of]
    having: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, pairs in enumerate(others):
        for pair in pairs:
            having[pair].append(place)
    found = []
    for text in texts:
        own = _pairs(text)
        shared = Counter(place for pair in own for place in having.get(pair, ()))
        found.append(
            any(
                count >= LEAST and count >= SHARE * min(len(own), len(others[place]))
                for place, count in shared.items()
            )
        )
    return found


def _pairs(text: str) -> Pairs:
    """Neighbours among the words that carry meaning."""
    stems = [word[:STEM] for word in _WORD.findall(text.lower()) if word not in STOPWORDS]
    return set(pairwise(stems))
