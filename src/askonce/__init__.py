"""Askonce finds the questions already asked and ranks the answers already given."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from askonce.archive import Archive, open_archive
    from askonce.engine import Engine
    from askonce.ranker import Ranker
    from askonce.types import Dataset, Pool, Post

__version__: str
__all__ = ["Archive", "Dataset", "Engine", "Pool", "Post", "Ranker", "__version__", "open_archive"]

_HOMES = {
    "Archive": "archive",
    "Dataset": "types",
    "Engine": "engine",
    "Pool": "types",
    "Post": "types",
    "Ranker": "ranker",
    "open_archive": "archive",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - torch loads when a name that needs it is used
    if name == "__version__":
        from importlib.metadata import version

        return version("askonce")
    if name not in _HOMES:
        raise AttributeError(f"module 'askonce' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"askonce.{_HOMES[name]}"), name)
