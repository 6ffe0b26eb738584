"""The ranker that training starts from: untrained, or saved by pre-training."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np

from askonce.config import as_dict
from askonce.errors import AskonceError, ConfigError
from askonce.models import MODELS
from askonce.models.pair import PairMatcher
from askonce.ranker import Ranker
from askonce.teachers import load_teacher
from askonce.teachers.lexicon import ContextualLexicon, TeacherLexicon
from askonce.teachers.starter import load_starter
from askonce.teachers.words import ContextualWords
from askonce.text.batch import TokenIds
from askonce.text.lexicon import Lexicon
from askonce.text.read_vectors import read_vectors
from askonce.text.vectors import WordVectors, fuse_vectors, train_skipgram, vectors_for
from askonce.text.vocabulary import UNK, Vocabulary
from askonce.training.events import OnEvent, Reading, ignore
from askonce.training.recipe import Recipe, TextSettings
from askonce.types import Dataset, Pool, Post

DIM = 100  # of skip-gram vectors, and of the starter's words in place of a file
CONTEXTUAL_DIM = 128  # of contextual words by default
PROJECTION_TEXTS = 1_000  # training texts on which contextual words are reduced


def untrained(
    recipe: Recipe, dataset: Dataset, vectors: Path | None = None, on_event: OnEvent = ignore
) -> Ranker:
    """An untrained ranker with the vocabulary of the dataset.

    The vocabulary has the words of all texts, also of dev and test: pre-trained word vectors cover
    them, and a fixed vector does not learn from being listed. Labels are not read.
    """
    text = recipe.text
    if MODELS[recipe.model].reads == "vectors":
        return _over_teacher(recipe, dataset, on_event)
    posts = list(every_post(dataset))
    lexicon = Lexicon.build(posts, dataset.tokeniser, text.min_count, text.max_words)
    if text.vectors == "contextual":
        lexicon, matrix = _in_context(recipe, lexicon, dataset, on_event)
    else:
        matrix = word_vectors(text, lexicon, posts, vectors, recipe.train.seed)
    return Ranker.create(recipe.model, lexicon, matrix, recipe.options, recipe.train.seed)


def _over_teacher(recipe: Recipe, dataset: Dataset, on_event: OnEvent) -> Ranker:
    """A ranker over a teacher's vectors, which are read now or come from the cache.

    Only what training needs is read ahead, with progress: the pools with a right answer.
    """
    teacher = load_teacher(recipe.text.teacher)
    names = {recipe.train.split or dataset.train, dataset.dev}
    splits = (dataset.splits.get(name, []) for name in sorted(names))
    pools = [pool for pool in chain.from_iterable(splits) if pool.positives]
    texts = [post.text for pool in pools for post in (pool.query, *pool.candidates)]
    teacher.encode(texts, lambda done, total: on_event(Reading(done, total)))
    lexicon = TeacherLexicon(teacher=teacher)
    no_words = np.zeros((len(lexicon.vocabulary), 1), np.float32)
    options = {**recipe.options, "dim": teacher.dim}
    return Ranker.create(recipe.model, lexicon, no_words, options, recipe.train.seed)


def _in_context(
    recipe: Recipe, lexicon: Lexicon, dataset: Dataset, on_event: OnEvent
) -> tuple[ContextualLexicon, np.ndarray]:
    """A lexicon that reads words in context, fitted on the training pools, and a vector per word.

    The vector of a word is its mean over these pools; models read it only where a text comes
    without its states. Texts of train and dev are read now, others when they are scored.
    """
    if not issubclass(MODELS[recipe.model], PairMatcher):
        raise ConfigError(
            f"text.vectors = 'contextual' is for models that read pairs, not for {recipe.model!r}"
        )
    names = recipe.train.split or dataset.train, dataset.dev
    train, dev = (
        list(candidate_and_query_posts(p for p in dataset.split(name) if p.positives))
        for name in names
    )
    rng = np.random.default_rng(0)  # the cache is shared between seeds
    rows = np.sort(rng.permutation(len(train))[:PROJECTION_TEXTS])
    sample = [lexicon.words(train[row].text) for row in rows]
    teacher = load_teacher(recipe.text.teacher)
    contextual = ContextualWords.fit(teacher, sample, recipe.text.dim or CONTEXTUAL_DIM)
    reader = ContextualLexicon(
        lexicon.vocabulary, lexicon.tokeniser, lexicon.max_words, contextual=contextual
    )
    read = reader.read([*train, *dev], lambda done, total: on_event(Reading(done, total)))
    return reader, _mean_words(read[: len(train)], len(lexicon.vocabulary))


def _mean_words(texts: Sequence[TokenIds], size: int) -> np.ndarray:
    """The mean vector of each word of the vocabulary (V, E); zero for words without one."""
    codes = np.concatenate([text.text for text in texts])  # (N,)
    states = np.concatenate([cast(np.ndarray, text.states) for text in texts])  # (N, E)
    known = codes > UNK
    total = np.zeros((size, states.shape[1]), dtype=np.float32)
    np.add.at(total, codes[known], states[known].astype(np.float32))
    count = np.bincount(codes[known], minlength=size)[:, None]  # (V, 1)
    means: np.ndarray = total / np.maximum(count, 1)
    return means


def start_from(recipe: Recipe, folder: Path) -> Ranker:
    """A ranker with the weights of a saved one and the settings of the recipe.

    It keeps the saved vocabulary and word vectors, so the recipe's settings of these are ignored.
    Settings that shape the weights must be the same; others, such as dropout, freezing or the
    number of words read, may differ.
    """
    saved = Ranker.load(folder)
    if saved.name != recipe.model:
        raise ConfigError(
            f"{str(folder)!r} holds a {saved.name!r} and the recipe trains a {recipe.model!r}; "
            f"pre-train a {recipe.model!r} to start from"
        )
    weights = saved.model.state_dict()
    lexicon = replace(saved.lexicon, max_words=recipe.text.max_words)
    vectors = weights["words.weight"].numpy()
    ranker = Ranker.create(recipe.model, lexicon, vectors, recipe.options, recipe.train.seed)
    try:
        ranker.model.load_state_dict(weights)
    except RuntimeError:  # names or shapes of weights differ
        old, now = as_dict(saved.model.config), as_dict(ranker.model.config)
        changed = [f"{k} = {now[k]!r} (saved: {old.get(k)!r})" for k in now if now[k] != old.get(k)]
        raise ConfigError(
            f"the weights of {str(folder)!r} do not fit the recipe's model, whose settings differ: "
            f"{', '.join(changed)}; set model.* to the saved values or pre-train again"
        ) from None
    ranker.model.prepare()  # the tables of the loaded weights
    return ranker


def every_post(dataset: Dataset) -> Iterator[Post]:
    """Every distinct candidate and query; a query and a candidate may have the same id."""
    yield from dataset.posts.values()
    pools = chain.from_iterable(dataset.splits.values())
    for query in {pool.query.id: pool.query for pool in pools}.values():
        if dataset.posts.get(query.id) != query:
            yield query


def candidate_and_query_posts(pools: Iterable[Pool]) -> Iterator[Post]:
    """The distinct posts of both sides of these pools."""
    posts: dict[tuple[bool, str], Post] = {}
    for pool in pools:
        posts.setdefault((True, pool.query.id), pool.query)
        for post in pool.candidates:
            posts.setdefault((False, post.id), post)
    yield from posts.values()


def word_vectors(
    text: TextSettings, lexicon: Lexicon, posts: Iterable[Post], path: Path | None, seed: int
) -> np.ndarray:
    """A vector for each word of the lexicon, from the source that the settings name.

    Without a file, the starter's words take its place.
    """
    vocabulary = lexicon.vocabulary
    if text.vectors == "random":
        return vectors_for(vocabulary, None, text.dim, seed)
    if text.vectors == "file" and path is None:
        text = replace(text, vectors="starter", dim=text.dim or DIM)
    if text.vectors == "starter":
        return vectors_for(vocabulary, starter_vectors(vocabulary, text.dim), seed=seed)
    given = None if text.vectors == "skipgram" else _given(text, vocabulary, path)
    if text.vectors == "file":
        return vectors_for(vocabulary, given, seed=seed)
    words = [lexicon.words(post.text) for post in posts]
    dim = given.dim if given else text.dim or DIM
    own = train_skipgram(words, dim=dim, min_count=2, seed=seed)
    return vectors_for(vocabulary, fuse_vectors(given, own) if given else own, seed=seed)


def starter_vectors(vocabulary: Vocabulary, dim: int | None) -> WordVectors:
    """The starter's vectors of these words; ``dim`` takes the first principal components."""
    starter = load_starter()
    most = starter.table.shape[1]
    if dim is not None and dim > most:
        raise ConfigError(f"text.dim = {dim}, but the starter has {most} numbers per word")
    return starter.word_vectors(vocabulary.words, dim)


def _given(text: TextSettings, vocabulary: Vocabulary, path: Path | None) -> WordVectors:
    if path is None:
        raise AskonceError(
            f"text.vectors = {text.vectors!r} needs a file of word vectors; name it with --vectors "
            "or set text.vectors to 'starter' for those inside the package, or to 'skipgram' to "
            "train them on these texts"
        )
    given = read_vectors(path, only=set(vocabulary.words))
    if text.dim not in (None, given.dim):
        raise ConfigError(
            f"text.dim = {text.dim}, but the vectors of {str(path)!r} have {given.dim} dimensions; "
            "choose another file or leave text.dim out"
        )
    return given
