"""Rankers in Haystack pipelines."""

import pytest

from askonce.errors import ConfigError

pytest.importorskip("haystack", reason="`make test-integrations` installs it")

from haystack import Document, Pipeline
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from askonce.adapters.haystack import AskonceDocumentEmbedder, AskonceRanker, AskonceTextEmbedder


@pytest.fixture
def documents(texts):
    return [Document(id=name, content=text, meta={"tag": name}) for name, text in texts.items()]


def test_documents_are_sorted_and_scored_as_the_ranker_does(folder, documents, ranking, queries):
    component = AskonceRanker(folder)
    component.warm_up()
    for query in queries.values():
        actual = component.run(query=query, documents=documents)["documents"]
        expected = ranking(query)
        assert [document.id for document in actual] == [name for name, _ in expected]
        assert [d.score for d in actual] == pytest.approx([score for _, score in expected])
    assert [document.meta["tag"] for document in actual] == [document.id for document in actual]
    assert all(document.score is None for document in documents)


def test_top_k_of_the_call_wins(folder, documents):
    component = AskonceRanker(folder, top_k=3)
    assert len(component.run(query="chain", documents=documents)["documents"]) == 3
    assert len(component.run(query="chain", documents=documents, top_k=1)["documents"]) == 1
    assert component.run(query="chain", documents=[])["documents"] == []
    with pytest.raises(ConfigError, match="top_k = 0"):
        component.run(query="chain", documents=documents, top_k=0)


def test_the_inner_products_of_embeddings_order_as_the_ranker(
    encoder_folder, encoder, documents, texts, queries
):
    embedded = AskonceDocumentEmbedder(encoder_folder).run(documents=documents)["documents"]
    text_embedder = AskonceTextEmbedder(encoder_folder)
    for query in queries.values():
        key = text_embedder.run(text=query)["embedding"]
        products = [sum(a * b for a, b in zip(key, d.embedding, strict=True)) for d in embedded]
        order = sorted(range(len(texts)), key=lambda target: -products[target])
        hits = encoder.rank(query, list(texts.values()))
        assert order == [hit["corpus_id"] for hit in hits]
    assert AskonceDocumentEmbedder(encoder_folder).run(documents=[])["documents"] == []


def test_a_saved_pipeline_retrieves_and_ranks(
    encoder_folder, encoder, pair_model, documents, texts, queries, tmp_path
):
    pair_model.save(tmp_path / "pair")
    store = InMemoryDocumentStore(embedding_similarity_function="dot_product")
    store.write_documents(AskonceDocumentEmbedder(encoder_folder).run(documents)["documents"])
    pipeline = Pipeline()
    pipeline.add_component("embedder", AskonceTextEmbedder(encoder_folder))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=3))
    pipeline.add_component("ranker", AskonceRanker(tmp_path / "pair", top_k=2))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "ranker.documents")

    query = queries["q2"]
    asked = {"embedder": {"text": query}, "ranker": {"query": query}}
    actual = pipeline.run(asked)["ranker"]["documents"]
    first = [hit["corpus_id"] for hit in encoder.rank(query, list(texts.values()), top_k=3)]
    retained = [list(texts.values())[target] for target in first]
    expected = pair_model.rank(query, retained, top_k=2)
    assert [d.content for d in actual] == [retained[hit["corpus_id"]] for hit in expected]
    assert [d.score for d in actual] == pytest.approx([hit["score"] for hit in expected])

    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["askonce.adapters.haystack"])
    component = again.get_component("ranker")
    assert (component.folder, component.top_k) == (str(tmp_path / "pair"), 2)
    assert component.run(query, documents) == pipeline.get_component("ranker").run(query, documents)
    assert (
        again.get_component("embedder").to_dict() == AskonceTextEmbedder(encoder_folder).to_dict()
    )
