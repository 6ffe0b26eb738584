"""Key indexes that are searched by text, as word indexes are, so that one test serves both."""

from askonce.index import vectors
from askonce.index.milvus import keys as milvus


class _ByText:
    def search(self, text, k=10):
        return (
            self.search_key(self.coder.query_keys([text])[0], k) if k > 0 and text.strip() else []
        )

    def score(self, text, ids):
        return self.score_key(self.coder.query_keys([text])[0], ids)


class VectorIndex(_ByText, vectors.VectorIndex):
    pass


class MilvusKeys(_ByText, milvus.MilvusKeys):
    pass
