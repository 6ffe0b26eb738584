"""A trained model with its vocabulary: rank, score pairs, encode, explain, save and load.

Argument names and return values follow sentence-transformers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from askonce.config import settings
from askonce.errors import NotAnEncoder
from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Encoder, Matcher, Side, States, seeded
from askonce.text.batch import Batch, TokenIds
from askonce.text.lexicon import Lexicon
from askonce.types import Pool, Post

Text = str | Post
COMPARED_VALUES = 10_000_000  # numbers in an (n, m, D) block of vectors compared at a time
CACHED_BYTES = 2_000_000_000  # of states while scoring many pools
READ_TOGETHER = 2_048  # candidates sorted by length and read in batches
MANY = 8  # documents of one query
CACHED_POSTS = 50_000  # whose token ids are known, about 40 MB


@dataclass(frozen=True)
class WordsExplained:
    """The words of one text with their weights; ``kind`` says what the weights measure."""

    kind: str
    side: Side
    words: list[str]
    weights: list[float]


@dataclass(frozen=True)
class Explanation:
    """Why a pair got its score: one entry for each kind of word weights of the model."""

    score: float
    words: list[WordsExplained]


class Ranker:
    """A model with its vocabulary and settings."""

    def __init__(
        self,
        name: str,
        model: Matcher,
        lexicon: Lexicon,
        card: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.model = model.eval()
        self.lexicon = lexicon
        self.card = dict(card or {})  # for the model card: data, figures, time
        self.model.prepare()
        self._token_ids: dict[str, tuple[Post, TokenIds]] = {}  # by post id

    @classmethod
    def create(
        cls,
        name: str,
        lexicon: Lexicon,
        vectors: np.ndarray,
        options: Mapping[str, Any] | None = None,
        seed: int = 1,
    ) -> "Ranker":
        """An untrained ranker: a registered model with seeded weights and these word vectors."""
        kind: Any = MODELS[name]  # a class made from its Config and EmbeddingInit
        config = settings(kind.Config, options or {}, "model.")
        with seeded(seed):
            model = kind(config, EmbeddingInit.of(lexicon.vocabulary, vectors))
        return cls(MODELS.resolve(name), model, lexicon)

    @classmethod
    def load(cls, folder: Path | str) -> "Ranker":
        """A ranker from its folder; nothing in the folder is executed."""
        from askonce.ranker_folder import read

        name, model, lexicon, card = read(Path(folder))
        return cls(name, model, lexicon, card)

    def save(self, folder: Path | str) -> None:
        """Write settings, vocabulary, weights and a model card into a folder."""
        from askonce.ranker_folder import write

        write(Path(folder), self.name, self.model, self.lexicon, self.card)

    from_pretrained = load
    save_pretrained = save

    def rank(
        self,
        query: Text,
        documents: Sequence[Text],
        top_k: int | None = None,
        return_documents: bool = False,
        batch_size: int = 128,
    ) -> list[dict[str, Any]]:
        """Documents by score: ``{"corpus_id", "score"}``, and ``"text"`` on request."""
        scores = self._scores(self._ids(query), [self._ids(d) for d in documents], batch_size)
        order = np.argsort(-scores, kind="stable")[:top_k]
        ranked: list[dict[str, Any]] = []
        for row in order.tolist():
            hit = {"corpus_id": row, "score": float(scores[row])}
            ranked.append(hit | {"text": _post(documents[row]).text} if return_documents else hit)
        return ranked

    def predict(
        self,
        inputs: Sequence[tuple[Text, Text]] | tuple[Text, Text],
        batch_size: int = 128,
        show_progress_bar: bool | None = None,
        activation_fn: Callable[[Tensor], Tensor] | None = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
    ) -> Any:  # noqa: ANN401 - a score, an array or a tensor, as the arguments say
        """Scores of (query, document) pairs; one score for a single pair."""
        if len(inputs) == 2 and isinstance(inputs[0], Text):
            one = cast(tuple[Text, Text], inputs)
            return self.predict([one], batch_size, activation_fn=activation_fn)[0]
        pairs = cast(Sequence[tuple[Text, Text]], inputs)
        texts = {text: self._ids(text) for text in {q for q, _ in pairs if isinstance(q, str)}}
        queries = [texts[q] if isinstance(q, str) else self._ids(q) for q, _ in pairs]
        documents = [self._ids(document) for _, document in pairs]
        scores = torch.empty(len(queries))
        with torch.inference_mode():
            rest = self._score_many(queries, documents, scores)
            lengths = [queries[i].length + documents[i].length for i in rest]
            for chosen in _shown(_by_length(lengths, batch_size), show_progress_bar):
                rows = [rest[i] for i in chosen]
                query, document = (
                    self.batch([side[i] for i in rows]) for side in (queries, documents)
                )
                scores[rows] = self.model(query, document).float().cpu()
        scores = scores if activation_fn is None else activation_fn(scores)
        if convert_to_tensor:
            return scores
        return scores.numpy() if convert_to_numpy else list(scores)

    def encode(
        self,
        inputs: Text | Sequence[Text],
        batch_size: int = 128,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        normalize_embeddings: bool = False,
        side: Side = "query",
    ) -> Any:  # noqa: ANN401 - an array or a tensor, as the arguments say
        """One vector per text; a single vector for a single text. Only encoders have vectors.

        ``side`` tells queries from candidates, for the few models that have a vector for each.
        """
        texts = [inputs] if isinstance(inputs, Text) else list(inputs)
        vectors = self._encode(self.lexicon.read(texts), batch_size, side, show_progress_bar)
        if normalize_embeddings:
            vectors = torch.nn.functional.normalize(vectors, dim=-1)
        vectors = vectors[0] if isinstance(inputs, Text) else vectors
        if convert_to_tensor:
            return vectors
        return vectors.cpu().numpy() if convert_to_numpy else list(vectors)

    encode_query = encode
    encode_document = partialmethod(encode, side="candidate")

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:  # noqa: ANN401 - arrays
        """Score of every vector in ``embeddings1`` with every one in ``embeddings2`` (n, m)."""
        one, other = torch.as_tensor(embeddings1), torch.as_tensor(embeddings2)
        rows = max(1, COMPARED_VALUES // max(1, other.numel()))
        with torch.inference_mode():
            blocks = torch.split(one, rows)
            return torch.cat([self.encoder.similarity(b[:, None], other) for b in blocks])  # (n, m)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:  # noqa: ANN401
        """Score of each vector in ``embeddings1`` with the same row of ``embeddings2`` (n,)."""
        with torch.inference_mode():
            return self.encoder.similarity(
                torch.as_tensor(embeddings1), torch.as_tensor(embeddings2)
            )

    @property
    def encoder(self) -> Encoder:
        """The model as an encoder; an error for a pair model."""
        if not isinstance(self.model, Encoder):
            raise NotAnEncoder(
                f"{self.name!r} compares both texts together, so it has no vectors; "
                "use rank or predict, or choose an encoder from `askonce models`"
            )
        return self.model

    def explain(self, question: Text, answer: Text) -> Explanation:
        """The words of both texts with the weights that the model gives them."""
        query, candidate = _post(question), _post(answer)
        batches = self._posts([query]), self._posts([candidate])
        with torch.inference_mode():
            score = float(self.model(*batches)[0])
            weights_of_words = self.model.inspect(*batches)
        explained = []
        for entry in weights_of_words:
            post = query if entry.side == "query" else candidate
            fields = {"title": [post.title], "body": [post.body], "text": [post.title, post.body]}
            words = [word for part in fields[entry.view] for word in self.lexicon.words(part)]
            weights = entry.values[0, : len(words)].tolist()
            explained.append(WordsExplained(entry.kind, entry.side, words, weights))
        return Explanation(score, explained)

    def score_pools(self, pools: Sequence[Pool], batch_size: int = 128) -> list[np.ndarray]:
        """Scores for the candidates of each pool; a candidate of several pools is read once."""
        if isinstance(self.model, Encoder):
            return self._score_by_vectors(self.model, pools, batch_size)
        scores = [np.empty(len(pool.candidates), dtype=np.float32) for pool in pools]
        posts = {post.id: post for pool in pools for post in pool.candidates}
        with torch.inference_mode():
            for known in self._read_in_parts(list(posts.values()), batch_size):
                for pool, pool_scores in zip(pools, scores, strict=True):
                    here = [i for i, post in enumerate(pool.candidates) if post.id in known]
                    if here:
                        query = self.model.read(self._posts([pool.query]), "query")
                        rows = [known[pool.candidates[i].id] for i in here]
                        pool_scores[here] = self._match_all(query, rows, batch_size)
                known.clear()  # frees memory for the next part
        return scores

    def _score_by_vectors(
        self, encoder: Encoder, pools: Sequence[Pool], batch_size: int
    ) -> list[np.ndarray]:
        """All texts are encoded first; then each pool is one comparison of vectors."""
        posts = list({post.id: post for pool in pools for post in pool.candidates}.values())
        row = {post.id: i for i, post in enumerate(posts)}
        texts = self.lexicon.read([pool.query for pool in pools])
        queries = self._encode(texts, batch_size, "query")  # (Q, D)
        vectors = self._encode(self.lexicon.read(posts), batch_size, "candidate")  # (n, D)
        scores = []
        with torch.inference_mode():
            for query, pool in zip(queries, pools, strict=True):
                candidates = vectors[[row[post.id] for post in pool.candidates]]  # (C, D)
                values = encoder.similarities(query[None], candidates)[0]  # (C,)
                scores.append(values.float().cpu().numpy())
        return scores

    def _score_many(
        self, queries: Sequence[TokenIds], documents: Sequence[TokenIds], scores: Tensor
    ) -> list[int]:
        """Fill in the scores of queries with many documents; the rows of all other pairs."""
        if not self.model.scores_many:
            return list(range(len(queries)))
        rows_of: dict[int, list[int]] = {}
        for row, query in enumerate(queries):
            rows_of.setdefault(id(query), []).append(row)
        rest: list[int] = []
        for rows in rows_of.values():
            query = queries[rows[0]]
            if len(rows) < MANY or query.states is not None:  # states: words in their context
                rest += rows
            else:
                scored = self.model.score_many(query, [documents[i] for i in rows])  # (C,)
                scores[rows] = scored.float().cpu()
        return rest

    def _read_in_parts(self, posts: Sequence[Post], batch_size: int) -> Iterator[dict[str, States]]:
        """States of candidates by id, as many at a time as fit in memory."""
        known: dict[str, States] = {}
        size = 0
        for start in range(0, len(posts), READ_TOGETHER):
            chunk = posts[start : start + READ_TOGETHER]
            token_ids = self.lexicon.read(chunk)
            for rows in _by_length([ids.length for ids in token_ids], batch_size):
                states = self.model.read(self.batch([token_ids[i] for i in rows]), "candidate")
                for n, i in enumerate(rows):
                    known[chunk[i].id] = state = states.row(n)
                    size += state.nbytes
            if size > CACHED_BYTES or start + READ_TOGETHER >= len(posts):
                yield known
                known, size = {}, 0

    def _scores(self, query: TokenIds, documents: list[TokenIds], batch_size: int) -> np.ndarray:
        scores = np.empty(len(documents), dtype=np.float32)
        with torch.inference_mode():
            query_state = self.model.read(self.batch([query]), "query")
            for rows in _by_length([len(d.text) for d in documents], batch_size):
                states = self.model.read(self.batch([documents[i] for i in rows]), "candidate")
                scores[rows] = self._match(query_state, states)
        return scores

    def _match_all(self, query: States, rows: list[States], batch_size: int) -> np.ndarray:
        scores = np.empty(len(rows), dtype=np.float32)
        for chosen in _by_length([int(row.view.lengths[0]) for row in rows], batch_size):
            scores[chosen] = self._match(query, States.join([rows[i] for i in chosen]))
        return scores

    def _match(self, query: States, candidates: States) -> np.ndarray:
        first = torch.zeros(len(candidates.view), dtype=torch.long, device=self.device)
        return self.model.match(query.select(first), candidates).float().cpu().numpy()

    def _encode(
        self, texts: list[TokenIds], batch_size: int, side: Side, show: bool | None = None
    ) -> Tensor:
        encoder = self.encoder
        batches = _shown(_by_length([text.length for text in texts], batch_size), show)
        encoded: list[Tensor] = []
        order: list[int] = []
        with torch.inference_mode():
            for rows in batches:
                encoded.append(encoder.encode_side(self.batch([texts[i] for i in rows]), side))
                order += rows
        if not encoded:
            return torch.empty(0, 0)
        vectors = torch.cat(encoded)
        index = torch.tensor(order, device=vectors.device)
        return torch.empty_like(vectors).index_copy_(0, index, vectors)  # (n, D)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def batch(self, texts: Sequence[TokenIds]) -> Batch:
        return Batch(texts, self.device)

    def _posts(self, posts: Sequence[Post]) -> Batch:
        return self.batch(self.lexicon.read(posts))

    def learn(self, post: Post) -> None:
        """Note the token ids of a post that will be scored, unless a teacher has to read it."""
        if type(self.lexicon) is Lexicon:
            self._ids(post)

    def _ids(self, text: Text) -> TokenIds:
        """The token ids of a text; those of a post are kept for the next query."""
        if not isinstance(text, Post):
            return self.lexicon.numbers(text)
        post, ids = self._token_ids.get(text.id, (None, None))
        if ids is None or post is not text:
            ids = self.lexicon.numbers(text)
            if ids.states is None:  # those of words in their context are large
                if len(self._token_ids) >= CACHED_POSTS:
                    self._token_ids.clear()
                self._token_ids[text.id] = (text, ids)
        return ids


def _post(text: Text) -> Post:
    return text if isinstance(text, Post) else Post(id="", title=text)


def _by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Batches of rows of similar length, to avoid padding; the longest first."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable").tolist()
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def _shown(batches: Iterator[list[int]], show: bool | None) -> Iterator[list[int]]:
    """The batches, with a progress bar on stderr if ``show``."""
    if not show:
        return batches
    from rich.console import Console
    from rich.progress import track

    return iter(track(list(batches), description="reading", console=Console(stderr=True)))
