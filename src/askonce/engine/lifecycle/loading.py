"""Open indexes, and load trained models with their vectors while the old ones serve."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from askonce.archive import Archive
from askonce.archive.cache import PostCache
from askonce.engine.lifecycle.following import EngineEvent, OnEngineEvent, catch_up, fill
from askonce.errors import AskonceError, NotAnEncoder
from askonce.index.base import Index, IndexDamaged, KeyEncoder, KeyIndex, WordIndex
from askonce.index.storage import IndexStorage, changing
from askonce.ranking.manifest import SENTENCE, Serving
from askonce.ranking.pipeline import Search
from askonce.types import PostKind

AnyIndex = TypeVar("AnyIndex", bound=Index)


@dataclass(frozen=True)
class Loader:
    """Opens the indexes of an archive; a damaged one is discarded and rebuilt."""

    archive: Archive
    posts: PostCache
    storage: IndexStorage
    on_event: OnEngineEvent

    def lexical(self, kind: PostKind) -> WordIndex:
        return self._open(
            f"the index of {kind}s", lambda rebuild: self.storage.words(kind, rebuild)
        )

    def keys(self, kind: PostKind, coder: KeyEncoder, models: str) -> KeyIndex:
        """The index of a kind of posts by the keys of an encoder; it may be behind."""
        return self._open(
            f"vectors of {kind}s",
            lambda rebuild: self.storage.keys(kind, coder, models, rebuild),
        )

    def search(
        self, kind: PostKind, lexical: WordIndex, serving: Serving | None, models: Path
    ) -> Search:
        """The search of one kind of posts, with the models of a training."""
        if serving is None:
            return Search(self.posts, lexical)
        import torch

        from askonce.ranker import Ranker

        torch.set_num_threads(os.cpu_count() or 1)  # for encoding posts
        vectors = None
        if serving.encoder is not None:
            self.on_event(EngineEvent(f"loading the encoder of {kind}s"))
            vectors = self._vectors(kind, coder_of(serving, models), models.name)
        pair = Ranker.load(models / serving.pair) if serving.pair is not None else None
        if pair is not None:
            pair.predict([("a word", "another word")])  # the first call is slow
        # the matrices of a query are small, so threads would wait for each other: queries run in
        # parallel instead, each on one thread
        torch.set_num_threads(1)
        return Search(self.posts, lexical, vectors, pair, serving)

    def warm(self, coders: Iterable[KeyEncoder], may_postpone: bool) -> list[KeyEncoder]:
        """Load what the first question would wait for; the encoders whose slow reader can wait.

        With ``may_postpone``, the fast one of two readers answers until these are warm too.
        """
        postponed: list[KeyEncoder] = []
        for coder in coders:
            if may_postpone and coder.postpone():
                postponed.append(coder)
                continue
            try:
                coder.warm()
            except AskonceError as error:  # such as weights that are gone
                self.on_event(EngineEvent(str(error), problem=True))
        return postponed

    def _vectors(self, kind: PostKind, coder: KeyEncoder, models: str) -> KeyIndex | None:
        """The vectors of a kind of posts, up to date; None where only others may make them."""
        try:
            index = self.keys(kind, coder, models)
        except IndexDamaged:
            return None
        if not self.storage.writable:
            return index if len(index) else None
        with changing([index], self.archive.turn):
            if not len(index):
                fill(self.archive, kind, index, self.on_event)
            catch_up(self.archive, kind, [index], self.on_event)
        index.save()
        return index

    def _open(self, name: str, open_index: Callable[[bool], AnyIndex]) -> AnyIndex:
        try:
            index = open_index(False)
            if index.position <= self.archive.change:
                return index
            index.close()
            raise IndexDamaged("it belongs to another archive, or the archive was restored")
        except IndexDamaged as error:
            if not self.storage.writable:
                raise
            self.on_event(EngineEvent(f"rebuilding {name}: {error}"))
            return open_index(True)


def coder_of(serving: Serving, models: Path) -> KeyEncoder:
    """The encoder of a training; two readers where it has a fast one as well."""
    from askonce.key_encoders import two_readers

    if serving.encoder is None:
        raise NotAnEncoder("no encoder serves this archive; `askonce train` makes one")
    coder = load_coder(serving.encoder, models)
    return coder if serving.fast is None else two_readers(load_coder(serving.fast, models), coder)


def load_coder(encoder: str, models: Path) -> KeyEncoder:
    from askonce.key_encoders import RankerKeys, SentenceKeys
    from askonce.ranker import Ranker

    if encoder.startswith(SENTENCE):
        return SentenceKeys(encoder.removeprefix(SENTENCE))
    return RankerKeys(Ranker.load(models / encoder))
