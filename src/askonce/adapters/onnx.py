"""Write an encoder as ONNX: graphs from token ids to unit vectors, and a tokenizer.

The folder needs no Askonce, no torch and no sentence-transformers: ONNX Runtime runs the graphs and
``tokenizer.json`` is a file of the package tokenizers.
"""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from askonce.adapters.exporting import encoder_modules
from askonce.adapters.static import StaticEmbedding
from askonce.errors import AskonceError, needing
from askonce.files import write_atomic
from askonce.text.vocabulary import PAD
from askonce.types import TaskName

MODEL, QUERY, DOCUMENT, CONFIG = "model.onnx", "query.onnx", "document.onnx", "onnx.json"
OPSET = 18
MAX_WORDS = 10_000  # that a student without a limit reads
INPUTS, OUTPUT = ("input_ids", "attention_mask"), "sentence_embedding"


def export_onnx(source: Path, out: Path, task: TaskName = "questions", fast: bool = False) -> str:
    """Write the folder; returns what it is made of.

    ``model.onnx`` encodes queries and documents alike; an adapter with two sides has
    ``query.onnx`` and ``document.onnx``. ``onnx.json`` has the longest input, in tokens.
    """
    with needing("onnx", "an export to ONNX"):
        import onnx  # noqa: F401 - torch writes with it
        import onnxscript  # noqa: F401
    name, teacher, sides = encoder_modules(source, out, task, fast)
    reader: Any = [*teacher, *sides[0]][0]
    try:
        out.mkdir(parents=True, exist_ok=True)
        files = (MODEL,) if len(sides) == 1 else (QUERY, DOCUMENT)
        for file, layers in zip(files, sides, strict=True):
            _write(_Encoder(nn.Sequential(*teacher, *layers)), out / file)
        config = _write_tokenizer(reader, out / "tokenizer.json")
        write_atomic(out / CONFIG, json.dumps(config | {"files": files, "output": OUTPUT}))
    except OSError as error:
        shutil.rmtree(out, ignore_errors=True)
        raise AskonceError(f"{str(out)!r} cannot be written: {error}") from None
    return name


def _write_tokenizer(reader: Any, path: Path) -> dict[str, int]:
    """The tokenizer of a transformer or a student; returns how it cuts and pads."""
    if isinstance(reader, StaticEmbedding):
        cut = reader.tokenizer.truncation
        reader.tokenizer.save(str(path))
        return {"max_length": cut["max_length"] if cut else MAX_WORDS, "pad_id": PAD}
    reader.tokenizer.backend_tokenizer.save(str(path))
    pad = int(reader.tokenizer.pad_token_id or 0)
    return {"max_length": int(reader.max_seq_length or 512), "pad_id": pad}


class _Encoder(nn.Module):
    """Modules of sentence-transformers as one function of tensors."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Token ids (B, T) and their mask to unit vectors (B, D)."""
        features: Any = {"input_ids": input_ids, "attention_mask": attention_mask}
        for layer in self.layers:
            if isinstance(layer, StaticEmbedding):  # which takes all texts as one list of tokens
                rows = functional.embedding(input_ids, layer.embedding.weight)  # (B, T, D)
                features[OUTPUT] = (rows * attention_mask[..., None]).sum(dim=1)
            else:
                features = layer(features)
        vectors: Tensor = features[OUTPUT]
        return vectors


def _write(encoder: nn.Module, path: Path) -> None:
    """One graph with its weights in one file; batch and length are free."""
    ids = torch.ones((2, 5), dtype=torch.long)
    free = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {OUTPUT: {0: "batch"}}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            encoder.eval(),
            (ids, torch.ones_like(ids)),
            str(path),
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes=free,
            opset_version=OPSET,
            dynamo=False,
        )
