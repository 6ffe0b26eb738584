"""Train word vectors on one's own text."""

from collections.abc import Iterable

from askonce.errors import ConfigError
from askonce.text.vectors import WordVectors


def train_skipgram(
    token_lists: Iterable[list[str]],
    dim: int = 100,
    window: int = 5,
    epochs: int = 5,
    min_count: int = 5,
    seed: int = 1,
    workers: int = 1,
) -> WordVectors:
    """Skip-gram vectors with negative sampling, the same for the same seed if one worker trains."""
    from gensim.models import Word2Vec  # heavy, and needed for training only

    model = Word2Vec(
        vector_size=dim, window=window, min_count=min_count, sg=1, seed=seed, workers=workers
    )
    sentences = list(token_lists)  # they are read once per epoch
    model.build_vocab(sentences)
    if not len(model.wv):
        raise ConfigError(f"no word occurs {min_count} times; give more text or a lower min_count")
    model.train(sentences, total_examples=len(sentences), epochs=epochs)
    return WordVectors(list(model.wv.index_to_key), model.wv.vectors.astype("float32"))
