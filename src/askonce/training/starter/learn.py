"""Teach the starter: word vectors and weights whose sums are the teacher's sentence vectors."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from askonce.errors import AskonceError
from askonce.teachers.starter import Starter, WordParts, quantise
from askonce.text.tokenise import tokenise
from askonce.text.vectors import word_means
from askonce.training.batches import slices
from askonce.training.checkpoint import EpochRecord, load_weights, save_weights
from askonce.training.epochs import EpochSettings, Learner, Loss, Measurement, run_epochs
from askonce.training.events import OnEvent, Phase, ignore
from askonce.training.processes import ALONE

MATRIX = 5.0  # weight of the similarity matrix beside the cosine
SENTENCE_WORDS = 3  # a shorter text is no sentence, and does not decide the epoch
BEST = "best.safetensors"


@dataclass(frozen=True)
class StarterSettings:
    """Size of the starter and length of its training."""

    words: int = 50_000
    dim: int = 256  # principal components of the teacher's vectors
    epochs: int = 8
    patience: int = 2
    batch_size: int = 256
    rate: float = 2e-3
    dev: int = 2_000  # texts that decide which epoch is kept
    seed: int = 1


def learn_starter(
    texts: Sequence[str],
    vectors: np.ndarray,  # (n, D), the teacher's
    settings: StarterSettings,
    on_event: OnEvent = ignore,
) -> tuple[Starter, EpochRecord]:
    """A starter of these texts, and the record of its best epoch."""
    on_event(Phase("counting words"))
    tokens = [tokenise(text) for text in texts]
    words = choose_words(tokens, settings.words)
    basis = principal_components(vectors, settings.dim)  # (E, D)
    bags = Bags.of(WordParts(words), tokens, vectors @ basis.T)
    module = StarterSum(*first_weights(bags, len(words)))
    on_event(Phase(f"teaching {len(words)} words from {len(bags)} texts"))
    with tempfile.TemporaryDirectory() as folder:
        learner = StarterLearning(module, bags, settings, Path(folder))
        progress = run_epochs(learner, on_event)
        load_weights(Path(folder) / BEST, module)
    table = module.words.weight.detach().numpy()  # (V, E)
    norms = np.linalg.norm(table, axis=1)
    weights = norms * module.weights.weight.detach().numpy()[:, 0]
    sign = np.where(weights < 0, -1, 1)  # the weight of a word is its length
    best = progress.history[progress.best_epoch]
    half = basis.astype(np.float16).astype(np.float32)  # as it is saved
    return Starter(words, *quantise(table * sign[:, None], weights * sign), half), best


def choose_words(tokens: Sequence[Sequence[str]], count: int) -> list[str]:
    """Words that are a text of their own, then those that are in most texts, at least in two."""
    frequency = Counter(word for text in tokens for word in set(text))
    own = dict.fromkeys(text[0] for text in tokens if len(text) == 1)
    others = [word for word, n in frequency.most_common() if n > 1 and word not in own]
    chosen = [*sorted(own, key=lambda word: frequency[word] < 2), *others][:count]
    if not chosen:
        raise AskonceError("no word is in two of the texts; give more texts")
    return chosen


def principal_components(vectors: np.ndarray, dim: int) -> np.ndarray:
    """Orthonormal rows (E, D) that hold most of the vectors, of which the first is their mean."""
    mean = vectors.mean(axis=0)
    first = mean / np.linalg.norm(mean)
    rest = vectors - (vectors @ first)[:, None] * first  # (n, D)
    _, directions = np.linalg.eigh(rest.T @ rest)  # by increasing variance; first has none
    others = directions[:, ::-1].T[: min(dim, vectors.shape[1]) - 1]
    return np.concatenate([first[None], others]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Bags:
    """Texts as rows of words with weights, one after the other, and the vectors to learn."""

    rows: np.ndarray  # (T,)
    weights: np.ndarray  # (T,), below 1 for parts of a composed word
    starts: np.ndarray  # (n + 1,)
    vectors: np.ndarray  # (n, E)

    @classmethod
    def of(cls, parts: WordParts, tokens: Sequence[Sequence[str]], vectors: np.ndarray) -> "Bags":
        """Look up the words of each text; texts without a known word are left out."""
        rows: list[int] = []
        weights: list[float] = []
        starts, known = [0], []
        for index, text in enumerate(tokens):
            for word in text:
                own, weight = parts.of(word)
                rows += own
                weights += [weight] * len(own)
            if len(rows) > starts[-1]:
                starts.append(len(rows))
                known.append(index)
        return cls(np.array(rows), np.array(weights, np.float32), np.array(starts), vectors[known])

    def __len__(self) -> int:
        return len(self.vectors)

    def batch(self, texts: Sequence[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rows and weights (T,), where each text starts (B,), and vectors (B, E)."""
        spans = [np.arange(self.starts[n], self.starts[n + 1]) for n in texts]
        positions = np.concatenate(spans)
        starts = np.cumsum([0, *map(len, spans[:-1])])
        arrays = self.rows[positions], self.weights[positions], starts, self.vectors[list(texts)]
        rows, weights, offsets, vectors = map(torch.from_numpy, arrays)
        return rows, weights, offsets, vectors


