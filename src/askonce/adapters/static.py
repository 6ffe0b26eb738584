"""A student as the StaticEmbedding of sentence-transformers: a tokenizer and one table."""

import re

from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from askonce.models.bag import Bag
from askonce.text.lexicon import Lexicon
from askonce.text.tokenise import GLUED_SENTENCES, TOKEN
from askonce.text.vocabulary import UNK

__all__ = ["StaticEmbedding", "static_embeddings", "word_tokenizer"]

_LETTER = re.compile(r"\[\^\\W_([^\]]*)\]")
_CHARACTER = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")


def static_embeddings(model: Bag, lexicon: Lexicon) -> list[StaticEmbedding]:
    """The table of each side: of questions and, where they have a map of their own, of answers.

    There is one table, of the words alone, if the maps have a residual layer. Every text is read
    as a title is; the weight of titles above bodies is not in the table.
    """
    model.eval().prepare()
    tokenizer = word_tokenizer(lexicon)
    return [StaticEmbedding(tokenizer, embedding_weights=table) for table in model.tables or ()]


def word_tokenizer(lexicon: Lexicon) -> Tokenizer:
    """Askonce's words as a tokenizer of the package tokenizers; unknown words are one token."""
    words = lexicon.vocabulary.words
    numbers = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token=words[UNK]))
    if lexicon.tokeniser == "words":
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.Replace(_pattern(GLUED_SENTENCES), ". "),
                normalizers.Lowercase(),
                normalizers.NFC(),
                normalizers.Replace("’", "'"),
            ]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Split(_pattern(TOKEN), "removed", invert=True)
    else:
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if lexicon.max_words is not None:
        tokenizer.enable_truncation(lexicon.max_words)
    return tokenizer


def _pattern(pattern: re.Pattern[str]) -> Regex:
    """In the notation of tokenizers: characters by number in braces, and ² is no letter there."""
    text = _LETTER.sub(r"[\\p{L}\\p{N}&&[^\1]]", pattern.pattern)
    return Regex(_CHARACTER.sub(lambda x: rf"\x{{{x[1] or x[2]}}}", text))
