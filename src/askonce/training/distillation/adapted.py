"""The space of an adapter, as a teacher of students."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from askonce.errors import AskonceError
from askonce.models.adapter import Adapter
from askonce.ranker import Ranker
from askonce.ranker_folder import CONFIG
from askonce.teachers.lexicon import TeacherLexicon
from askonce.teachers.teacher import OnProgress, Teacher, load_teacher

CHUNK = 4096  # texts that are mapped at a time


class AdaptedTeacher:
    """A saved adapter: the cached vectors of its teacher, then the map."""

    def __init__(self, folder: Path) -> None:
        ranker = Ranker.load(folder)
        if not isinstance(ranker.model, Adapter) or not isinstance(ranker.lexicon, TeacherLexicon):
            raise AskonceError(
                f"{str(folder)!r} holds a {ranker.name!r}; a student learns from an adapter or "
                "from a sentence-transformers model"
            )
        config = ranker.model.config
        if config.sides != 1 or config.space != "cosine":
            raise AskonceError(
                f"the adapter of {str(folder)!r} has two sides or hyperbolic distances; a student "
                "needs one space: train it with model.sides = 1 and model.space = 'cosine'"
            )
        self._map = ranker.model.bends[0]
        self._teacher = ranker.lexicon.teacher
        self.name, self.dim = f"{self._teacher.name}-adapted", self._teacher.dim

    @property
    def parameters(self) -> int:
        return self._teacher.parameters + sum(weight.numel() for weight in self._map.parameters())

    def encode(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        vectors = torch.from_numpy(self._teacher.encode(texts, on_progress))  # (n, D)
        with torch.inference_mode():
            mapped = [self._map(part) for part in torch.split(vectors, CHUNK)]
            return torch.nn.functional.normalize(torch.cat(mapped), dim=-1).numpy()


def open_teacher(source: str) -> Teacher:
    """The adapter of a ranker folder, or a sentence-transformers model behind its cache."""
    folder = Path(source)
    # folders of sentence-transformers have a config.json too, but no vocabulary.tsv
    if (folder / CONFIG).is_file() and (folder / "vocabulary.tsv").is_file():
        return AdaptedTeacher(folder)
    return load_teacher(source)
