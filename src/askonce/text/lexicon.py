"""A tokeniser with a vocabulary, which turns posts into token ids."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from askonce.text.batch import Batch, TokenIds
from askonce.text.tokenise import TOKENISERS
from askonce.text.vocabulary import Vocabulary
from askonce.types import Post, TokeniserName

NO_WORDS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Lexicon:
    """How a model reads: the tokeniser, the vocabulary, and the length limit."""

    vocabulary: Vocabulary
    tokeniser: TokeniserName = "words"
    max_words: int | None = None  # of title and of body; the rest is not read

    @classmethod
    def build(
        cls,
        posts: Iterable[Post],
        tokeniser: TokeniserName = "words",
        min_count: int = 1,
        max_words: int | None = None,
    ) -> "Lexicon":
        tokenise = TOKENISERS[tokeniser]
        words = (tokenise(post.text) for post in posts)
        return cls(Vocabulary.build(words, min_count=min_count), tokeniser, max_words)

    def words(self, text: str) -> list[str]:
        """The words that a model reads of a text."""
        return TOKENISERS[self.tokeniser](text)[: self.max_words]

    def numbers(self, text: str | Post) -> TokenIds:
        return self.read([text])[0]

    def read(self, texts: Sequence[str | Post]) -> list[TokenIds]:
        """Posts, and bare texts, each a title without a body, as word codes."""
        encode, words = self.vocabulary.encode, self.words
        return [
            TokenIds(encode(words(text.title)), encode(words(text.body)))
            if isinstance(text, Post)
            else TokenIds(encode(words(text)), NO_WORDS)
            for text in texts
        ]

    def batch(self, posts: Sequence[Post]) -> Batch:
        return Batch(self.read(posts))
