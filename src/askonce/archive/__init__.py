"""The posts and links of one forum: store, import and read them."""

from askonce.archive.load import Summary, load
from askonce.archive.open import open_archive
from askonce.archive.snapshot import Snapshot
from askonce.archive.store import Archive, SyncBatch
from askonce.archive.writing import Written

__all__ = ["Archive", "Snapshot", "Summary", "SyncBatch", "Written", "load", "open_archive"]
