"""The encoder-decoder of pre-training: states, losses, the softmax in parts."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from askonce.models.encoder_decoder import EncoderDecoder, surprise
from askonce.text.batch import View
from tests.training.small_forum import make


def coded(*rows):
    return View.of([np.array(row, dtype=np.int64) for row in rows])


@pytest.fixture(params=["rcnn", "lstm", "gru"])
def model(request):
    torch.manual_seed(3)
    actual = EncoderDecoder(make(request.param).model)
    for name, parameter in actual.named_parameters():
        if not name.startswith("encoder.words"):
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return actual.eval()


def test_the_decoder_has_weights_of_its_own(model):
    encoder = sum(p.numel() for p in model.encoder.layers.parameters())
    size = len(model.encoder.words.weight)
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trainable == 2 * encoder + 24 * size + size
    assert {p.data_ptr() for p in model.layers.parameters()}.isdisjoint(
        p.data_ptr() for p in model.encoder.parameters()
    )


def test_texts_of_a_batch_do_not_touch_each_other(model):
    sources = [[5, 6, 7, 8, 9], [4], [3, 2, 10]]
    targets = [[2], [9, 8, 7, 6], [5, 4]]
    with torch.no_grad():
        together = model(coded(*sources), coded(*targets))
        alone = [model(coded(s), coded(t)) for s, t in zip(sources, targets, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone).sum())


@torch.no_grad()
def test_a_word_is_guessed_from_the_source_and_the_words_before_it(model):
    states = model.states(coded([5, 6]), coded([2, 3, 4]))
    last_changed = model.states(coded([5, 6]), coded([2, 3, 9]))
    torch.testing.assert_close(states[:3], last_changed[:3], rtol=0, atol=0)
    assert not torch.allclose(states[3], last_changed[3])
    assert not torch.allclose(states[0], model.states(coded([5, 7]), coded([2, 3, 4]))[0])


@torch.no_grad()
def test_the_loss_is_that_of_the_words_and_the_end(model):
    states = model.states(coded([5, 6]), coded([2, 3]))  # (3, d)
    chances = (states @ model.output.T + model.bias).log_softmax(1)
    expected = -(chances[0, 2] + chances[1, 3] + chances[2, 0])
    torch.testing.assert_close(model(coded([5, 6]), coded([2, 3])), expected)


@torch.no_grad()
def test_the_decoder_goes_on_from_the_whole_final_state(model):
    """With the encoder's weights, decoding is reading on: the text, a word of zeros, the title."""
    model.layers.load_state_dict(model.encoder.layers.state_dict())
    decoded = model.states(coded([5, 6]), coded([2, 3]))
    vectors = model.encoder.inputs(coded([5, 6, 0, 2, 3]))
    read, _ = model.encoder.layers[0](vectors, torch.ones(1, 5, dtype=torch.bool))
    torch.testing.assert_close(decoded, read[0, 2:])


def test_every_layer_starts_from_its_own(tmp_path):
    model = EncoderDecoder(make("lstm", depth=2).model)
    model(coded([5, 6]), coded([2, 3])).backward()
    assert len(model.layers) == 2
    assert all(p.grad.abs().sum() > 0 for p in model.parameters() if p.requires_grad)


def softmax_inputs(rows, size=50, dim=6):
    torch.manual_seed(0)
    states, weights = torch.randn(rows, dim).double(), torch.randn(size, dim).double()
    inputs = [t.requires_grad_() for t in (states, weights, torch.randn(size).double())]
    return inputs, torch.randint(size, (rows,))


@pytest.mark.parametrize("rows", [1, 256, 700])
def test_the_softmax_in_parts_is_cross_entropy(rows):
    (states, weights, bias), targets = softmax_inputs(rows)
    plain = F.cross_entropy(F.linear(states, weights, bias), targets, reduction="sum")
    expected = torch.autograd.grad(2 * plain, (states, weights, bias))
    value = surprise(states, weights, bias, targets)
    torch.testing.assert_close(value, plain)
    actual = torch.autograd.grad(2 * value, (states, weights, bias))
    torch.testing.assert_close(actual, expected)
    with torch.no_grad():
        torch.testing.assert_close(surprise(states, weights, bias, targets), plain)
