"""CTRN and QRNN against numbers computed equation by equation, and the paper's Table 2."""

import numpy as np
import pytest
import torch

from askonce.models.base import EmbeddingInit
from askonce.models.ctrn import CTRN, aligned
from askonce.models.qrnn import QRNN, gated_mean
from askonce.models.rivals.sentences.lstm_mlp import LstmMlp
from askonce.text.batch import Batch, TokenIds, View

EMPTY = np.array([], dtype=np.int64)


def wave(shape, phase):
    count = int(np.prod(shape))
    return torch.from_numpy(0.5 * np.sin(phase + 0.7 * np.arange(count))).reshape(shape)


def words_of(vectors):
    size = len(vectors)
    return EmbeddingInit(vectors, torch.ones(size), 10, torch.zeros(size, dtype=torch.bool))


def batch_of(*texts):
    return Batch([TokenIds(np.array(text, dtype=np.int64), EMPTY) for text in texts])


@pytest.fixture
def oracle():
    """The oracle's weights in the real model; its words are the inputs and are not projected."""
    vectors = torch.cat([torch.full((2, 3), 9.0), wave((3, 3), 1.0), wave((5, 3), 2.0)])

    def build(kind=CTRN, **settings):
        config = kind.Config(projection=3, dim=2, bias=False, **settings)
        model = kind(config, words_of(vectors)).double().eval()
        model.projection = torch.nn.Identity()
        z, f, o = (wave((2, 3, 2), phase) for phase in (0.1, 0.2, 0.3))  # (tap, in, out)
        gates = torch.cat([f, o], dim=-1)  # (tap, in, 2·out)
        for part, taps in ((model.recurrent.values, z), (model.recurrent.gates, gates)):
            part.taps.weight.data = taps.transpose(1, 2).flatten(0, 1).contiguous()
        return model

    return build


QUERY, ANSWER = [2, 3, 4], [5, 6, 7, 8, 9]
Z = [[-0.203286, -0.004212], [0.202427, 0.004799], [0.100246, 0.264183]]
F = [[0.454787, 0.506814], [0.545040, 0.493384], [0.532478, 0.570951]]
O = [[0.461397, 0.514609], [0.538483, 0.485638], [0.539494, 0.573957]]  # noqa: E741
H = [[-0.051138, -0.001069], [0.017063, 0.000683], [0.034387, 0.065517]]


def near(actual, wanted):
    torch.testing.assert_close(actual, torch.tensor(wanted).double(), rtol=0, atol=1e-6)


def test_values_and_gates(oracle):
    read = oracle().read(batch_of(QUERY), "query")
    values, gates = read["values"], read["gates"]
    near(values[0], Z)
    near(gates[0, :, :2], F)
    near(gates[0, :, 2:], O)


def test_hidden_states_are_seen_through_the_mean_of_each_prefix(oracle):
    read = oracle(QRNN).read(batch_of(*(QUERY[:n] for n in (1, 2, 3))), "query")
    sums = read["mean"] * torch.tensor([[1], [2], [3]])
    near(sums.diff(dim=0, prepend=torch.zeros(1, 2)), H)


def test_last_cell_has_its_closed_form():
    z, f = torch.tensor(Z).double(), torch.tensor(F).double()
    closed = sum((1 - f[i]) * z[i] * f[i + 1 :].prod(0) for i in range(3))
    near(closed, [0.063740, 0.114150])
    last = View(torch.ones(1, 3, dtype=torch.long), torch.tensor([3]))
    output = torch.zeros(3, 2).double()
    output[-1] = 3  # the mean of three states of which only the last is let out
    gates = torch.cat([f, output], dim=1)
    torch.testing.assert_close(gated_mean(last, z[:, None], gates[:, None])[0], closed)


@pytest.mark.parametrize(
    ("alignment", "to_answer", "to_query", "query", "answer"),
    [
        ("proportional", [2, 4, 5], [1, 2, 2, 3, 3], (0.001566, 0.001421), (0.002327, 0.001830)),
        ("literal_clamp", [2, 4, 5], [2, 3, 3, 3, 3], (0.001566, 0.001421), (0.002282, 0.001796)),
        ("index", [1, 2, 3], [1, 2, 3, 3, 3], (0.001235, 0.001468), (0.002346, 0.001827)),
    ],
)
def test_crossing(oracle, alignment, to_answer, to_query, query, answer):
    three, five = torch.tensor([3]), torch.tensor([5])
    assert (aligned(three, five, 3, alignment)[:, 0] + 1).tolist() == to_answer
    assert (aligned(five, three, 5, alignment)[:, 0] + 1).tolist() == to_query
    model = oracle(alignment=alignment)
    q, a = model.read(batch_of(QUERY), "query"), model.read(batch_of(ANSWER), "candidate")
    near(model.composed(q, a)[0], query)
    near(model.composed(a, q)[0], answer)


@pytest.mark.parametrize("alignment", ["proportional", "literal_clamp", "index"])
def test_a_text_with_itself_gives_squared_states(oracle, alignment):
    model = oracle(alignment=alignment)
    text = model.read(batch_of(QUERY), "query")
    torch.testing.assert_close(
        model.composed(text, text)[0], torch.tensor(H).double().pow(2).mean(0), rtol=0, atol=1e-6
    )


def test_gates_at_their_ends_give_a_gated_convolution_or_nothing():
    z, output = torch.randn(4, 1, 2), torch.rand(4, 1, 2)
    view = View(torch.ones(1, 4, dtype=torch.long), torch.tensor([4]))
    open_gates = torch.cat([torch.zeros_like(output), output], dim=-1)
    torch.testing.assert_close(gated_mean(view, z, open_gates), (output * z).mean(0))
    shut = torch.cat([torch.ones_like(output), output], dim=-1)
    assert gated_mean(view, z, shut).abs().max() == 0


def test_parameters_of_table_2():
    words = words_of(torch.zeros(5, 300))
    sizes = {"projection": 300, "dim": 512, "hidden": 128}

    def counted(kind, bias):  # the paper leaves out the projection n×m
        model = kind(kind.Config(**sizes, bias=bias), words)
        return model.trainable_parameters() - 300 * 300

    softmax = 128 * 2 + 2  # the paper leaves it out too
    assert counted(QRNN, False) - softmax == counted(CTRN, False) - softmax == 1_052_800
    assert counted(QRNN, True) == counted(CTRN, True) == 1_054_594
    assert counted(LstmMlp, False) - softmax == 1_794_176
