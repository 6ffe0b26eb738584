"""Attentive pooling against numbers computed by hand, and the sizes that papers print."""

import numpy as np
import pytest
import torch

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, States
from askonce.models.layers.functional import cosine, masked_mean
from askonce.models.qa_lstm import QaBiLstm
from askonce.models.rivals.words.attentive_pooling import ApBiLstm, ApCnn, AttentivePooling
from askonce.text.batch import Batch, TokenIds, View


def wave(*shape: int, phase: float) -> torch.Tensor:
    places = torch.arange(int(np.prod(shape)), dtype=torch.float64)
    return (0.5 * torch.sin(phase + 0.7 * places)).view(*shape)


def words(dim: int, size: int = 9) -> EmbeddingInit:
    return EmbeddingInit(
        vectors=torch.randn(size, dim, generator=torch.Generator().manual_seed(4)),
        document_frequency=torch.ones(size, dtype=torch.long),
        documents=size,
        stop=torch.zeros(size, dtype=torch.bool),
    )


def batch(*texts: list[int]) -> Batch:
    return Batch([TokenIds(np.array(text, np.int64), np.array([], np.int64)) for text in texts])


@pytest.fixture
def oracle() -> tuple[AttentivePooling, States, States]:
    pooling = AttentivePooling(3).double()
    with torch.no_grad():
        pooling.of_query.weight.copy_(wave(3, 3, phase=0.2).T)  # U
    query, candidate = wave(1, 2, 3, phase=0.1), wave(1, 4, 3, phase=0.3)
    return (
        pooling,
        States(View.of([np.array([2, 3])]), {"states": query, "keys": pooling.of_query(query)}),
        States(View.of([np.array([4, 5, 6, 7])]), {"states": candidate}),
    )


def test_how_well_words_go_together(oracle):
    _, query, candidate = oracle
    together = (query["keys"] @ candidate["states"].mT).tanh()  # G
    expected = [
        [-0.182942, 0.019708, 0.163639, -0.184304],
        [0.246128, 0.001939, -0.247966, 0.248451],
    ]
    torch.testing.assert_close(together, torch.tensor([expected]).double(), atol=1e-6, rtol=0)


def test_weights_of_both_texts(oracle):
    pooling, query, candidate = oracle
    of_query, of_candidate = pooling(query, candidate)
    expected = torch.tensor([[0.478810, 0.521190]]).double()
    torch.testing.assert_close(of_query, expected, atol=1e-6, rtol=0)
    expected = torch.tensor([[0.268779, 0.214320, 0.247497, 0.269404]]).double()
    torch.testing.assert_close(of_candidate, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", [ApCnn, ApBiLstm])
def test_without_a_learned_similarity_it_is_mean_pooling(kind):
    model = kind(kind.Config(**{"filters": 6} if kind is ApCnn else {"hidden": 3}), words(5)).eval()
    with torch.no_grad():
        model.attention.of_query.weight.zero_()
    query, candidate = batch([2, 3], [4], [5, 6, 7]), batch([3, 8, 2, 2], [5, 6], [7])
    sides = model.read(query, "query"), model.read(candidate, "candidate")
    means = [masked_mean(side["states"], side.view.mask) for side in sides]
    torch.testing.assert_close(model(query, candidate), cosine(*means))


@pytest.mark.parametrize(
    ("name", "settings", "count"),
    [
        ("ap-bilstm", {"hidden": 300}, 2 * 4 * (600 * 300 + 300) + 600**2),
        ("ap-bilstm", {"hidden": 300}, 1_802_400),  # HyperQA prints 1.80M
        # CTRN prints 5.86M for 512, which counts U four times and one direction; this is the sum
        ("ap-bilstm", {"hidden": 512}, 4_378_624),
        ("ap-cnn", {"filters": 300, "width": 5}, 540_000 + 300),  # HyperQA prints 540K; + biases
        ("ap-cnn", {}, 3 * 300 * 400 + 400**2 + 400),
        ("qa-bilstm", {}, 1_442_400),  # HyperQA prints 1.40M
    ],
)
def test_number_of_parameters(name, settings, count):
    kind = MODELS[name]
    assert kind(kind.Config(**settings), words(300)).trainable_parameters() == count


def test_qa_bilstm_keeps_its_word_vectors():
    model = QaBiLstm(QaBiLstm.Config(hidden=3), words(5))
    assert not model.words.weight.requires_grad
