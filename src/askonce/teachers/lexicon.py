"""How a model that reads vectors reads: each text is its teacher's vector."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from askonce.teachers.teacher import CachedTeacher
from askonce.text.batch import TokenIds
from askonce.text.lexicon import NO_WORDS, Lexicon
from askonce.text.vocabulary import Vocabulary
from askonce.types import Post


def _no_words() -> Vocabulary:
    return Vocabulary.build([])


@dataclass(frozen=True)
class TeacherLexicon(Lexicon):
    """Reads the teacher's vector of each text and none of its words."""

    vocabulary: Vocabulary = field(default_factory=_no_words)
    teacher: CachedTeacher = field(kw_only=True)

    def numbers(self, post: Post) -> TokenIds:
        return self.read([post])[0]

    def line(self, text: str) -> TokenIds:
        return self.read([text])[0]

    def read(self, texts: Sequence[str | Post]) -> list[TokenIds]:
        """Texts and posts with their vectors; what the cache lacks is read in large batches."""
        plain = [text.text if isinstance(text, Post) else text for text in texts]
        return [TokenIds(NO_WORDS, NO_WORDS, vector) for vector in self.teacher.encode(plain)]
