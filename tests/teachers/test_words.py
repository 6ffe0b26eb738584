"""Contextual words: a real transformer with few weights, reduced, cached, saved with a ranker."""

import numpy as np
import pytest
import torch

from askonce.errors import AskonceError, ConfigError, DataError
from askonce.evaluation import evaluate, pools_to_qrels, pools_to_run
from askonce.ranker import Ranker
from askonce.teachers import load_teacher
from askonce.teachers.lexicon import ContextualLexicon
from askonce.teachers.teacher import SentenceTeacher
from askonce.teachers.words import ContextualWords, Projection, word_states
from askonce.training.fine_tuning import train
from askonce.training.prepare import untrained
from askonce.training.recipe import recipe_of
from askonce.training.run import RecipeTraining
from tests.teachers.small_teacher import small_teacher
from tests.training.small_run import made


def test_a_words_state_is_the_mean_of_its_pieces(bert):
    teacher = SentenceTeacher(bert)
    texts = [["the", "w12", "w3"], [], ["w4"], ["w99", "the"]]
    states = teacher.word_states(texts)
    assert [len(part) for part in states] == [3, 0, 1, 2]
    tokeniser, model = teacher.model.tokenizer, teacher.model[0].auto_model
    for text, part in zip(texts, states, strict=True):
        if text:
            tokens = tokeniser(" ".join(text), return_tensors="pt")
            with torch.inference_mode():
                hidden = model(**tokens).last_hidden_state[0, 1:-1]  # without both marks
            sizes = [len(tokeniser.tokenize(word)) for word in text]
            wanted = torch.stack([one.mean(0) for one in hidden.split(sizes)])
            np.testing.assert_allclose(part, wanted.numpy(), atol=0.03)  # bfloat16


def test_words_after_the_teachers_limit_are_zero(bert, tmp_path):
    teacher = load_teacher(bert, tmp_path)
    words = ContextualWords.fit(teacher, [["w1", "w2", "the"], ["the", "w33"]], 4)
    (vectors,) = words.read([["the"] * 30])
    assert vectors.shape == (30, 4)
    assert (vectors[:22] != 0).any(1).all()  # 24 pieces with both marks
    assert (vectors[22:] == 0).all()


def test_the_projection_keeps_the_distances_that_matter():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 12)) + rng.normal(size=12)
    projection = Projection.fit(flat.astype(np.float32), 3)
    reduced = projection(flat.astype(np.float32))
    assert np.sqrt(np.mean(reduced**2)) == pytest.approx(0.5, rel=0.01)

    def distances(points):
        return np.linalg.norm(points[:50, None] - points[None, 50:100], axis=-1)

    ratio = distances(reduced) / distances(flat)  # three numbers hold all of three dimensions
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-3)
    with pytest.raises(AskonceError, match=r"text.dim = 13, but the teacher has 12 numbers"):
        Projection.fit(flat.astype(np.float32), 13)


def test_no_text_is_read_twice(bert, tmp_path, monkeypatch):
    teacher = load_teacher(bert, tmp_path)
    words = ContextualWords.fit(teacher, [["w1", "w2"], ["the", "w3"], ["w4", "the"]], 2)
    texts = [["w1", "the"], ["w5"], [], ["w1", "the"]]
    first = words.read(texts)
    monkeypatch.setattr(SentenceTeacher, "word_states", lambda *_: pytest.fail("read again"))
    again = ContextualWords(load_teacher(bert, tmp_path), words.projection).read(texts)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [part.shape for part in first] == [(2, 2), (1, 2), (0, 2), (2, 2)]


def contextual_recipe(bert: str, model: str = "compare-aggregate", **options: object):
    return recipe_of(
        {
            "model": {"name": model, **options},
            "text": {"vectors": "contextual", "teacher": bert, "dim": 6},
            "train": {"epochs": 2, "batch_size": 3, "negatives": {"source": "all"}},
        }
    )


def test_a_ranker_reads_words_in_context_before_and_after_it_is_saved(bert, tmp_path):
    dataset = made(8)
    recipe = contextual_recipe(bert, dim=5, widest=2, overlap=True, flags=True, cosine=True)
    ranker = untrained(recipe, dataset)
    assert isinstance(ranker.lexicon, ContextualLexicon)
    outcome = train(ranker, dataset, recipe, tmp_path)
    loaded = Ranker.load(tmp_path)
    pools = dataset.split("dev")
    scores = outcome.ranker.score_pools(pools)
    for one, other in zip(scores, loaded.score_pools(pools), strict=True):
        np.testing.assert_array_equal(one, other)
    run = pools_to_run(pools, scores)
    metrics = evaluate(pools_to_qrels(pools), run, dataset.protocol).metrics
    assert metrics["MAP"] == pytest.approx(max(outcome.progress.values))
    assert loaded.rank("w1 w2", ["w2 w3", "w4 w5"])[0]["score"] is not None
    # the same word in another context is another word
    one, other = (loaded.lexicon.numbers(text).states for text in ("w1 w2", "w1 w9"))
    assert not np.allclose(one[0], other[0], atol=1e-3)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"contextual": {', '"contextual": "x", "y": {'))
    with pytest.raises(DataError, match="'contextual' of type dict"):
        Ranker.load(tmp_path)
    config.write_text(config.read_text().replace('"contextual": "x", "y": {', '"contextual": {'))
    (tmp_path / "projection.safetensors").write_bytes(b"no tensors")
    with pytest.raises(DataError, match="a safetensors file"):
        Ranker.load(tmp_path)


def test_encoders_and_teachers_without_words_are_refused(bert):
    with pytest.raises(ConfigError, match="'contextual' is for models that read pairs"):
        untrained(contextual_recipe(bert, "hyperqa"), made())
    with pytest.raises(AskonceError, match="'small' has no states of words"):
        word_states(small_teacher()[0], [["w1"]])
    with pytest.raises(ConfigError, match="come from a language model already"):
        RecipeTraining(contextual_recipe(bert, "cabin"), made()).initial_ranker({}, None)
