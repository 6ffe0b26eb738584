"""What tests of rivals share: fixed weights, and numpy pieces to compute scores by hand."""

from typing import Any

import numpy as np
import torch

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Matcher
from askonce.text.batch import Batch, TokenIds

SIZE, DIM = 12, 5
STOP = 3  # the one function word
PAIRS = [([2, 3, 4], [3, 5, 6, 7, 2]), ([8], [9, 10]), ([4, 5, 11, 4, 2], [7])]
Arrays = dict[str, np.ndarray]


def embedding(size: int = SIZE, dim: int = DIM) -> EmbeddingInit:
    """Twelve words of five values, of which word n stands in n - 1 of twenty texts."""
    generator = torch.Generator().manual_seed(4)
    return EmbeddingInit(
        vectors=torch.randn(size, dim, generator=generator),
        document_frequency=(torch.arange(size) - 1).clamp_min(0),
        documents=20,
        stop=torch.arange(size) == STOP,
    )


def batch(*texts: list[int]) -> Batch:
    """Texts of word rows."""
    return Batch([TokenIds(np.array(text, np.int64), np.array([], np.int64)) for text in texts])


def model(name: str, **settings: Any) -> tuple[Matcher, Arrays]:
    """The model in double precision, each weight a wave, and its weights by name."""
    kind = MODELS[name]
    made = kind(kind.Config(**settings), embedding()).double().eval()
    with torch.no_grad():
        for phase, (key, value) in enumerate(made.named_parameters()):
            if not key.startswith("words.") and "bias_hh" not in key:
                steps = torch.arange(value.numel(), dtype=torch.float64)
                value.copy_((0.5 * torch.sin(0.3 * phase + 0.7 * steps)).view_as(value))
    arrays = {key: value.detach().numpy().copy() for key, value in made.state_dict().items()}
    return made, arrays


def scores(made: Matcher) -> np.ndarray:
    """The model's scores of PAIRS, in one padded batch."""
    with torch.no_grad():
        return made(batch(*(q for q, _ in PAIRS)), batch(*(a for _, a in PAIRS))).numpy()


def vectors(arrays: Arrays, text: list[int]) -> np.ndarray:
    """Word vectors (T, E) of one text."""
    return arrays["words.weight"][text]


def relu(values: np.ndarray) -> np.ndarray:
    """The positive part."""
    return np.maximum(values, 0)


def sigmoid(values: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1 / (1 + np.exp(-values))


def linear(arrays: Arrays, name: str, values: np.ndarray) -> np.ndarray:
    """W x + b, or W x where the layer has no bias."""
    return arrays[f"{name}.weight"] @ values + arrays.get(f"{name}.bias", 0.0)


def log_odds(arrays: Arrays, *parts: np.ndarray) -> float:
    """One ReLU layer over the joined parts, then the difference of two outputs."""
    hidden = relu(linear(arrays, "odds.dense.0", np.concatenate(parts)))
    wrong, right = linear(arrays, "odds.dense.3", hidden)
    return float(right - wrong)


def idf(word: int) -> float:
    """ln(20 / df), in which df is the word's row less one."""
    return float(np.log(20 / max(word - 1, 1)))


def windows(states: np.ndarray, width: int, before: int, after: int) -> list[np.ndarray]:
    """Every window of ``width`` rows, with so many zero rows around the text."""
    dim = states.shape[1]
    framed = np.concatenate([np.zeros((before, dim)), states, np.zeros((after, dim))])
    return [framed[t : t + width].ravel() for t in range(len(framed) - width + 1)]


def lstm(arrays: Arrays, name: str, inputs: np.ndarray) -> np.ndarray:
    """States (T, d) of an LSTM, gate by gate: input, forget, value, output."""
    size = arrays[f"{name}.weight_hh_l0"].shape[1]
    state, memory, states = np.zeros(size), np.zeros(size), []
    for x in inputs:
        total = (
            arrays[f"{name}.weight_ih_l0"] @ x
            + arrays[f"{name}.bias_ih_l0"]
            + arrays[f"{name}.weight_hh_l0"] @ state
            + arrays[f"{name}.bias_hh_l0"]
        )
        i, f, g, o = np.split(total, 4)
        memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(memory)
        states.append(state)
    return np.stack(states)
