"""QA-LSTM and its two convolutional hybrids (Tan et al., ACL 2016).

Equation numbers are those of the paper. One network reads both questions and answers.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from askonce.errors import AskonceError
from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Encoder
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.layers.functional import cosine, direction_ends, gesd, masked_max, masked_mean
from askonce.models.layers.recurrent import BiLSTM
from askonce.models.layers.words import WordEmbedding
from askonce.text.batch import Batch, View

Similarity = Literal["cosine", "gesd"]

SIMILARITIES = {"cosine": cosine, "gesd": gesd}
POOLINGS = {"max": masked_max, "mean": masked_mean}


@dataclass(frozen=True)
class SiameseConfig:
    similarity: Similarity = "cosine"  # section 4.3: GESD gave no gain
    dropout: float = 0.3  # on the pooled vectors, section 3.1; the rate is not printed
    train_words: bool = True  # section 4.1: word vectors are parameters too


class SiameseEncoder(Encoder):
    """Pools the states of each text, and compares the pooled vectors.

    GESD mixes a distance with an inner product, so no inner product of keys has its order: a model
    with that similarity can score and re-rank, but not fill an index.
    """

    config: SiameseConfig

    def __init__(self, config: SiameseConfig, words: EmbeddingInit) -> None:
        super().__init__()
        self.config = config
        self.words = WordEmbedding(words.vectors, config.train_words)
        self.dropout = nn.Dropout(config.dropout)

    @abstractmethod
    def pool(self, view: View, vectors: Tensor) -> Tensor:
        """One vector (B, D) per text from its word vectors (B, T, E)."""

    def encode(self, batch: Batch) -> Tensor:
        view = batch.text
        return self.dropout(self.pool(view, self.words(view)))  # (B, D)

    def similarity(self, query: Tensor, candidate: Tensor) -> Tensor:
        return SIMILARITIES[self.config.similarity](query, candidate)  # (...,)

    def query_key(self, vectors: Tensor) -> Tensor:
        self._need_cosine()
        return super().query_key(vectors)  # (B, D)

    def candidate_key(self, vectors: Tensor) -> Tensor:
        self._need_cosine()
        return super().candidate_key(vectors)  # (B, D)

    def _need_cosine(self) -> None:
        if self.config.similarity != "cosine":
            raise AskonceError(
                f"similarity {self.config.similarity!r} is not ordered by an inner product, so its "
                "vectors cannot be indexed; train with similarity = 'cosine', or use it to re-rank"
            )


@MODELS.add("qa-lstm")
class QaLstm(SiameseEncoder):
    """A bidirectional LSTM, pooled over the words."""

    @dataclass(frozen=True)
    class Config(SiameseConfig):
        """Row D of table 3."""

        hidden: int = 141  # per direction, section 4.1
        pooling: Literal["max", "mean", "head_tail"] = "max"  # rows C and D, B, A

    config: Config

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.lstm = BiLSTM(self.words.dim, config.hidden)

    def pool(self, view: View, vectors: Tensor) -> Tensor:
        states = self.lstm(vectors, view.lengths)  # (B, T, 2H)
        if self.config.pooling == "head_tail":
            return direction_ends(states, view.lengths)  # (B, 2H)
        return POOLINGS[self.config.pooling](states, view.mask)  # (B, 2H)


@MODELS.add("qa-bilstm")
class QaBiLstm(QaLstm):
    """QA-LSTM, wider and over word vectors that stay as they are (Tay, Tuan, Hui, WSDM 2018)."""

    @dataclass(frozen=True)
    class Config(QaLstm.Config):
        """The sizes that give the 1.4M parameters of HyperQA's table 3."""

        hidden: int = 300  # per direction
        train_words: bool = False  # its section 4.3.3


@MODELS.add("conv-pooling-lstm")
class ConvPoolingLstm(SiameseEncoder):
    """A bidirectional LSTM, pooled by filters over windows of its states."""

    @dataclass(frozen=True)
    class Config(SiameseConfig):
        """Row G of table 3."""

        hidden: int = 141  # per direction, section 4.1
        filters: int = 400  # c; rows F and E have 200 and 4000
        width: int = 3  # k; not printed, that of QA-CNN

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.lstm = BiLSTM(self.words.dim, config.hidden)
        self.convolution = WindowConvolution(
            self.lstm.output_dim, config.filters, config.width, "wide", bias=False
        )

    def pool(self, view: View, vectors: Tensor) -> Tensor:
        states = self.lstm(vectors, view.lengths)  # (B, T, 2H)
        return self.convolution.max_pool(states, view.mask).tanh()  # (B, c)


@MODELS.add("conv-based-lstm")
class ConvBasedLstm(SiameseEncoder):
    """A bidirectional LSTM over filters of word windows, max-pooled."""

    @dataclass(frozen=True)
    class Config(SiameseConfig):
        """Row I of table 3."""

        filters: int = 282  # c, section 4.1
        width: int = 3  # k; not printed, that of QA-CNN
        hidden: int = 200  # per direction: the |h| = 400 of row I is both; row H has 200

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.convolution = WindowConvolution(
            self.words.dim, config.filters, config.width, "same", bias=False
        )
        self.lstm = BiLSTM(config.filters, config.hidden)

    def pool(self, view: View, vectors: Tensor) -> Tensor:
        filtered = self.convolution(vectors).tanh()  # (B, T, c), eq. 10
        return masked_max(self.lstm(filtered, view.lengths), view.mask)  # (B, 2H)
