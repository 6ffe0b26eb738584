"""Rankers and archives as LangChain embeddings, re-rankers and retrievers."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from askonce.adapters.common import RankerOrFolder, as_ranker
from askonce.engine import Engine, RankedAnswer, SimilarQuestion
from askonce.errors import needing
from askonce.key_encoders import RankerKeys
from askonce.ranker import Ranker
from askonce.types import SOURCE_FIELDS, Post

with needing("langchain", "a LangChain adapter"):
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever

from pydantic import BeforeValidator, ConfigDict, PositiveInt


class AskonceEmbeddings(Embeddings):
    """The vectors of an encoder, whose inner products give the ranker's order.

    Vectors of cosine models have length 1; for others, choose a store that uses inner products.
    """

    def __init__(self, ranker: RankerOrFolder) -> None:
        self._keys = RankerKeys(as_ranker(ranker))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        posts = [Post(id="", title=text) for text in texts]
        return self._keys.candidate_keys(posts).tolist() if posts else []

    def embed_query(self, text: str) -> list[float]:
        return self._keys.query_keys([text])[0].tolist()


class AskonceReranker(BaseDocumentCompressor):
    """Sort documents by their score for a query; return the ``top_n`` best."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    ranker: Annotated[Ranker, BeforeValidator(as_ranker)]
    top_n: PositiveInt | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> list[Document]:
        """Copies of the best documents with their ``relevance_score``, best first."""
        hits = self.ranker.rank(query, [d.page_content for d in documents], self.top_n)
        return [_scored(documents[hit["corpus_id"]], hit["score"]) for hit in hits]


class AskonceRetriever(BaseRetriever):
    """Answers of an archive to a question, or similar questions."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Engine
    find: Literal["answers", "similar"] = "answers"
    k: PositiveInt = 4

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        ask = self.engine.answers if self.find == "answers" else self.engine.similar
        return [_document(hit) for hit in ask(query, self.k)]


def _scored(document: Document, score: float) -> Document:
    metadata = document.metadata | {"relevance_score": score}
    return document.model_copy(update={"metadata": metadata})


def _document(hit: RankedAnswer | SimilarQuestion) -> Document:
    question = hit.question if isinstance(hit, RankedAnswer) else hit.post
    metadata = {
        "question": question.title,
        "question_id": question.id,
        "votes": hit.post.score,
        "relevance_score": hit.score,
        **{name: getattr(hit, name) for name in SOURCE_FIELDS},  # of its question, if it has none
    }
    return Document(hit.post.text, id=hit.post.id, metadata=metadata)
