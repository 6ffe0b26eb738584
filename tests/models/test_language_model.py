"""A language model whose directions never see what they predict."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
import torch

from askonce.models.base import EmbeddingInit
from askonce.models.language_model import DirectionalLSTM, LanguageModel, perplexity
from askonce.text.batch import View

SIZE = 30


def words(size: int = SIZE, dim: int = 16) -> EmbeddingInit:
    torch.manual_seed(1)
    zeros = torch.zeros(size, dtype=torch.long)
    return EmbeddingInit(torch.randn(size, dim), zeros, 1, zeros.bool())


def view(*texts: list[int]) -> View:
    return View.of([np.array(text, dtype=np.int64) for text in texts])


@pytest.fixture
def recurrence() -> DirectionalLSTM:
    torch.manual_seed(2)
    return DirectionalLSTM(3, 4, 2)


def test_directions_never_mix(recurrence):
    vectors = torch.randn(1, 6, 3)
    changed = vectors.clone()
    changed[0, 3] = torch.randn(3)
    length = torch.tensor([6])
    same = recurrence(vectors, length) == recurrence(changed, length)
    assert same[0, :3, :4].all()  # what stands after a word is unknown rightward,
    assert same[0, 4:, 4:].all()  # what stands before it is unknown leftward,
    assert not same[0, 3:, :4].all(-1).any()  # and every word that was read counts
    assert not same[0, :4, 4:].all(-1).any()


def test_states_are_those_of_packed_sequences_and_zero_on_padding(recurrence):
    lengths = torch.tensor([5, 1, 3])
    states = recurrence(torch.randn(3, 5, 3, generator=torch.manual_seed(3)), lengths)
    vectors = torch.randn(3, 5, 3, generator=torch.manual_seed(3))
    for row, length in enumerate(lengths):
        text = vectors[row, :length]
        torch.testing.assert_close(states[row, :length, :4], recurrence.rightward(text)[0])
        backwards = recurrence.leftward(text.flip(0))[0].flip(0)
        torch.testing.assert_close(states[row, :length, 4:], backwards)
        assert (states[row, length:] == 0).all()


def test_each_direction_predicts_its_next_word_and_then_the_end():
    model = LanguageModel(words(), hidden=5)
    losses = model.losses(view([7, 8, 9], [], [-12, 4]))  # -12: a word without a row
    rightward = leftward = 0.0
    for ids in ([7, 8, 9], [1, 4]):
        vectors = model.words.weight[ids]
        right = model.next_word.log_prob(model.recurrence.rightward(vectors)[0])
        left = model.previous_word.log_prob(model.recurrence.leftward(vectors.flip(0))[0])
        rightward -= sum(right[n, target] for n, target in enumerate([*ids[1:], 0]))
        leftward -= sum(left[n, target] for n, target in enumerate([*ids[-2::-1], 0]))
    torch.testing.assert_close(losses.forward, rightward)
    torch.testing.assert_close(losses.backward, leftward)
    assert losses.words == 5


@pytest.mark.parametrize("size", [2, 3, 7, 16, 30, 1000])
def test_guesses_are_a_distribution_over_the_vocabulary(size):
    model = LanguageModel(words(size), hidden=5)
    chances = model.next_word.log_prob(torch.randn(4, 5)).exp()
    assert chances.shape == (4, size)
    torch.testing.assert_close(chances.sum(1), torch.ones(4))


def test_perplexity_is_the_number_of_equally_likely_words():
    assert perplexity(7 * math.log(50), 7) == pytest.approx(50)


def test_empty_texts_count_for_nothing():
    model = LanguageModel(words(), hidden=5)
    forward, backward, count = model.losses(view([], []))
    assert (forward.item(), backward.item(), count) == (0, 0, 0)
    assert perplexity(forward.item(), count) == 1


def test_the_same_words_padded_or_not():
    model = LanguageModel(words(), hidden=5)
    texts = [[3, 4, 5], [9], [5, 4, 3, 2, 7, 8]]
    together = model.losses(view(*texts))
    alone = [model.losses(view(text)) for text in texts]
    torch.testing.assert_close(together.forward, torch.stack([x.forward for x in alone]).sum())
    torch.testing.assert_close(together.backward, torch.stack([x.backward for x in alone]).sum())


def test_the_word_vectors_stay_and_everything_else_learns():
    model = LanguageModel(words(), hidden=5)
    losses = model.losses(view([3, 2, 5, 29, 6]))
    (losses.forward + losses.backward).backward()
    still = [name for name, value in model.named_parameters() if value.grad is None]
    assert still == ["words.weight"]


def train(model: LanguageModel, texts: Iterable[View]) -> tuple[float, float]:
    """Perplexity of either direction on the last of the texts, which it has not yet learned."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for text in texts:
        forward, backward, count = model.losses(text)
        optimizer.zero_grad()
        ((forward + backward) / count).backward()
        optimizer.step()
    return perplexity(forward.item(), count), perplexity(backward.item(), count)


def test_random_words_cannot_be_predicted():
    # the leakage detector: nothing about these words can be known before they are read
    generator = np.random.default_rng(6)
    texts = (view(*generator.integers(2, SIZE, (20, 10)).tolist()) for _ in range(70))
    torch.manual_seed(7)
    perplexities = train(LanguageModel(words(), hidden=16), texts)
    # nine in ten are one of 28 words, then comes the end: 28 ** 0.9 = 20.1 is all one can know
    assert min(perplexities) > 18


def test_a_pattern_is_learned_in_both_directions():
    # a text of eight words rises by one; only where it ends takes counting
    text = view(*[[*range(start, start + 8)] for start in range(2, 20)])
    torch.manual_seed(8)
    assert max(train(LanguageModel(words(), hidden=24), [text] * 60)) < 1.5
