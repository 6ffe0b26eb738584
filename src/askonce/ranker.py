"""A trained model ready for use: rank answers, score pairs, encode texts, say why; save and load.

The methods have the argument names and return values that sentence-transformers made usual.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from askonce.config import settings
from askonce.errors import NotAnEncoder
from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Encoder, Matcher, Side, States
from askonce.text.batch import Batch, TokenIds
from askonce.text.lexicon import Lexicon
from askonce.types import Pool, Post

Text = str | Post
COMPARED_VALUES = 10_000_000  # of two tables of vectors that are compared at a time
KEPT_BYTES = 2_000_000_000  # of states that scoring many pools may keep in memory
READ_TOGETHER = 2_048  # candidates that are sorted by length and read in batches


@dataclass(frozen=True)
class WordsExplained:
    """The words of one text and how much each counts, in the sense that ``kind`` names."""

    kind: str
    side: Side
    words: list[str]
    weights: list[float]


@dataclass(frozen=True)
class Explanation:
    """Why a pair got its score: one entry for each thing that the model weighs words by."""

    score: float
    words: list[WordsExplained]


class Ranker:
    """A model with its vocabulary and settings.

    ``threads`` limits the processor cores that torch uses, for the whole process.
    """

    def __init__(
        self,
        name: str,
        model: Matcher,
        lexicon: Lexicon,
        card: Mapping[str, Any] | None = None,
        threads: int | None = None,
    ) -> None:
        self.name = name
        self.model = model.eval()
        self.lexicon = lexicon
        self.card = dict(card or {})  # what the model card tells: data, figures, time
        if threads is not None:
            torch.set_num_threads(threads)
        self.model.prepare()

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
        kind: Any = MODELS[name]  # every model is made of its Config and Words
        config = settings(kind.Config, options or {}, "model.")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = kind(config, EmbeddingInit.of(lexicon.vocabulary, vectors))
        return cls(MODELS.resolve(name), model, lexicon)

    @classmethod
    def load(cls, folder: Path | str, threads: int | None = None) -> "Ranker":
        """A ranker from its folder; nothing in the folder is executed."""
        from askonce.ranker_folder import read

        name, model, lexicon, card = read(Path(folder))
        return cls(name, model, lexicon, card, threads)

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
        """Sort documents by score: ``{"corpus_id", "score"}``, and ``"text"`` when asked for."""
        scores = self._scores(
            self._query(query), [self._document(d) for d in documents], batch_size
        )
        order = np.argsort(-scores, kind="stable")[:top_k]
        ranked: list[dict[str, Any]] = []
        for place in order.tolist():
            hit = {"corpus_id": place, "score": float(scores[place])}
            ranked.append(hit | {"text": _post(documents[place]).text} if return_documents else hit)
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
        """Scores of (query, document) pairs; of one pair alone, one score."""
        if len(inputs) == 2 and isinstance(inputs[0], Text):
            one = cast(tuple[Text, Text], inputs)
            return self.predict([one], batch_size, activation_fn=activation_fn)[0]
        pairs = cast(Sequence[tuple[Text, Text]], inputs)
        texts = {query: self._query(query) for query, _ in pairs if isinstance(query, str)}
        queries = [texts[q] if isinstance(q, str) else self._query(q) for q, _ in pairs]
        documents = [self._document(document) for _, document in pairs]
        lengths = [len(q.text) + len(d.text) for q, d in zip(queries, documents, strict=True)]
        scores = torch.empty(len(queries))
        with torch.inference_mode():
            for rows in _shown(_by_length(lengths, batch_size), show_progress_bar):
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
    ) -> Any:  # noqa: ANN401 - an array or a tensor, as the arguments say
        """One vector per text; for one text alone, one vector. Only encoders have vectors."""
        if isinstance(inputs, Text):
            inputs = [inputs]
            squeeze = True
        else:
            squeeze = False
        vectors = self._encode(
            [self._query(t) for t in inputs], batch_size, bool(show_progress_bar)
        )
        if normalize_embeddings:
            vectors = torch.nn.functional.normalize(vectors, dim=-1)
        vectors = vectors[0] if squeeze else vectors
        if convert_to_tensor:
            return vectors
        return vectors.cpu().numpy() if convert_to_numpy else list(vectors)

    encode_query = encode
    encode_document = encode

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:  # noqa: ANN401 - arrays
        """Score of every vector of the first with every one of the second (n, m)."""
        one, other = torch.as_tensor(embeddings1), torch.as_tensor(embeddings2)
        rows = max(1, COMPARED_VALUES // max(1, other.numel()))  # all at once would be (n, m, D)
        with torch.inference_mode():
            parts = [
                self.encoder.similarity(some[:, None], other) for some in torch.split(one, rows)
            ]
        return torch.cat(parts)  # (n, m)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:  # noqa: ANN401
        """Score of each vector of the first with the one in the same place of the second (n,)."""
        with torch.inference_mode():
            return self.encoder.similarity(
                torch.as_tensor(embeddings1), torch.as_tensor(embeddings2)
            )

    @property
    def encoder(self) -> Encoder:
        """The model as an encoder; an error for one that compares both texts together."""
        if not isinstance(self.model, Encoder):
            raise NotAnEncoder(
                f"{self.name!r} compares both texts together, so it has no vectors; "
                "use rank or predict, or choose an encoder of `askonce models`"
            )
        return self.model

    def explain(self, question: Text, answer: Text) -> Explanation:
        """The words that the model weighs in both texts, with their weights."""
        query, candidate = _post(question), _post(answer)
        batches = self._posts([query]), self._posts([candidate])
        with torch.inference_mode():
            score = float(self.model(*batches)[0])
            weighed = self.model.inspect(*batches)
        explained = []
        for entry in weighed:
            post = query if entry.side == "query" else candidate
            fields = {"title": [post.title], "body": [post.body], "text": [post.title, post.body]}
            words = [word for part in fields[entry.view] for word in self.lexicon.words(part)]
            weights = entry.values[0, : len(words)].tolist()
            explained.append(WordsExplained(entry.kind, entry.side, words, weights))
        return Explanation(score, explained)

    def score_pools(self, pools: Sequence[Pool], batch_size: int = 128) -> list[np.ndarray]:
        """Scores for the candidates of each pool; a candidate of several pools is read once."""
        scores = [np.empty(len(pool.candidates), dtype=np.float32) for pool in pools]
        posts = {post.id: post for pool in pools for post in pool.candidates}
        with torch.inference_mode():
            for known in self._read_in_parts(list(posts.values()), batch_size):
                for pool, found in zip(pools, scores, strict=True):
                    here = [i for i, post in enumerate(pool.candidates) if post.id in known]
                    if here:
                        query = self.model.read(self._posts([pool.query]), "query")
                        rows = [known[pool.candidates[i].id] for i in here]
                        found[here] = self._match_all(query, rows, batch_size)
                known.clear()  # its memory is for the next part
        return scores

    def _read_in_parts(self, posts: Sequence[Post], batch_size: int) -> Iterator[dict[str, States]]:
        """What was read of candidates, by id, as many at a time as memory may hold."""
        known: dict[str, States] = {}
        size = 0
        for start in range(0, len(posts), READ_TOGETHER):
            some = posts[start : start + READ_TOGETHER]
            numbers = [self.lexicon.numbers(post) for post in some]
            for rows in _by_length([len(n.text) for n in numbers], batch_size):
                states = self.model.read(self.batch([numbers[i] for i in rows]), "candidate")
                for place, i in enumerate(rows):
                    known[some[i].id] = row = states.row(place)
                    size += row.nbytes
            if size > KEPT_BYTES or start + READ_TOGETHER >= len(posts):
                yield known
                known, size = {}, 0

    def _scores(self, query: TokenIds, documents: list[TokenIds], batch_size: int) -> np.ndarray:
        scores = np.empty(len(documents), dtype=np.float32)
        with torch.inference_mode():
            asked = self.model.read(self.batch([query]), "query")
            for rows in _by_length([len(d.text) for d in documents], batch_size):
                found = self.model.read(self.batch([documents[i] for i in rows]), "candidate")
                scores[rows] = self._match(asked, found)
        return scores

    def _match_all(self, query: States, rows: list[States], batch_size: int) -> np.ndarray:
        scores = np.empty(len(rows), dtype=np.float32)
        for chosen in _by_length([int(row.view.lengths[0]) for row in rows], batch_size):
            scores[chosen] = self._match(query, States.join([rows[i] for i in chosen]))
        return scores

    def _match(self, query: States, candidates: States) -> np.ndarray:
        same = torch.zeros(len(candidates.view), dtype=torch.long, device=self.device)
        return self.model.match(query.select(same), candidates).float().cpu().numpy()

    def _encode(self, texts: list[TokenIds], batch_size: int, show: bool) -> Tensor:
        encoder = self.encoder
        batches = _shown(_by_length([len(t.title) + len(t.body) for t in texts], batch_size), show)
        found: list[Tensor] = []
        order: list[int] = []
        with torch.inference_mode():
            for rows in batches:
                found.append(encoder.encode(self.batch([texts[i] for i in rows])))
                order += rows
        if not found:
            return torch.empty(0, 0)
        vectors = torch.cat(found)
        places = torch.tensor(order, device=vectors.device)
        return torch.empty_like(vectors).index_copy_(0, places, vectors)  # (n, D)

    @property
    def device(self) -> torch.device:
        """Where the model is; training on a GPU moves it there."""
        return next(self.model.parameters()).device

    def batch(self, texts: Sequence[TokenIds]) -> Batch:
        """Texts as one batch, where the model is."""
        return Batch(texts, self.device)

    def _posts(self, posts: Sequence[Post]) -> Batch:
        return self.batch([self.lexicon.numbers(post) for post in posts])

    def _query(self, text: Text) -> TokenIds:
        return self.lexicon.numbers(text) if isinstance(text, Post) else self.lexicon.line(text)

    _document = _query


def _post(text: Text) -> Post:
    return text if isinstance(text, Post) else Post(id="", title=text)


def _by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Places of texts of like length together, so that little is padded; the longest first."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable").tolist()
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def _shown(batches: Iterator[list[int]], show: bool | None) -> Iterator[list[int]]:
    """The batches, with a bar on stderr when it is asked for."""
    if not show:
        return batches
    from rich.console import Console
    from rich.progress import track

    return iter(track(list(batches), description="reading", console=Console(stderr=True)))