def first_weights(bags: Bags, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the centred vectors of the texts that hold a word (V, E), and its idf (V,)."""
    means, frequency = word_means(bags.rows, bags.starts, bags.vectors, count)
    return means, np.log(1 + len(bags) / frequency).astype(np.float32)


class StarterSum(nn.Module):
    def __init__(self, vectors: np.ndarray, weights: np.ndarray) -> None:
        super().__init__()
        self.words = nn.Embedding(len(vectors), vectors.shape[1], sparse=True)
        self.words.weight.data = torch.from_numpy(vectors)
        self.weights = nn.Embedding(len(weights), 1, sparse=True)
        self.weights.weight.data = torch.from_numpy(weights)[:, None]

    def forward(self, rows: Tensor, factors: Tensor, starts: Tensor) -> Tensor:
        scaled = self.words(rows) * (self.weights(rows) * factors[:, None])  # (T, E)
        text_of = torch.zeros(len(rows), dtype=torch.int64)
        text_of[starts[1:]] = 1
        sums = scaled.new_zeros(len(starts), scaled.shape[1])
        return sums.index_add(0, text_of.cumsum(0), scaled)  # (B, E)


class StarterLearning(Learner[int]):
    """Cosine to the teacher's vectors, and squared error of the batch's similarity matrix."""

    def __init__(
        self, module: StarterSum, bags: Bags, settings: StarterSettings, folder: Path
    ) -> None:
        self.module: StarterSum = module
        self.optimizer = torch.optim.SparseAdam(list(module.parameters()), lr=settings.rate)
        self.processes, self.folder = ALONE, folder
        self.settings = EpochSettings(settings.epochs, settings.patience, settings.seed)
        self.identity = {"texts": len(bags), "settings": repr(settings)}
        self._bags, self._options = bags, settings
        sentences = np.flatnonzero(np.diff(bags.starts) >= SENTENCE_WORDS)
        rng = np.random.default_rng(settings.seed)
        self._dev = rng.permutation(sentences)[: min(settings.dev, len(sentences) // 5)]
        self._train = np.setdiff1d(np.arange(len(bags)), self._dev)

    def batches(self, epoch: int) -> Sequence[Sequence[int]]:
        rng = np.random.default_rng((self._options.seed, epoch))
        return slices(rng.permutation(self._train).tolist(), self._options.batch_size)

    def rate(self, epoch: int, step: int) -> float:
        return self._options.rate * (1 - (epoch - 1) / self._options.epochs)

    def step(self, own: Sequence[int], batch: Sequence[int]) -> Loss:
        cosine, matrix = self._losses(own)
        loss = cosine + MATRIX * matrix
        return Loss(loss, float(loss.detach()) * len(own), len(own))

    def measure(self) -> Measurement:
        with torch.inference_mode():
            dev = slices(self._dev.tolist(), self._options.batch_size)
            parts = [self._losses(part) for part in dev]
        cosine, matrix = torch.tensor(parts).mean(0).tolist()
        figures = {"cosine": 1 - cosine, "matrix": matrix}
        return Measurement(-(cosine + MATRIX * matrix), {"dev": figures})

    def save(self, record: EpochRecord) -> None:
        save_weights(self.folder / BEST, self.module)

    def _losses(self, texts: Sequence[int]) -> tuple[Tensor, Tensor]:
        rows, factors, starts, vectors = self._bags.batch(texts)
        ours = F.normalize(self.module(rows, factors, starts), dim=-1)  # (B, E)
        cosine = 1 - (ours * vectors).sum(-1).mean()
        return cosine, (ours @ ours.T - vectors @ vectors.T).square().mean()
