"""What every registered model promises."""

import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Encoder, Matcher, States
from askonce.models.pair import PairMatcher
from askonce.ranker import Ranker
from askonce.teachers.lexicon import TeacherLexicon
from askonce.text.batch import Batch, TokenIds
from askonce.text.lexicon import Lexicon
from askonce.text.vocabulary import UNK
from askonce.types import Post
from tests.teachers.small_teacher import small_teacher

WORDS = [f"w{i}" for i in range(60)]
VECTOR_DIM = 12


def text(seed: int, length: int) -> str:
    rng = np.random.default_rng(seed)
    return " ".join(WORDS[i] for i in rng.integers(0, len(WORDS), length))


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    """The words of all texts, and a teacher's vectors for models that read those."""
    posts = [Post("x", title=" ".join(WORDS))] * 3 + [Post("y", title=text(1, 30))]
    return TeacherLexicon(Lexicon.build(posts).vocabulary, teacher=small_teacher()[0])


@pytest.fixture(scope="module")
def queries() -> list[Post]:
    return [Post(f"q{i}", title=text(i, 2 + i), body=text(50 + i, i % 4)) for i in range(7)]


@pytest.fixture(scope="module")
def candidates() -> list[Post]:
    return [Post(f"c{i}", body=text(100 + i, 12 - i)) for i in range(7)]


def shrunk(name: str) -> dict[str, int]:
    """Settings that make a model small."""
    fields = dataclasses.fields(MODELS[name].Config)
    return {f.name: 8 for f in fields if type(f.default) is int and f.default > 8}


def tiny(name: str, lexicon: Lexicon, **changes: object) -> Matcher:
    """A small model whose every weight is random, the padding row of its embedding too."""
    kind = MODELS[name]
    torch.default_generator.manual_seed(3)
    vectors = torch.randn(len(lexicon.vocabulary), VECTOR_DIM).numpy()
    model = kind(
        kind.Config(**{**shrunk(name), **changes}), EmbeddingInit.of(lexicon.vocabulary, vectors)
    )
    with torch.no_grad():
        for key, value in model.named_parameters():
            if not key.startswith("words."):
                value.add_(0.05 * torch.randn_like(value))
    return model


def variants(name: str) -> list[dict[str, bool]]:
    fields = {f.name for f in dataclasses.fields(MODELS[name].Config)}
    both = {"overlap": True, "flags": True, "cosine": True}
    return [{}, both] if both.keys() <= fields else [{}]


CASES = [(name, changes) for name in MODELS.names() for changes in variants(name)]
IDS = [name + ("+features" if changes else "") for name, changes in CASES]
each_model = pytest.mark.parametrize(("name", "changes"), CASES, ids=IDS)
each_encoder = pytest.mark.parametrize(
    "name", [name for name in MODELS.names() if issubclass(MODELS[name], Encoder)]
)


@each_model
def test_one_score_per_row_and_padding_changes_nothing(name, changes, lexicon, queries, candidates):
    model = tiny(name, lexicon, **changes).eval()
    with torch.inference_mode():
        together = model(lexicon.batch(queries), lexicon.batch(candidates))
        alone = [
            model(lexicon.batch([q]), lexicon.batch([c]))
            for q, c in zip(queries, candidates, strict=True)
        ]
    assert together.shape == (7,)
    torch.testing.assert_close(together, torch.cat(alone), atol=2e-5, rtol=1e-4)


@each_model
def test_padding_row_is_never_read(name, changes, lexicon, queries, candidates):
    model = tiny(name, lexicon, **changes).eval()
    with torch.inference_mode():
        before = model(lexicon.batch(queries), lexicon.batch(candidates))
        for key, value in model.named_parameters():
            if key.startswith("words."):
                value[0] = 100 * torch.randn_like(value[0])
        after = model(lexicon.batch(queries), lexicon.batch(candidates))
    torch.testing.assert_close(before, after, atol=0, rtol=0)


