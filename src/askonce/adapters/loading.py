"""What every adapter takes: a ranker, or the folder that it was saved in."""

from pathlib import Path

from askonce.ranker import Ranker

RankerOrFolder = Ranker | Path | str


def load(ranker: RankerOrFolder) -> Ranker:
    """The ranker itself, or the one of a folder."""
    return ranker if isinstance(ranker, Ranker) else Ranker.load(ranker)
