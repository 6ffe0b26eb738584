"""The ranker as a library user meets it."""

import json

import numpy as np
import pytest
import torch

from askonce import Ranker
from askonce.errors import AskonceError, DataError, NotAnEncoder
from askonce.text.lexicon import Lexicon
from askonce.types import Pool, Post

ANSWERS = ["patch the tube", "oil the chain", "true the wheel", "fit new brake pads"]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon.build([Post(str(i), title=text) for i, text in enumerate(ANSWERS)])


def make(name: str, lexicon: Lexicon, **options: object) -> Ranker:
    vectors = np.random.default_rng(1).normal(size=(len(lexicon.vocabulary), 8))
    return Ranker.create(name, lexicon, vectors, options)


@pytest.fixture(scope="module")
def encoder(lexicon) -> Ranker:
    return make("hyperqa", lexicon, dim=8)


@pytest.fixture(scope="module")
def matcher(lexicon) -> Ranker:
    return make("attentive-lstm", lexicon, hidden=4)


def test_rank_returns_what_cross_encoders_return(matcher):
    hits = matcher.rank("the chain", ANSWERS, top_k=2, return_documents=True)
    assert [set(hit) for hit in hits] == [{"corpus_id", "score", "text"}] * 2
    assert hits[0]["text"] == ANSWERS[hits[0]["corpus_id"]]
    assert matcher.rank("the chain", []) == []


def test_predict_takes_one_pair_or_many(matcher):
    pairs = [("chain", answer) for answer in ANSWERS]
    scores = matcher.predict(pairs)
    assert isinstance(scores, np.ndarray)
    assert scores.shape == (4,)
    assert matcher.predict(pairs[2]) == pytest.approx(scores[2], abs=1e-6)
    squashed = matcher.predict(pairs, activation_fn=torch.sigmoid, convert_to_tensor=True)
    torch.testing.assert_close(squashed, torch.from_numpy(scores).sigmoid())


def test_many_documents_of_a_query_score_as_each_alone(lexicon):
    ranker = make("compare-aggregate", lexicon, dim=4, overlap=True)
    posts = [Post(str(i), ANSWERS[i % 4], ANSWERS[i % 3] * (i % 5)) for i in range(12)]
    pairs = [(query, post) for query in ("oil chain", "brake", "") for post in posts]
    pairs += [("the wheel", posts[3])]  # too few to go together
    alone = [ranker.predict(pair) for pair in pairs]
    np.testing.assert_allclose(ranker.predict(pairs), alone, atol=1e-6)


def test_an_edited_post_is_read_again(lexicon, monkeypatch):
    monkeypatch.setattr("askonce.ranker.CACHED_POSTS", 1)
    ranker = make("compare-aggregate", lexicon, dim=4)
    old, new, other = Post("1", ANSWERS[0]), Post("1", ANSWERS[1]), Post("2", ANSWERS[1])
    scores = [ranker.predict(("chain", post)) for post in (old, old, new, other, old)]
    assert scores[0] == scores[1] == scores[4] != scores[2] == scores[3]