@each_model
def test_order_of_the_batch_changes_nothing(name, changes, lexicon, queries, candidates):
    model = tiny(name, lexicon, **changes).eval()
    with torch.inference_mode():
        forward = model(lexicon.batch(queries), lexicon.batch(candidates))
        backward = model(lexicon.batch(queries[::-1]), lexicon.batch(candidates[::-1]))
    torch.testing.assert_close(forward, backward.flip(0), atol=2e-5, rtol=1e-4)


@each_model
def test_every_parameter_gets_a_finite_gradient(name, changes, lexicon, queries, candidates):
    model = tiny(name, lexicon, **changes).train()
    labels = torch.tensor([1.0, 0, 1, 0, 1, 0, 1])
    scores = model(lexicon.batch(queries), lexicon.batch(candidates))
    binary_cross_entropy_with_logits(scores, labels).backward()
    for key, value in model.named_parameters():
        if value.requires_grad:
            assert value.grad is not None, key
            assert value.grad.isfinite().all(), key


@each_model
def test_learns_twenty_pairs_by_heart(name, changes, lexicon):
    # dropout would only make this slower
    names = {f.name for f in dataclasses.fields(MODELS[name].Config)}
    still = {key: 0.0 for key in names if key.startswith("dropout")}
    model = tiny(name, lexicon, **changes, **still).train()
    queries = lexicon.batch([Post(f"q{i}", title=text(i % 10, 5)) for i in range(20)])
    answers = lexicon.batch([Post(f"c{i}", body=text(200 + i, 7)) for i in range(20)])
    right, wrong = torch.arange(10), torch.arange(10, 20)
    rate = 0.1 if name == "cabin" else 0.02  # its weights are small at the start
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=rate)
    for _ in range(300):
        scores = model(queries, answers)
        loss = (1 - scores[right] + scores[wrong]).clamp_min(0).mean()
        if (scores[right] > scores[wrong]).all():
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (scores[right] > scores[wrong]).all()


@each_model
def test_odd_texts_get_finite_scores(name, changes, lexicon):
    model = tiny(name, lexicon, **changes).eval()
    odd = ["", "w1", "zork blip", "👩‍🚀🎉 😀", "שלום עולם مرحبا", "\x00\x01", "?!..."]
    with torch.inference_mode():
        for texts in (odd, ["w1 " * 1500]):  # the long one apart, or all would be padded to it
            posts = [Post("a", title=side) for side in texts]
            posts += [Post("b", body=side) for side in texts]
            plain = [Post("c", title="w3 w4"), Post("d", body="w5 w6 w7")] * len(texts)
            batch, other = lexicon.batch(posts), lexicon.batch(plain)
            assert model(batch, other).isfinite().all()
            assert model(other, batch).isfinite().all()


@each_model
def test_same_seed_same_scores(name, changes, lexicon, queries, candidates):
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), VECTOR_DIM))
    dim = {"dim": lexicon.teacher.dim} if MODELS[name].reads == "vectors" else {}
    options = {**shrunk(name), **changes, **dim}
    rankers = [Ranker.create(name, lexicon, vectors, options, seed=seed) for seed in (5, 5, 6)]
    pairs = list(zip(queries, candidates, strict=True))
    first, second, other = (ranker.predict(pairs) for ranker in rankers)
    assert (first == second).all()
    same_start = ("hyperqa", "cosineqa", "euclidqa", "hyperqa-concat", "adapter", "bag")
    assert name in same_start or (first != other).any()


@each_model
def test_a_saved_ranker_is_the_same(name, changes, lexicon, queries, candidates, tmp_path):
    ranker = Ranker(name, tiny(name, lexicon, **changes), lexicon, {"trained on": "nothing"})
    ranker.save(tmp_path)
    loaded = Ranker.load(tmp_path)
    pairs = list(zip(queries, candidates, strict=True))
    assert (ranker.predict(pairs) == loaded.predict(pairs)).all()
    assert loaded.card == {"trained on": "nothing"}


