"""A ranker as sentence-transformers meets it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from askonce.errors import NotAnEncoder


@pytest.fixture(scope="module")
def theirs():
    """The package, imported by the worker that runs these tests only: it takes seconds."""
    pytest.importorskip("sentence_transformers", reason="it comes with the extra 'minilm'")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import evaluation, losses

    return SimpleNamespace(Model=SentenceTransformer, evaluation=evaluation, losses=losses)


@pytest.fixture(scope="module")
def ours(theirs):
    """Our adapter to it."""
    from askonce.adapters import sentence_transformers

    return sentence_transformers


@pytest.fixture
def model(encoder, ours):
    return ours.AskonceSentenceTransformer(encoder, device="cpu")


def test_vectors_are_those_of_the_ranker(model, encoder, texts):
    rows = [*texts.values(), "", "unheard words"]
    expected = encoder.encode(rows)
    for encode in (model.encode, model.encode_query, model.encode_document):
        np.testing.assert_allclose(encode(rows, batch_size=2), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.encode(rows[0]), expected[0], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.encode("tyre", prompt="flat "), encoder.encode("flat tyre"))
    assert model.get_embedding_dimension() == expected.shape[1]


def test_similarity_is_that_of_the_ranker(model, encoder, queries, texts):
    asked = model.encode_query(list(queries.values()), convert_to_tensor=True)
    actual = model.encode_document(list(texts.values()))
    table = model.similarity(asked, actual)
    assert table.shape == (3, 5)
    torch.testing.assert_close(table, encoder.similarity(asked, actual))
    torch.testing.assert_close(model.similarity(list(asked), list(actual)), table)
    torch.testing.assert_close(model.similarity(asked[1], actual)[0], table[1])
    torch.testing.assert_close(model.similarity_pairwise(asked, actual[:3]), table.diagonal())


def test_a_saved_model_is_a_ranker_folder_that_sentence_transformers_loads(
    model, encoder, texts, tmp_path, ours, theirs
):
    model.save(str(tmp_path))
    rows = list(texts.values())
    expected = encoder.encode(rows)
    plain = theirs.Model(str(tmp_path), trust_remote_code=True, device="cpu")
    assert isinstance(plain[0], ours.AskonceModule)
    again = ours.AskonceSentenceTransformer(tmp_path, device="cpu")
    for loaded in (plain, again, theirs.Model(modules=[ours.AskonceModule(again.ranker)])):
        np.testing.assert_allclose(loaded.encode(rows), expected, rtol=1e-6, atol=1e-7)


def test_their_evaluators_rank_as_the_ranker(model, encoder, queries, texts, right, theirs):
    corpus = {qid: set(actual) for qid, actual in right.items()}
    figures = model.evaluate(
        theirs.evaluation.InformationRetrievalEvaluator(queries, texts, corpus)
    )
    names, rows = list(texts), list(texts.values())
    places = []
    for qid, query in queries.items():
        order = [names[hit["corpus_id"]] for hit in encoder.rank(query, rows)]
        places.append(min(order.index(name) for name in right[qid]) + 1)
    assert figures["cosine_mrr@10"] == pytest.approx(np.mean([1 / target for target in places]))

    samples = [
        {
            "query": query,
            "positive": [texts[name] for name in right[qid]],
            "negative": [text for name, text in texts.items() if name not in right[qid]],
        }
        for qid, query in queries.items()
    ]
    evaluator = theirs.evaluation.RerankingEvaluator(
        samples, similarity_fct=model.similarity, at_k=5
    )
    assert model.evaluate(evaluator)["mrr@5"] == pytest.approx(figures["cosine_mrr@10"])


def test_their_losses_train_it(encoder_folder, queries, texts, ours, theirs):
    model = ours.AskonceSentenceTransformer(encoder_folder, device="cpu").train()
    loss = theirs.losses.MultipleNegativesRankingLoss(model)
    sides = [list(queries.values()), list(texts.values())[:3]]
    loss([model.preprocess(side) for side in sides], None).backward()
    gradient = model.ranker.model.get_parameter("bag.projection.weight").grad
    assert gradient is not None
    assert torch.isfinite(gradient).all()
    assert gradient.abs().sum() > 0


def test_a_pair_model_has_no_vectors(pair_model, ours):
    with pytest.raises(NotAnEncoder, match="compare-aggregate"):
        ours.AskonceSentenceTransformer(pair_model)
