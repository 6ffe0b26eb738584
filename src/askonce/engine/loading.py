"""Open indexes, load what training left, and make the vectors it needs, beside a running search."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from askonce.archive import Archive
from askonce.engine.following import Tell, catch_up, fill
from askonce.engine.search import Search
from askonce.index.base import Coder, IndexDamaged
from askonce.index.lexical import LexicalIndex
from askonce.serving.manifest import Serving
from askonce.types import PostKind

if TYPE_CHECKING:
    from askonce.index.vectors import VectorIndex

SENTENCE = "sentence:"  # an encoder of sentence-transformers, by its name or folder


@dataclass(frozen=True)
class Loader:
    """Opens what is in an archive's folder; only a writable one makes or mends indexes."""

    archive: Archive
    indexes: Path | None  # None keeps everything in memory
    writable: bool
    tell: Tell

    def lexical(self, kind: PostKind) -> LexicalIndex:
        """The BM25 index of a kind of posts; a damaged one is thrown away, to be made anew."""
        if self.indexes is None:
            return LexicalIndex()
        place = self.indexes / f"lexical-{kind}s"
        try:
            return LexicalIndex(place, writer=self.writable)
        except IndexDamaged as error:
            if not self.writable:
                raise
            self.tell(f"making the index of {kind}s anew: {error}")
            shutil.rmtree(place, ignore_errors=True)
            return LexicalIndex(place)

    def search(
        self, kind: PostKind, lexical: LexicalIndex, serving: Serving | None, models: Path
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

    def forget_others(self, keep: str) -> None:
        """Remove the vectors of models that no longer serve."""
        if self.indexes is None or not self.writable:
            return
        for folder in self.indexes.glob("vectors-*"):
            if not folder.name.endswith(f"-{keep}"):
                shutil.rmtree(folder, ignore_errors=True)

    def _vectors(self, kind: PostKind, coder: Coder, name: str) -> "VectorIndex | None":
        """The vectors of a kind of posts: from the disk, brought up to date, or made anew."""
        from askonce.index.vectors import VectorIndex

        folder = self.indexes / f"vectors-{kind}s-{name}" if self.indexes else None
        try:
            index = VectorIndex(folder, coder, writer=self.writable)
        except IndexDamaged as error:
            if not self.writable or folder is None:
                return None
            self.tell(f"making vectors of {kind}s anew: {error}")
            shutil.rmtree(folder, ignore_errors=True)
            index = VectorIndex(folder, coder)
        if not self.writable:
            return index if len(index) else None
        if not len(index):
            fill(self.archive, kind, index, self.tell)
        catch_up(self.archive, kind, [index], self.tell)
        index.save()
        return index


def load_coder(encoder: str, models: Path) -> Coder:
    """The encoder that a manifest names."""
    from askonce.coder import RankerCoder, SentenceCoder
    from askonce.ranker import Ranker

    if encoder.startswith(SENTENCE):
        return SentenceCoder(encoder.removeprefix(SENTENCE))
    return RankerCoder(Ranker.load(models / encoder))
