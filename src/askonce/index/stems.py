"""The stemmed words of a text, as indexes know them."""

from collections.abc import Sequence

import tantivy

from askonce.text.cache import TextCache
from askonce.text.tokenise import TOKENISERS
from askonce.types import TokeniserName

CACHED = 100_000  # words, about 20 MB
CACHED_CHARACTERS = 16_000_000  # of texts whose words are known, about 40 MB

WordAndStem = tuple[str, str]


class Stems:
    """Texts to stemmed words, the same for every lexical index."""

    def __init__(self, tokeniser: TokeniserName = "words") -> None:
        self.tokenise = TOKENISERS[tokeniser]
        # words arrive split and lower-cased; the stemmer joins "policy" and "policies"
        self.analyser = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
            .filter(tantivy.Filter.stemmer("english"))
            .build()
        )

        self._words: dict[str, WordAndStem] = {}  # seen lately
        self.pairs = TextCache(self._distinct, CACHED_CHARACTERS)

    def __call__(self, text: str) -> list[str]:
        return [stem for _, stem in self._stemmed(self.tokenise(text))]

    def _distinct(self, text: str) -> Sequence[WordAndStem]:
        return tuple(self._stemmed(list(dict.fromkeys(self.tokenise(text)))))

    def _stemmed(self, words: list[str]) -> list[WordAndStem]:
        """Each word with its stem; equal words share one pair, so that texts take little memory."""
        known = self._words
        missing = [word for word in dict.fromkeys(words) if word not in known]
        if missing:
            if len(known) + len(missing) > CACHED:
                known = self._words = {}
                missing = list(dict.fromkeys(words))
            stems = self.analyser.analyze(" ".join(missing))
            known.update((word, (word, stem)) for word, stem in zip(missing, stems, strict=True))
        return [known[word] for word in words]