def test_encode_takes_one_text_or_many(encoder):
    assert encoder.encode("oil the chain").shape == (8,)
    vectors = encoder.encode(ANSWERS, batch_size=3, normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert encoder.encode([]).shape[0] == 0


def test_similarity_agrees_with_predict(encoder):
    vectors = encoder.encode(ANSWERS, convert_to_tensor=True)
    table = encoder.similarity(vectors, vectors)
    assert table.shape == (4, 4)
    pairs = [(a, b) for a in ANSWERS for b in ANSWERS]
    torch.testing.assert_close(
        table.flatten().float(),
        encoder.predict(pairs, convert_to_tensor=True),
        atol=2e-2,
        rtol=1e-3,
    )
    pairwise = encoder.similarity_pairwise(vectors, vectors)
    torch.testing.assert_close(pairwise, table.diagonal())


def test_a_matcher_has_no_vectors(matcher):
    with pytest.raises(NotAnEncoder, match="'attentive-lstm' compares both texts together"):
        matcher.encode("text")


def test_explanations_name_the_words(matcher):
    explanation = matcher.explain("worn chain", "oil the chain")
    (weights,) = explanation.words
    assert weights.kind == "attention"
    assert weights.side == "candidate"
    assert weights.words == ["oil", "the", "chain"]
    assert sum(weights.weights) == pytest.approx(1.0, abs=1e-5)
    assert explanation.score == pytest.approx(
        float(matcher.predict(("worn chain", "oil the chain")))
    )


@pytest.mark.parametrize("kind", ["encoder", "matcher"])
def test_pools_are_scored_as_pairs_are(kind, request):
    ranker = request.getfixturevalue(kind)
    posts = [Post(f"a{i}", body=text) for i, text in enumerate(ANSWERS)]
    pools = [
        Pool(Post("q1", title="chain oil"), tuple(posts), (0, 1, 0, 0)),
        Pool(Post("q2", title="brake"), tuple(posts[::-1]), (1, 0, 0, 0)),
    ]
    for pool, scores in zip(pools, ranker.score_pools(pools, batch_size=3), strict=True):
        pairs = [(pool.query, post) for post in pool.candidates]
        np.testing.assert_allclose(scores, ranker.predict(pairs), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("bytes_", [0, 10**9])
def test_each_candidate_is_read_once_however_little_memory_there_is(matcher, monkeypatch, bytes_):
    monkeypatch.setattr("askonce.ranker.CACHED_BYTES", bytes_)
    monkeypatch.setattr("askonce.ranker.READ_TOGETHER", 2)
    posts = [Post(f"a{i}", body=text) for i, text in enumerate(ANSWERS)]
    pools = [Pool(Post(f"q{n}", title="chain"), tuple(posts[n:]), (0,) * (4 - n)) for n in range(4)]
    read, texts = matcher.model.read, []

    def counted(batch, side):
        texts.extend(batch.posts if side == "candidate" else ())
        return read(batch, side)

    monkeypatch.setattr(matcher.model, "read", counted)
    scores = matcher.score_pools(pools)
    assert len(texts) == len(posts)
    for pool, actual in zip(pools, scores, strict=True):
        expected = matcher.predict([(pool.query, post) for post in pool.candidates])
        np.testing.assert_allclose(actual, expected, atol=1e-5, rtol=1e-4)


class TestFolder:
    """A ranker folder holds data only, and says what is wrong with it."""

    @pytest.fixture
    def folder(self, matcher, tmp_path):
        matcher.save(tmp_path / "ranker")
        return tmp_path / "ranker"

    def test_files(self, folder):
        names = {path.name for path in folder.iterdir()}
        assert names == {"config.json", "vocabulary.tsv", "model.safetensors", "README.md"}
        assert "attentive-lstm" in (folder / "README.md").read_text()

    def test_no_folder(self, tmp_path):
        with pytest.raises(AskonceError, match=r"is not a ranker folder: it has no config\.json"):
            Ranker.load(tmp_path)

    def test_another_format(self, folder):
        config = json.loads((folder / "config.json").read_text()) | {"format": 99}
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(DataError, match="expected format 1"):
            Ranker.load(folder)

    def test_an_unknown_model_is_not_imported(self, folder):
        config = json.loads((folder / "config.json").read_text()) | {"model": "os.system"}
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(AskonceError, match=r"no model is called 'os\.system'"):
            Ranker.load(folder)

    def test_damaged_weights(self, folder):
        (folder / "model.safetensors").write_bytes(b"\x80\x04pickle")
        with pytest.raises(DataError, match="a safetensors file"):
            Ranker.load(folder)

    def test_weights_of_another_model(self, folder, encoder):
        config = json.loads((folder / "config.json").read_text())
        encoder.save(folder)
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(DataError, match="the weights of 'attentive-lstm'"):
            Ranker.load(folder)

    def test_a_cut_vocabulary(self, folder):
        lines = (folder / "vocabulary.tsv").read_text().splitlines()
        (folder / "vocabulary.tsv").write_text("\n".join(lines[:-2]) + "\n")
        with pytest.raises(DataError):
            Ranker.load(folder)
