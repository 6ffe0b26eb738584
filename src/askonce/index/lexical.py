"""BM25 search on tantivy, with our own tokeniser in front and English stemming behind it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tantivy

from askonce.text.tokenise import TOKENISERS
from askonce.types import Pool, Post, TokeniserName

MAX_QUERY_TERMS = 256  # a pasted log file is no better a query than its first words


class Hit(NamedTuple):
    """A post that a search found."""

    id: str
    score: float


class LexicalIndex:
    """A BM25 index of posts: in memory, or in a folder when one is named.

    Equal scores come in the order of ids, so that a result never depends on when a post was added.
    """

    def __init__(self, folder: Path | None = None, tokeniser: TokeniserName = "words") -> None:
        self._tokenise = TOKENISERS[tokeniser]
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        schema.add_text_field("text", tokenizer_name="stemmed", index_option="freq")
        self._schema = schema.build()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._index = tantivy.Index(self._schema, path=str(folder) if folder else None)
        # words arrive split and lower-cased; the stemmer joins "policy" and "policies"
        self._stem = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
            .filter(tantivy.Filter.stemmer("english"))
            .build()
        )
        self._index.register_tokenizer("stemmed", self._stem)
        self._searcher = self._index.searcher()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def add(self, posts: Iterable[Post]) -> None:
        """Make these posts findable; a post with a known id takes the place of the old one."""
        known = len(self) > 0
        # one thread: the order of documents, and so of segments, is the same on every run
        with self._index.writer(heap_size=64_000_000, num_threads=1) as writer:
            for post in posts:
                if known:
                    writer.delete_documents_by_term("id", post.id)
                text = " ".join(self._tokenise(post.text))
                writer.add_document(tantivy.Document(id=post.id, text=text))
            writer.commit()
        self._reload()

    def remove(self, ids: Iterable[str]) -> None:
        """Forget the posts with these ids; unknown ids are no error."""
        with self._index.writer(heap_size=15_000_000, num_threads=1) as writer:
            for post_id in ids:
                writer.delete_documents_by_term("id", post_id)
            writer.commit()
        self._reload()

    def search(self, text: str, k: int = 10, among: Sequence[str] | None = None) -> list[Hit]:
        """The k posts that match best, best first; ``among`` restricts the search to these ids."""
        query = self._query(text)
        if query is None or k < 1 or not len(self):
            return []
        if among is not None:
            chosen = tantivy.Query.term_set_query(self._schema, "id", list(among))
            silent = tantivy.Query.const_score_query(chosen, 0.0)
            query = tantivy.Query.boolean_query(
                [(tantivy.Occur.Must, query), (tantivy.Occur.Must, silent)]
            )
        found = self._searcher.search(query, limit=min(k, len(self)), count=False).hits
        hits = [Hit(self._searcher.doc(place)["id"][0], float(score)) for score, place in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))

    def scores(self, pool: Pool) -> np.ndarray:
        """BM25 of each candidate of a pool; 0 where no word is shared."""
        ids = [post.id for post in pool.candidates]
        hits = dict(self.search(pool.query.text, k=len(ids), among=ids))
        return np.array([hits.get(post_id, 0.0) for post_id in ids])

    def terms(self, text: str) -> list[str]:
        """The stemmed words by which a text is found."""
        return list(self._stem.analyze(" ".join(self._tokenise(text))))

    def _query(self, text: str) -> "tantivy.Query | None":
        counts = Counter(self.terms(text)[:MAX_QUERY_TERMS])
        if not counts:
            return None
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, self._term(term, count)) for term, count in counts.items()]
        )

    def _term(self, term: str, count: int) -> "tantivy.Query":
        query = tantivy.Query.term_query(self._schema, "text", term, index_option="freq")
        return tantivy.Query.boost_query(query, float(count)) if count > 1 else query

    def _reload(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()
