"""The folder of a ranker: config.json, vocabulary.tsv, model.safetensors, README.md. Data only."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from askonce.config import as_dict, settings
from askonce.errors import AskonceError, DataError
from askonce.models import MODELS
from askonce.models.base import Matcher, Words
from askonce.text.lexicon import Lexicon
from askonce.text.vocabulary import Vocabulary

FORMAT = 1
CONFIG, VOCABULARY, WEIGHTS, CARD = (
    "config.json",
    "vocabulary.tsv",
    "model.safetensors",
    "README.md",
)


def write(
    folder: Path, name: str, model: Matcher, lexicon: Lexicon, card: Mapping[str, Any]
) -> None:
    """Write every file of the folder, each whole or not at all; the settings come last."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "format": FORMAT,
        "model": name,
        "settings": as_dict(model.config),
        "tokeniser": lexicon.tokeniser,
        "max_words": lexicon.max_words,
        "card": dict(card),
    }
    weights = {key: value.contiguous() for key, value in model.state_dict().items()}
    _replace(folder / VOCABULARY, lexicon.vocabulary.save)
    _replace(folder / WEIGHTS, lambda path: save_file(weights, path))
    _replace(folder / CARD, lambda path: path.write_text(_card(config, model), "utf-8"))
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    _replace(folder / CONFIG, lambda path: path.write_text(text, "utf-8"))


def read(folder: Path) -> tuple[str, Matcher, Lexicon, dict[str, Any]]:
    """Name, model, lexicon and card of a saved ranker."""
    config = _config(folder / CONFIG)
    kind: Any = MODELS[config["model"]]  # every model is made of its Config and Words
    vocabulary = Vocabulary.load(_need(folder / VOCABULARY))
    try:
        weights = load_file(_need(folder / WEIGHTS))
    except SafetensorError as error:
        raise DataError(folder / WEIGHTS, "a safetensors file", str(error)) from None
    vectors = weights["words.weight"].numpy() if "words.weight" in weights else np.empty((0, 0))
    if len(vectors) != len(vocabulary):
        raise DataError(folder / WEIGHTS, f"{len(vocabulary)} word vectors", len(vectors))
    model = kind(settings(kind.Config, config["settings"]), Words.of(vocabulary, vectors))
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise DataError(folder / WEIGHTS, f"the weights of {config['model']!r}", reason) from None
    lexicon = Lexicon(vocabulary, config["tokeniser"], config["max_words"])
    return config["model"], model, lexicon, config["card"]


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(_need(path).read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, "JSON", str(error)) from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        found = config.get("format") if isinstance(config, dict) else config
        raise DataError(path, f"format {FORMAT}; a newer askonce may read it", found)
    wanted = {"model": str, "settings": dict, "tokeniser": str, "card": dict}
    for key, kind in wanted.items():
        if not isinstance(config.get(key), kind):
            raise DataError(path, f"{key!r} of type {kind.__name__}", config.get(key))
    return config


def _need(path: Path) -> Path:
    if not path.is_file():
        raise AskonceError(f"{str(path.parent)!r} is no ranker folder: it has no {path.name}")
    return path


def _replace(path: Path, save: Any) -> None:  # noqa: ANN401 - any function of a path
    """Write beside the file, then put it in place, so that a crash leaves the old one whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        save(Path(name))
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


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