@each_model
def test_words_in_context_replace_word_vectors(name, changes, lexicon, queries, candidates):
    """With the vectors of the table as those in context, a pair model's scores are the same."""
    if not issubclass(MODELS[name], PairMatcher):
        pytest.skip("reads no words in context")
    model = tiny(name, lexicon, **changes).eval()

    def in_context(posts, scale):
        read = [ids._replace(states=_table(model, ids) * scale) for ids in lexicon.read(posts)]
        return Batch(read)

    with torch.inference_mode():
        scores = model(lexicon.batch(queries), lexicon.batch(candidates))
        same = model(in_context(queries, 1), in_context(candidates, 1))
        other = model(in_context(queries, 2), in_context(candidates, -1))
        states = model.read(in_context(candidates, 1), "candidate")
        rows = [states.row(n) for n in range(len(candidates))]
        joined = model.match(model.read(in_context(queries, 1), "query"), States.join(rows))
    torch.testing.assert_close(same, scores, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(joined, scores, atol=2e-5, rtol=1e-4)
    assert not torch.allclose(other, scores)


def _table(model: Matcher, ids: TokenIds) -> np.ndarray:
    vectors = model.words.weight.detach().numpy()  # (V, E)
    return vectors[np.maximum(ids.text, UNK)]  # (T, E)


@each_model
def test_ranking_reads_each_side_once_and_agrees_with_pairs(
    name, changes, lexicon, queries, candidates
):
    ranker = Ranker(name, tiny(name, lexicon, **changes), lexicon)
    ranked = ranker.rank(queries[3], candidates, batch_size=3)
    scores = ranker.predict([(queries[3], candidate) for candidate in candidates])
    assert [hit["score"] for hit in ranked] == sorted(
        (hit["score"] for hit in ranked), reverse=True
    )
    for hit in ranked:
        assert hit["score"] == pytest.approx(scores[hit["corpus_id"]], abs=2e-5, rel=1e-4)


@each_model
def test_weights_of_words_have_the_shape_of_their_text(name, changes, lexicon, queries, candidates):
    model = tiny(name, lexicon, **changes).eval()
    sides = {"query": lexicon.batch(queries), "candidate": lexicon.batch(candidates)}
    with torch.inference_mode():
        for weights in model.inspect(sides["query"], sides["candidate"]):
            view = getattr(sides[weights.side], weights.view)
            assert weights.values.shape == view.mask.shape, weights.kind
            assert weights.values[view.mask].isfinite().all(), weights.kind


@each_encoder
def test_keys_order_as_similarity_does(name, lexicon):
    ranker = Ranker(name, tiny(name, lexicon), lexicon)
    posts = [Post(str(i), title=text(i, 3 + i % 9)) for i in range(60)]
    vectors = ranker.encode(posts, convert_to_tensor=True).double()
    encoder = ranker.encoder.double()
    with torch.inference_mode():
        similar = ranker.similarity(vectors[:10], vectors)
        keys = encoder.query_key(vectors[:10]) @ encoder.candidate_key(vectors).T
    for row in range(10):
        by_key = similar[row][keys[row].argsort(descending=True)]
        assert (by_key[1:] - by_key[:-1] <= 1e-9).all()


@each_encoder
def test_encoding_does_not_depend_on_the_batch(name, lexicon, queries):
    ranker = Ranker(name, tiny(name, lexicon), lexicon)
    many = ranker.encode(queries, batch_size=2)
    for post, vector in zip(queries, many, strict=True):
        np.testing.assert_allclose(ranker.encode(post), vector, atol=2e-5, rtol=1e-4)


def test_no_model_takes_more_than_200_lines():
    files = {inspect.getsourcefile(MODELS[name]) for name in MODELS.names()}
    long = [file for file in files if file and len(Path(file).read_text().splitlines()) > 200]
    assert not long
