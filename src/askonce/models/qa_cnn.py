"""QA-CNN and its attention: a convolution in place of QA-LSTM's LSTM (Tan et al., ACL 2016)."""

from dataclasses import dataclass

from torch import Tensor

from askonce.models import MODELS
from askonce.models.attentive_lstm import AttentiveConfig, AttentiveMatcher
from askonce.models.base import EmbeddingInit
from askonce.models.layers.convolution import WindowConvolution
from askonce.models.qa_lstm import SiameseConfig, SiameseEncoder
from askonce.text.batch import View


@dataclass(frozen=True)
class _Filters:
    filters: int = 400  # c, section 4.3
    width: int = 3  # k, section 4.3


def _filters(word_dim: int, config: _Filters) -> WindowConvolution:
    # one window per word, as the LSTM has one state; the bias is Feng's
    return WindowConvolution(word_dim, config.filters, config.width, "same", bias=True)


@MODELS.add("qa-cnn")
class QaCnn(SiameseEncoder):
    """Filters over word windows, max-pooled."""

    @dataclass(frozen=True)
    class Config(_Filters, SiameseConfig):
        """Row J of table 3."""

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words)
        self.convolution = _filters(self.words.dim, config)

    def pool(self, view: View, vectors: Tensor) -> Tensor:
        return self.convolution.max_pool(vectors, view.mask).tanh()  # (B, c)


@MODELS.add("attentive-cnn")
class AttentiveCnn(AttentiveMatcher):
    """QA-CNN with attention over the answer's words, given the question."""

    @dataclass(frozen=True)
    class Config(_Filters, AttentiveConfig):
        """Row K of table 3."""

    def __init__(self, config: Config, words: EmbeddingInit) -> None:
        super().__init__(config, words, config.filters)
        self.convolution = _filters(self.input_dim, config)

    def word_states(self, view: View, vectors: Tensor) -> Tensor:
        return self.convolution(vectors).tanh()  # (B, T, c)
