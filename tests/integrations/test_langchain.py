"""Rankers and archives in LangChain."""

import numpy as np
import pytest

pytest.importorskip("langchain_core", reason="`make test-integrations` installs it")
pytest.importorskip("langchain_classic", reason="`make test-integrations` installs it")

from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from askonce import Engine
from askonce.adapters.langchain import AskonceEmbeddings, AskonceReranker, AskonceRetriever


@pytest.fixture
def documents(texts):
    return [Document(text, id=name, metadata={"tag": name}) for name, text in texts.items()]


@pytest.fixture(scope="module")
def engine():
    with Engine.open("bicycles") as opened:
        yield opened


def test_documents_are_sorted_and_scored_as_the_ranker_does(ranker, documents, ranking, queries):
    query = queries["q1"]
    actual = AskonceReranker(ranker=ranker).compress_documents(documents, query)
    expected = ranking(query)
    assert [document.id for document in actual] == [name for name, _ in expected]
    scores = [document.metadata["relevance_score"] for document in actual]
    assert scores == pytest.approx([score for _, score in expected])
    assert actual[0].metadata["tag"] == actual[0].id
    assert "relevance_score" not in documents[0].metadata
    assert AskonceReranker(ranker=ranker).compress_documents([], query) == []


def test_a_folder_and_top_n(folder, documents):
    assert len(AskonceReranker(ranker=folder, top_n=2).compress_documents(documents, "tyre")) == 2
    with pytest.raises(ValidationError, match="top_n"):
        AskonceReranker(ranker=folder, top_n=0)


def test_the_inner_products_of_embeddings_order_as_the_ranker(encoder, texts, queries):
    embeddings = AskonceEmbeddings(encoder)
    table = np.array(embeddings.embed_documents(list(texts.values())))
    for query in queries.values():
        order = np.argsort(-(table @ embeddings.embed_query(query)), kind="stable")
        hits = encoder.rank(query, list(texts.values()))
        assert order.tolist() == [hit["corpus_id"] for hit in hits]
    assert embeddings.embed_documents([]) == []


def test_a_vector_store_finds_what_a_cosine_model_ranks_first(cosine_encoder, documents, queries):
    store = InMemoryVectorStore(AskonceEmbeddings(cosine_encoder))
    store.add_documents(documents)
    texts = [document.page_content for document in documents]
    for query in queries.values():
        actual = store.similarity_search(query, k=3)
        hits = cosine_encoder.rank(query, texts, top_k=3)
        assert [d.page_content for d in actual] == [texts[hit["corpus_id"]] for hit in hits]


def test_an_archive_s_answers_re_ranked(engine, ranker):
    query = "my chain slips"
    base = AskonceRetriever(engine=engine, k=5)
    first = base.invoke(query)
    assert [d.id for d in first] == [hit.post.id for hit in engine.answers(query, 5)]
    retriever = ContextualCompressionRetriever(
        base_compressor=AskonceReranker(ranker=ranker, top_n=3), base_retriever=base
    )
    actual = retriever.invoke(query)
    texts = [document.page_content for document in first]
    hits = ranker.rank(query, texts, top_k=3)
    assert [d.page_content for d in actual] == [texts[hit["corpus_id"]] for hit in hits]
    assert [d.metadata["relevance_score"] for d in actual] == pytest.approx(
        [hit["score"] for hit in hits]
    )


def test_an_archive_s_similar_questions(engine):
    query = "my chain slips"
    actual = AskonceRetriever(engine=engine, find="similar", k=2).invoke(query)
    hits = engine.similar(query, 2)
    assert [d.id for d in actual] == [hit.post.id for hit in hits]
    assert actual[0].metadata["question"] == hits[0].post.title
    assert actual[0].metadata["relevance_score"] == hits[0].score
