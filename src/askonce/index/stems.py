"""The words by which texts are found: our own tokeniser's, stemmed as English."""

import tantivy

from askonce.text.tokenise import TOKENISERS
from askonce.types import TokeniserName


class Stems:
    """Texts to stemmed words, for every lexical index the same."""

    def __init__(self, tokeniser: TokeniserName = "words") -> None:
        self.tokenise = TOKENISERS[tokeniser]
        # words arrive split and lower-cased; the stemmer joins "policy" and "policies"
        self.analyser = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
            .filter(tantivy.Filter.stemmer("english"))
            .build()
        )

    def __call__(self, text: str) -> list[str]:
        """The stemmed words of a text."""
        return list(self.analyser.analyze(" ".join(self.tokenise(text))))
