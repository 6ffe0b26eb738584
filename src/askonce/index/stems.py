"""The stemmed words of a text, as indexes know them."""

import tantivy

from askonce.text.tokenise import TOKENISERS
from askonce.types import TokeniserName

CACHED = 100_000  # words, about 10 MB


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

        self._stems: dict[str, str] = {}  # of words seen lately

    def __call__(self, text: str) -> list[str]:
        return self._stemmed(self.tokenise(text))

    def pairs(self, text: str) -> list[tuple[str, str]]:
        words = self.tokenise(text)
        return list(zip(words, self._stemmed(words), strict=True))

    def _stemmed(self, words: list[str]) -> list[str]:
        known = [self._stems.get(word) for word in words]
        if None not in known:
            return [stem for stem in known if stem is not None]
        stems = list(self.analyser.analyze(" ".join(words)))
        if len(self._stems) + len(words) > CACHED:
            self._stems.clear()
        self._stems.update(zip(words, stems, strict=True))
        return stems
