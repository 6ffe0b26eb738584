"""Open indexes, load what training left, and make the vectors it needs, beside a running search."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from askonce.archive import Archive
from askonce.engine.lifecycle.following import Tell, catch_up, fill
from askonce.index.base import Index, IndexDamaged, KeyEncoder, KeyIndex, WordIndex
from askonce.index.storage import IndexStorage
from askonce.ranking.manifest import Serving
from askonce.ranking.pipeline import Search
from askonce.types import PostKind

SENTENCE = "sentence:"  # an encoder of sentence-transformers, by its name or folder

AnyIndex = TypeVar("AnyIndex", bound=Index)


@dataclass(frozen=True)
class Loader:
    """Opens the indexes of an archive; a damaged one is thrown away, to be made anew."""

    archive: Archive
    home: IndexStorage
    tell: Tell

    def lexical(self, kind: PostKind) -> WordIndex:
        """The BM25 index of a kind of posts."""
        return self._opened(f"the index of {kind}s", lambda anew: self.home.words(kind, anew))

    def keys(self, kind: PostKind, coder: KeyEncoder, models: str) -> KeyIndex:
        """The index of a kind of posts by the keys of an encoder, as far as it has come."""
        return self._opened(
            f"vectors of {kind}s", lambda anew: self.home.keys(kind, coder, models, anew)
        )

    def search(
        self, kind: PostKind, lexical: WordIndex, serving: Serving | None, models: Path
    ) -> Search:
        """The search of one kind of posts with the models of a training."""
        if serving is None:
            return Search(self.archive, lexical)
        import torch

        from askonce.ranker import Ranker

        torch.set_num_threads(os.cpu_count() or 1)  # to make vectors
        vectors = None
        if serving.encoder is not None:
            self.tell(f"loading the encoder of {kind}s")
            vectors = self._vectors(kind, load_coder(serving.encoder, models), models.name)
        pair = Ranker.load(models / serving.pair) if serving.pair is not None else None
        if pair is not None:
            pair.predict([("a word", "another word")])  # the first call is slow
        # a query's matrices are small: threads would wait for each other, so queries run side by
        # side instead, each on one thread
        torch.set_num_threads(1)
        return Search(self.archive, lexical, vectors, pair, serving)

    def _vectors(self, kind: PostKind, coder: KeyEncoder, models: str) -> KeyIndex | None:
        """The vectors of a kind of posts: those that are there, brought up to date, or new ones."""
        try:
            index = self.keys(kind, coder, models)
        except IndexDamaged:  # nobody has made them yet, and we may not
            return None
        if not self.home.writable:
            return index if len(index) else None
        with self.home.changing([index], self.archive.turn):
            if not len(index):
                fill(self.archive, kind, index, self.tell)
            catch_up(self.archive, kind, [index], self.tell)
        index.save()
        return index

    def _opened(self, name: str, open_index: Callable[[bool], AnyIndex]) -> AnyIndex:
        try:
            index = open_index(False)
            if index.position <= self.archive.change:
                return index
            index.close()
            raise IndexDamaged("it is of another archive, or the archive is older than it was")
        except IndexDamaged as error:
            if not self.home.writable:
                raise
            self.tell(f"making {name} anew: {error}")
            return open_index(True)


def load_coder(encoder: str, models: Path) -> KeyEncoder:
    """The encoder that a manifest names."""
    from askonce.key_encoders import RankerKeys, SentenceKeys
    from askonce.ranker import Ranker

    if encoder.startswith(SENTENCE):
        return SentenceKeys(encoder.removeprefix(SENTENCE))
    return RankerKeys(Ranker.load(models / encoder))
