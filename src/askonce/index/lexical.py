"""BM25 search by tantivy, over words of our own tokeniser with English stemming."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Occur, Query

from askonce.errors import AskonceError
from askonce.index import position
from askonce.index.base import Hit, IndexState, best_first
from askonce.index.stems import Stems
from askonce.types import Pool, Post, TokeniserName

FORMAT = 1
HEAP = 64_000_000  # bytes of posts held before a segment is written; less makes many segments
MAX_QUERY_WORDS = 256  # of a pasted log file the first words are query enough
# Of a longer question, the terms with most idf times count. MAP on dev with 32 and with all: Travel
# .280 and .273 (500 questions of 65 terms), SemEval B .191 and .183 (43 of 28 terms). Chosen from
# seven limits by benchmarks/query_terms.py.
QUERY_TERMS = 32
SHORTEST_TYPO, LONG_WORD = 4, 8  # letters of a stem: to forgive one wrong letter, or two
TYPO_SCORE = 4.0  # of a word that is nearly in the query; BM25 of a rare word is 4 to 8
CACHED_IDS = 200_000  # of documents, about 40 MB
TIES = 1000  # posts tied with the last hit that are ordered by id


class CommitReader:
    """What one commit holds, and the ids of documents that were found in it."""

    def __init__(self, searcher: "tantivy.Searcher") -> None:
        self.searcher = searcher
        self.posts = int(searcher.num_docs)
        self._ids: dict[tuple[int, int], str] = {}  # by segment and document

    def frequency(self, term: str) -> int:
        return int(self.searcher.doc_freq("text", term))

    def search(self, query: "Query", limit: int) -> "list[tuple[float, tantivy.DocAddress]]":
        return list(self.searcher.search(query, limit=limit, count=False).hits)

    def hits(self, hits: "Iterable[tuple[float, tantivy.DocAddress]]") -> list[Hit]:
        """Hits with the ids of posts, in the order given."""
        known = self._ids.get
        return [
            Hit(known((address.segment_ord, address.doc)) or self._read_id(address), score)
            for score, address in hits
        ]

    def scores(self, query: "Query", ids: Sequence[str]) -> np.ndarray:
        if not ids:
            return np.empty(0)
        scores = dict(self.hits(self.search(query, len(ids))))
        return np.array([scores.get(post_id, 0.0) for post_id in ids])

    def _read_id(self, address: "tantivy.DocAddress") -> str:
        if len(self._ids) >= CACHED_IDS:
            self._ids.clear()
        post_id = str(self.searcher.doc(address)["id"][0])
        self._ids[address.segment_ord, address.doc] = post_id
        return post_id


class LexicalIndex:
    """A BM25 index of posts: in a folder, or in memory without one.

    With ``writer=False`` it only searches, beside another process that writes; ``reload`` shows
    what that process has added. With ``forgiving``, a word that no post has matches words that
    differ in a letter or two. ``query_terms`` is the number of terms that a search uses.
    """

    lock_name = None  # the lock on the folder of all indexes is enough
    cheap_to_save = True  # posts are committed when added; ``save`` writes the position

    def __init__(
        self,
        folder: Path | None = None,
        tokeniser: TokeniserName = "words",
        writer: bool = True,
        forgiving: bool = False,
        query_terms: int = QUERY_TERMS,
    ) -> None:
        self.position, self._forgiving, self._query_terms = 0, forgiving, query_terms
        self._folder, self._writable = folder, writer
        self.terms = Stems(tokeniser)
        self._made_with = {"kind": "lexical", "format": FORMAT, "tokeniser": tokeniser}
        self._schema = _schema()
        self._index = self._opened()
        self._index.register_tokenizer("stemmed", self.terms.analyser)
        self._index.config_reader("manual")
        self._writer: tantivy.IndexWriter | None = None
        self._writing = threading.Lock()
        self._see_commits()

    @classmethod
    def of(
        cls, posts: Iterable[Post], tokeniser: TokeniserName = "words", forgiving: bool = False
    ) -> "LexicalIndex":
        """An index of these posts, in memory."""
        index = cls(tokeniser=tokeniser, forgiving=forgiving)
        index.add(posts)
        return index

    def __len__(self) -> int:
        return self._reader.posts

    def add(self, posts: Iterable[Post]) -> None:
        seen: set[str] = set()

        def add_all(writer: tantivy.IndexWriter) -> bool:
            for post in posts:
                # deleting an absent id would make each commit scan all segments
                if post.id in seen or self._holds(post.id):
                    writer.delete_documents_by_term("id", post.id)
                seen.add(post.id)
                text = " ".join(self.terms.tokenise(post.text))
                writer.add_document(tantivy.Document(id=post.id, text=text))
            return bool(seen)

        self._write(add_all)

    def remove(self, ids: Iterable[str]) -> None:
        def remove_all(writer: tantivy.IndexWriter) -> bool:
            known = [post_id for post_id in ids if self._holds(post_id)]
            for post_id in known:
                writer.delete_documents_by_term("id", post_id)
            return bool(known)

        self._write(remove_all)

    def search(self, text: str, k: int = 10) -> list[Hit]:
        reader = self._reader  # one throughout: document addresses differ between commits
        if k < 1 or not reader.posts:
            return []
        with self._reading():
            terms = self._best_terms(reader, text)
            if not terms:
                return []
            query = self._any_of(terms, reader)
            hits = reader.search(query, min(k + 1, reader.posts))
            if len(hits) > k and hits[k][0] == hits[k - 1][0]:
                hits = reader.search(query, min(k + TIES, reader.posts))
            return best_first(reader.hits(hits))[:k]

    def score(self, text: str, ids: Sequence[str]) -> np.ndarray:
        """BM25 of each of these posts; 0 where no word is shared."""
        reader = self._reader
        # Nested, not one union: tantivy then looks up these posts in the list of each term, where a
        # union would walk through all lists.
        query = self._among(ids)
        with self._reading():
            for term, count in self._best_terms(reader, text).items():
                query = Query.boolean_query(
                    [(Occur.Must, query), (Occur.Should, self._match(reader, term, count))]
                )
            return reader.scores(query, ids)

    def scores(self, pool: Pool) -> np.ndarray:
        """BM25 of each candidate of a pool by all words of its query; 0 where none is shared."""
        ids = [post.id for post in pool.candidates]
        terms = self._terms(pool.query.text)
        if not terms:
            return np.zeros(len(ids))
        both = [(Occur.Must, self._any_of(terms)), (Occur.Must, self._among(ids))]
        return self._reader.scores(Query.boolean_query(both), ids)

    def save(self) -> None:
        """Write the position; posts are on disk since they were added."""
        if not self._writable:
            raise position.read_only(self._folder)
        if self._folder is not None:
            position.write(self._folder, self._made_with | {"change": self.position})

    def reload(self) -> None:
        self._read_position()
        self._see_commits()

    def publish(self) -> IndexState:
        """The position; posts are on disk since they were added."""
        return {"change": self.position}

    def follow(self, state: IndexState) -> None:
        if self.position < state["change"]:
            self.reload()

    def close(self) -> None:
        """Let another process write; searching still works."""
        with self._writing:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.wait_merging_threads()

    def _opened(self) -> "tantivy.Index":
        """The index of the folder, or a new one."""
        folder = self._folder
        if folder is None:
            return tantivy.Index(self._schema)
        meta = folder / "meta.json"
        if meta.exists() or (folder / position.FILE).exists():
            self._read_position()
            if not meta.exists():
                raise position.damaged(folder, "has no meta.json")
        elif not self._writable:
            raise position.damaged(folder, "holds no posts yet")
        else:
            position.make_folder(folder)
        new = not meta.exists()
        try:
            index = tantivy.Index(self._schema, path=str(folder))
        except ValueError as error:
            reason = position.not_writable(folder, error)
            raise reason if new else position.damaged(folder, f"is broken ({error})") from None
        if new:
            self.save()
        return index

    def _read_position(self) -> None:
        if self._folder is not None:
            self.position = position.read(self._folder, self._made_with)["change"]

    def _write(self, change: Callable[["tantivy.IndexWriter"], bool]) -> None:
        """Commit a change or none of it; ``change`` returns False if there is nothing to do."""
        with self._writing:
            writer = self._take_writer()
            try:
                if not change(writer):
                    return
                self._commit(writer)
            except BaseException:
                self._writer = None  # drops what was not committed
                raise
            self._see_commits()

    def _take_writer(self) -> "tantivy.IndexWriter":
        """The one writer, kept open: opening it costs more than adding a post."""
        if not self._writable:
            raise position.read_only(self._folder)
        if self._folder is not None and not (self._folder / "meta.json").exists():
            raise position.damaged(self._folder, "is gone")
        if self._writer is None:
            try:
                # one thread: the order of posts and segments is the same on every run
                self._writer = self._index.writer(heap_size=HEAP, num_threads=1)
                # removes what a crash left of a commit, whose file names would be reused
                self._writer.garbage_collect_files()
            except ValueError as error:
                if "LockBusy" not in str(error):
                    raise self._failed(error) from None
                raise AskonceError(
                    f"index {str(self._folder)!r} is being written by another process; "
                    "stop that one, or open the index for reading"
                ) from None
            self._see_commits()  # of the process that wrote before us
        return self._writer

    def _commit(self, writer: "tantivy.IndexWriter") -> None:
        try:
            writer.commit()
        except ValueError as error:
            raise self._failed(error) from None

    def _failed(self, error: ValueError) -> AskonceError:
        """The error for what tantivy cannot write now, or can no longer read."""
        folder = self._folder or Path()
        if "corrupt" in str(error):
            return position.damaged(folder, "is broken")
        return position.not_writable(folder, error)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            reason = str(error).partition("\n")[0]
            raise position.damaged(self._folder or Path(), f"is broken ({reason})") from None

    def _see_commits(self) -> None:
        try:
            self._index.reload()
        except ValueError as error:
            raise position.damaged(self._folder or Path(), f"is broken ({error})") from None
        self._reader = CommitReader(self._index.searcher())

    def _holds(self, post_id: str) -> bool:
        with self._reading():
            return bool(self._reader.searcher.doc_freq("id", post_id))

    def _terms(self, text: str) -> Counter[str]:
        return Counter(self.terms(text)[:MAX_QUERY_WORDS])

    def _best_terms(self, reader: CommitReader, text: str) -> Mapping[str, int]:
        """The terms of a query with their counts; of many, those that add most to a score."""
        counts = self._terms(text)
        if len(counts) <= self._query_terms:
            return counts
        worth = {term: count * self._worth(reader, term) for term, count in counts.items()}
        best = sorted(counts, key=lambda term: (-worth[term], term))[: self._query_terms]
        return {term: counts[term] for term in best}

    def _worth(self, reader: CommitReader, term: str) -> float:
        """What a term adds to the score of a post, but for its frequency in the post: its idf."""
        posts = reader.frequency(term)
        if posts:
            return log(1 + (reader.posts - posts + 0.5) / (posts + 0.5))
        return TYPO_SCORE if self._forgives(term) else 0.0

    def _forgives(self, term: str) -> bool:
        return self._forgiving and len(term) >= SHORTEST_TYPO

    def _any_of(self, terms: Mapping[str, int], reader: CommitReader | None = None) -> "Query":
        """A query for any of these terms; with a reader, typos may be forgiven."""
        return Query.boolean_query(
            [(Occur.Should, self._match(reader, term, count)) for term, count in terms.items()]
        )

    def _match(self, reader: CommitReader | None, term: str, count: int) -> "Query":
        if reader is None or not self._forgives(term) or reader.frequency(term):
            return self._term(term, count)
        distance = 2 if len(term) >= LONG_WORD else 1
        similar = Query.fuzzy_term_query(self._schema, "text", term, distance)
        return Query.boost_query(similar, TYPO_SCORE)

    def _term(self, term: str, count: int) -> "Query":
        query = Query.term_query(self._schema, "text", term, index_option="freq")
        return Query.boost_query(query, float(count)) if count > 1 else query

    def _among(self, ids: Sequence[str]) -> "Query":
        """A query for these posts, each with score 0."""
        each = (Query.term_query(self._schema, "id", name, index_option="basic") for name in ids)
        return Query.const_score_query(
            Query.boolean_query([(Occur.Should, query) for query in each]), 0.0
        )


def _schema() -> "tantivy.Schema":
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    schema.add_text_field("text", tokenizer_name="stemmed", index_option="freq")
    return schema.build()
