"""Word vectors: train them, join two sets, and arrange them for a vocabulary."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askonce.errors import ConfigError
from askonce.text.vocabulary import PAD, SPECIAL, Vocabulary

RANGE = 0.25  # random vectors are uniform in ±RANGE, as in Kim's CNN
OWN_PART = 0.2  # of a number's own random direction, beside that of its shape
_DIGIT = re.compile("[0-9]")


@dataclass(frozen=True, eq=False)
class WordVectors:
    words: list[str]
    matrix: np.ndarray  # (V, E), float32

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise ValueError(f"{len(self.words)} words but vectors of shape {self.matrix.shape}")

    @property
    def dim(self) -> int:
        return self.matrix.shape[1]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Word to row; the first row of a repeated word."""
        last = len(self.words) - 1
        return {word: last - n for n, word in enumerate(reversed(self.words))}

    def __getitem__(self, word: str) -> np.ndarray:
        return self.matrix[self.rows[word]]

    def __contains__(self, word: object) -> bool:
        return word in self.rows

    def __len__(self) -> int:
        return len(self.words)


def train_skipgram(
    token_lists: Iterable[list[str]],
    dim: int = 100,
    epochs: int = 5,
    min_count: int = 5,
    seed: int = 1,
) -> WordVectors:
    """Skip-gram vectors with negative sampling, trained by one thread to be reproducible."""
    from gensim.models import Word2Vec  # heavy, and needed for training only

    model = Word2Vec(vector_size=dim, min_count=min_count, sg=1, seed=seed, workers=1)
    sentences = list(token_lists)  # read once per epoch
    model.build_vocab(sentences)
    if not len(model.wv):
        raise ConfigError(f"no word occurs {min_count} times; give more text or a lower min_count")
    model.train(sentences, total_examples=len(sentences), epochs=epochs)
    return WordVectors(list(model.wv.index_to_key), model.wv.vectors.astype("float32"))


def fuse_vectors(pretrained: WordVectors, own: WordVectors) -> WordVectors:
    """The pretrained vectors, and our own for the words they lack.

    Our own are scaled to the mean length of the pretrained ones, so that neither dominates a sum;
    their directions are of a different space.
    """
    if pretrained.dim != own.dim:
        raise ConfigError(
            f"pretrained vectors have {pretrained.dim} numbers and our own {own.dim}; "
            f"train them with dim={pretrained.dim}"
        )
    lacking = [row for row, word in enumerate(own.words) if word not in pretrained]
    if not lacking:
        return pretrained
    scale = _mean_norm(pretrained.matrix) / (_mean_norm(own.matrix) or 1.0)
    return WordVectors(
        pretrained.words + [own.words[row] for row in lacking],
        np.concatenate([pretrained.matrix, own.matrix[lacking] * np.float32(scale)]),
    )


def vectors_for(
    vocabulary: Vocabulary,
    vectors: WordVectors | None = None,
    dim: int | None = None,
    seed: int = 1,
) -> np.ndarray:
    """The table of word vectors for a model, one row per word of the vocabulary.

    A word without a vector gets a random one that depends only on the word and the seed. Beside
    given vectors, which often lack numbers, words with digits get similar vectors if they have the
    same shape: what is learnt about 1969 holds for 1984. Padding is zeros. ``dim`` is needed only
    without ``vectors``.
    """
    if vectors is None:
        vectors = WordVectors([], np.empty((0, 100 if dim is None else dim), np.float32))
    elif dim not in (None, vectors.dim):
        raise ConfigError(f"dim = {dim}, but the word vectors have {vectors.dim} numbers")
    rows = np.fromiter((vectors.rows.get(w, -1) for w in vocabulary.words), int, len(vocabulary))
    rows[: len(SPECIAL)] = -1
    table = np.empty((len(vocabulary), vectors.dim), np.float32)  # (V, E)
    table[rows >= 0] = vectors.matrix[rows[rows >= 0]]
    unknown = np.flatnonzero(rows < 0)
    table[unknown] = _random_vectors([vocabulary.words[n] for n in unknown], vectors.dim, seed)
    numeric = [n for n in unknown if n >= len(SPECIAL) and _DIGIT.search(vocabulary.words[n])]
    if len(vectors) and numeric:
        words = [vocabulary.words[n] for n in numeric]
        table[numeric] = _mean_norm(vectors.matrix) * _shape_vectors(words, vectors.dim, seed)
    table[PAD] = 0
    return table


def word_means(
    words: np.ndarray, ends: np.ndarray, vectors: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the centred vectors (n, D) of a word's texts (V, D), and their number (V,).

    ``words`` are the words of all texts in one row, ``ends`` (n + 1,) where each text ends in it.
    """
    from scipy.sparse import csr_array

    held = csr_array((np.ones(len(words), np.float32), words, ends), shape=(len(vectors), size))
    held.sum_duplicates()
    held.data[:] = 1  # (n, V), where the text has the word
    count = np.maximum(np.asarray(held.sum(axis=0)).ravel(), 1)
    return np.asarray(held.T @ (vectors - vectors.mean(0)) / count[:, None], np.float32), count


def _shape_vectors(words: Sequence[str], dim: int, seed: int) -> np.ndarray:
    """Directions shared by all words of a shape, such as 0000 or 00th, with a small own part."""
    shapes = [_DIGIT.sub("0", word) for word in words]
    common, own = (_unit(_random_vectors(texts, dim, seed)) for texts in (shapes, words))
    return _unit(common + OWN_PART * own)  # (words, E)


def _random_vectors(words: Sequence[str], dim: int, seed: int) -> np.ndarray:
    """Uniform numbers from a hash of each word, the same in any vocabulary."""
    keys = (f"{seed} {word}".encode("utf-8", "surrogatepass") for word in words)
    raw = b"".join(hashlib.shake_128(key).digest(4 * dim) for key in keys)
    numbers = np.frombuffer(raw, "<u4").reshape(len(words), dim)  # (words, E)
    return ((numbers / 2**31 - 1) * RANGE).astype(np.float32)


def _unit(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def _mean_norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix, axis=1).mean()) if len(matrix) else 0.0
