"""The folder of a ranker: config.json, vocabulary.tsv, model.safetensors, README.md; no code.

One that reads contextual words has projection.safetensors too.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from askonce.config import as_dict, settings
from askonce.errors import AskonceError, DataError
from askonce.files import json_value, need_inside, replacing, write_atomic
from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Matcher
from askonce.teachers.lexicon import ContextualLexicon, TeacherLexicon
from askonce.teachers.teacher import TeacherRecord, saved_teacher
from askonce.teachers.words import ContextualWords, Projection
from askonce.text.lexicon import Lexicon
from askonce.text.tokenise import TOKENISERS
from askonce.text.vocabulary import Vocabulary

FORMAT = 1
# settings that no longer exist, with the values that rankers saved with them may have
RETIRED: dict[str, tuple[object, ...]] = {
    "gradient": ("euclidean", "ball"),  # mattered to training alone
    "init": ("identity", "uniform"),
    "idf": (True,),
    "normalise": (True,),
    "scale": ("sum",),
}
LARGEST = 100_000  # that an integer setting may be
CALLS = 100  # of torch per tensor, while a model is constructed
CONFIG, VOCABULARY, WEIGHTS, CARD = (
    "config.json",
    "vocabulary.tsv",
    "model.safetensors",
    "README.md",
)

PROJECTION, PARTS = "projection.safetensors", ("mean", "components")  # of contextual words


def write(
    folder: Path, name: str, model: Matcher, lexicon: Lexicon, card: Mapping[str, Any]
) -> None:
    """Write every file of the folder atomically; the settings come last."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "format": FORMAT,
        "model": name,
        "settings": as_dict(model.config),
        "tokeniser": lexicon.tokeniser,
        "max_words": lexicon.max_words,
        "card": dict(card),
    }
    if model.reads == "vectors" and isinstance(lexicon, TeacherLexicon):
        config["teacher"] = as_dict(lexicon.teacher.record)
    if isinstance(lexicon, ContextualLexicon):
        projection = lexicon.contextual.projection
        config["contextual"] = as_dict(lexicon.contextual.teacher.record)
        with replacing(folder / PROJECTION) as path:
            save_file({name: torch.from_numpy(getattr(projection, name)) for name in PARTS}, path)
    weights = {key: value.contiguous() for key, value in model.state_dict().items()}
    with replacing(folder / VOCABULARY) as path:
        lexicon.vocabulary.save(path)
    with replacing(folder / WEIGHTS) as path:
        save_file(weights, path)
    write_atomic(folder / CARD, _card(config, model))
    write_atomic(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def read(folder: Path) -> tuple[str, Matcher, Lexicon, dict[str, Any]]:
    """Name, model, lexicon and card of a saved ranker."""
    config = _config(folder / CONFIG)
    kind: Any = MODELS[config["model"]]  # a class made from its Config and EmbeddingInit
    vocabulary = Vocabulary.load(_need(folder / VOCABULARY))
    weights = _weights(_need(folder / WEIGHTS))
    words = _words(folder / WEIGHTS, kind, vocabulary, weights)
    options = settings(kind.Config, _without_retired(kind.Config, config["settings"]))
    _check_sizes(folder, config, lambda words: kind(options, words), words, weights)
    model = kind(options, words)
    model.load_state_dict(weights)
    reading = vocabulary, config["tokeniser"], config["max_words"]
    lexicon = Lexicon(*reading)
    if kind.reads == "vectors":
        record = _record(folder, config, "teacher")
        lexicon = TeacherLexicon(*reading, teacher=saved_teacher(record))
    if "contextual" in config:
        lexicon = ContextualLexicon(*reading, contextual=_contextual(folder, config, words))
    return config["model"], model, lexicon, config["card"]


def _record(folder: Path, config: Mapping[str, Any], key: str) -> TeacherRecord:
    """The teacher that a ranker's texts, or their words, are read with."""
    table = config.get(key)
    if not isinstance(table, dict):
        raise DataError(folder / CONFIG, f"{key!r} of type dict", table)
    return settings(TeacherRecord, table, f"{key}.")


def _contextual(folder: Path, config: Mapping[str, Any], words: EmbeddingInit) -> ContextualWords:
    record = _record(folder, config, "contextual")
    parts = _weights(_need(folder / PROJECTION))
    shapes = {"mean": [record.dim], "components": [record.dim, words.vectors.shape[1]]}
    if {name: list(part.shape) for name, part in parts.items()} != shapes:
        raise DataError(folder / PROJECTION, f"tensors of shapes {shapes}", list(parts))
    projection = Projection(*(parts[name].numpy() for name in PARTS))
    return ContextualWords(saved_teacher(record), projection)


def _without_retired(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those of earlier versions, where the value still means this model."""
    known = {field.name for field in fields(kind)}
    return {
        key: value
        for key, value in options.items()
        if key in known or key not in RETIRED or value not in RETIRED[key]
    }


def _weights(path: Path) -> dict[str, Tensor]:
    try:
        weights = load_file(path)
    except (SafetensorError, OSError, RuntimeError, ValueError) as error:
        raise DataError(path, "a safetensors file", str(error)) from None
    for name, value in weights.items():
        if value.dtype not in (torch.float32, torch.int64, torch.bool):
            raise DataError(path, f"{name!r} of 32-bit numbers", str(value.dtype))
    return weights


def _words(
    path: Path, kind: type[Matcher], vocabulary: Vocabulary, weights: Mapping[str, Tensor]
) -> EmbeddingInit:
    """The words of a saved model; one that reads vectors has none."""
    if kind.reads == "vectors":
        return EmbeddingInit.of(vocabulary, np.zeros((len(vocabulary), 1), np.float32))
    vectors = weights.get("words.weight", torch.empty(0, 0))
    if vectors.dim() != 2 or len(vectors) != len(vocabulary):
        raise DataError(path, f"{len(vocabulary)} word vectors", list(vectors.shape))
    return EmbeddingInit.of(vocabulary, vectors.numpy())


class _NoNumbers(TorchFunctionMode):
    """Skips the initialisation of tensors; on meta tensors torch would load its compiler for it.

    More than ``most`` calls are an error: a million layers would take hours.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def __torch_function__(
        self,
        func: Any,  # noqa: ANN401 - any function of torch
        types: Any,  # noqa: ANN401
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        named = kwargs or {}
        self._left -= 1
        if self._left < 0:
            raise ValueError("more layers than there are weights")
        if getattr(func, "__module__", "") == nn.init.__name__:
            return args[0] if args else named["tensor"]
        return named["out"] if "out" in named else func(*args, **named)


def _check_sizes(
    folder: Path,
    config: Mapping[str, Any],
    build: Callable[[EmbeddingInit], Matcher],
    words: EmbeddingInit,
    weights: Mapping[str, Tensor],
) -> None:
    """Check that settings and weights are of one model, before memory is allocated for it."""
    try:
        with torch.device("meta"), _NoNumbers(CALLS * len(weights)):
            model = build(replace(words, vectors=words.vectors.to("meta")))
    except (ArithmeticError, IndexError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise DataError(folder / CONFIG, f"settings of {config['model']!r}", reason) from None
    wanted = {name: list(value.shape) for name, value in model.state_dict().items()}
    actual = {name: list(value.shape) for name, value in weights.items()}
    for name in sorted(wanted.keys() | actual.keys()):
        if wanted.get(name) != actual.get(name):
            expected = f"the weights of {config['model']!r}: {name} of shape {wanted.get(name)}"
            raise DataError(folder / WEIGHTS, expected, actual.get(name, "nothing"))


def _config(path: Path) -> dict[str, Any]:
    config = json_value(_need(path))
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        version = config.get("format") if isinstance(config, dict) else config
        raise DataError(path, f"format {FORMAT}; a newer askonce may read it", version)
    wanted = {"model": str, "settings": dict, "tokeniser": str, "card": dict}
    for key, kind in wanted.items():
        if not isinstance(config.get(key), kind):
            raise DataError(path, f"{key!r} of type {kind.__name__}", config.get(key))
    if config["tokeniser"] not in TOKENISERS:
        raise DataError(path, f"a tokeniser of {', '.join(TOKENISERS)}", config["tokeniser"])
    most = config.get("max_words")
    if most is not None and (type(most) is not int or most < 1):
        raise DataError(path, "'max_words' of 1 or more, or null", most)
    for key, value in config["settings"].items():
        if isinstance(value, int) and abs(value) > LARGEST:
            raise DataError(path, f"{key!r} of at most {LARGEST:,}", value)
    return config | {"max_words": most}


def _need(path: Path) -> Path:
    if not path.is_file():
        raise AskonceError(f"{str(path.parent)!r} is not a ranker folder: it has no {path.name}")
    return need_inside(path.parent, path.name)


def _card(config: Mapping[str, Any], model: Matcher) -> str:
    lines = [f"- {key}: {value}" for key, value in config["card"].items()]
    options = [f"- {key} = {value!r}" for key, value in config["settings"].items()]
    return "\n".join(
        [
            "---",
            "library_name: askonce",
            "tags: [question-answering, answer-selection, duplicate-questions]",
            "---",
            f"# {config['model']}",
            "",
            f"{model.trainable_parameters():,} trainable parameters besides the word vectors.",
            "",
            "```python",
            "from askonce import Ranker",
            'Ranker.load("this folder").rank("a question", ["an answer", "another"])',
            "```",
            *(["", "## Training", "", *lines] if lines else []),
            "",
            "## Settings",
            "",
            *options,
            "",
        ]
    )
