"""Find near copies of texts: lemmatised, shortened, or with a signature.

Data that was released twice, in two forms, must not be in both training and test.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from askonce.text.stopwords import STOPWORDS

SHARE, LEAST = 0.5, 2  # of the shorter text's word pairs that both texts have
STEM = 4  # letters that identify the forms of a word
_WORD = re.compile(r"[a-z]{4,}")  # shorter ones are mostly forms of be, have and do

WordPairs = set[tuple[str, str]]


def near_copies(texts: Sequence[str], of: Sequence[str]) -> list[bool]:
    """Whether each text is a near copy of any of the others."""
    others = [_pairs(text) for text in of]
    having: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, pairs in enumerate(others):
        for pair in pairs:
            having[pair].append(index)
    copies = []
    for text in texts:
        own = _pairs(text)
        shared = Counter(index for pair in own for index in having.get(pair, ()))
        copies.append(
            any(
                count >= LEAST and count >= SHARE * min(len(own), len(others[index]))
                for index, count in shared.items()
            )
        )
    return copies


def _pairs(text: str) -> WordPairs:
    """Neighbouring content words."""
    stems = [word[:STEM] for word in _WORD.findall(text.lower()) if word not in STOPWORDS]
    return set(pairwise(stems))
