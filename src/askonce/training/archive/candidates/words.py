"""The vocabulary and word vectors of an archive, learnt once for all of its models."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from askonce.files import replacing
from askonce.ranker import Ranker
from askonce.text.lexicon import Lexicon
from askonce.text.vocabulary import Vocabulary
from askonce.training.prepare import every_post, word_vectors
from askonce.training.recipe import Recipe, TextSettings
from askonce.types import Dataset

VOCABULARY, VECTORS = "vocabulary.tsv", "vectors.npy"
MIN_COUNT = 2  # a word that occurs once has no context to learn from


@dataclass(frozen=True, eq=False)
class ArchiveWords:
    vocabulary: Vocabulary
    vectors: np.ndarray  # (V, E)

    def ranker(self, recipe: Recipe) -> Ranker:
        lexicon = Lexicon(self.vocabulary, max_words=recipe.text.max_words)
        seed = recipe.train.seed
        return Ranker.create(recipe.model, lexicon, self.vectors, recipe.options, seed)


def learn_words(
    datasets: Iterable[Dataset], given: Path | None, seed: int, folder: Path
) -> ArchiveWords:
    """Skip-gram vectors of all texts, fused with those of a file if one is given.

    They are saved in the folder, for a training run that is stopped and resumes.
    """
    if (folder / VECTORS).is_file():
        return ArchiveWords(Vocabulary.load(folder / VOCABULARY), np.load(folder / VECTORS))
    every = chain.from_iterable(every_post(dataset) for dataset in datasets)
    posts = list({post.text: post for post in every}.values())
    settings = TextSettings(MIN_COUNT, vectors="skipgram" if given is None else "fused")
    lexicon = Lexicon.build(posts, min_count=MIN_COUNT, max_words=settings.max_words)
    vectors = word_vectors(settings, lexicon, posts, given, seed)
    folder.mkdir(parents=True, exist_ok=True)
    lexicon.vocabulary.save(folder / VOCABULARY)
    with replacing(folder / VECTORS) as path:  # last: it marks both files as complete
        np.save(path, vectors)
    return ArchiveWords(lexicon.vocabulary, vectors)
