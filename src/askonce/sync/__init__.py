"""Follow a source of posts: a file, a folder or an HTTP address; tell others what is new."""

from askonce.sync.run import SyncSummary, sync

__all__ = ["SyncSummary", "sync"]
