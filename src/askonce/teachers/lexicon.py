"""Reading texts together with a teacher's vectors, of whole texts or of their words."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from askonce.teachers.teacher import CachedTeacher, OnProgress
from askonce.teachers.words import ContextualWords
from askonce.text.batch import TokenIds
from askonce.text.lexicon import NO_WORDS, Lexicon
from askonce.text.vocabulary import SPECIAL, Vocabulary
from askonce.types import Post


@dataclass(frozen=True)
class TeacherLexicon(Lexicon):
    """Reads each text's words and the teacher's vector of it."""

    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary.build([]))
    teacher: CachedTeacher = field(kw_only=True)

    def read(self, texts: Sequence[str | Post]) -> list[TokenIds]:
        """Texts and posts with their vectors; what the cache lacks is read in large batches."""
        plain = [text.text if isinstance(text, Post) else text for text in texts]
        posts = any(isinstance(text, Post) for text in texts)  # bare texts are users' queries
        vectors = self.teacher.encode(plain, keep=posts)  # (n, D)
        if len(self.vocabulary) == len(SPECIAL):  # nothing reads words
            return [TokenIds(NO_WORDS, NO_WORDS, vector) for vector in vectors]
        words = zip(super().read(texts), vectors, strict=True)
        return [ids._replace(vector=vector) for ids, vector in words]


@dataclass(frozen=True)
class ContextualLexicon(Lexicon):
    """Reads each text's words, and a vector of each word in its context."""

    contextual: ContextualWords = field(kw_only=True)

    def read(
        self, texts: Sequence[str | Post], on_progress: OnProgress | None = None
    ) -> list[TokenIds]:
        """Texts and posts with the vectors of their words; new ones are read in large batches."""
        posts = any(isinstance(text, Post) for text in texts)  # bare texts are users' queries
        read = [self._parts(text) for text in texts]
        states = self.contextual.read(
            [[*title, *body] for title, body in read], on_progress, keep=posts
        )
        encode = self.vocabulary.encode
        return [
            TokenIds(encode(title), encode(body), states=vectors)
            for (title, body), vectors in zip(read, states, strict=True)
        ]

    def _parts(self, text: str | Post) -> tuple[list[str], list[str]]:
        if isinstance(text, Post):
            return self.words(text.title), self.words(text.body)
        return self.words(text), []
