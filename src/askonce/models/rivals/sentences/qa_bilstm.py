"""QA-BiLSTM, the rival in HyperQA's tables (Tay, Tuan, Hui, WSDM 2018)."""

from dataclasses import dataclass

from askonce.models import MODELS
from askonce.models.qa_lstm import QaLstm


@MODELS.add("qa-bilstm")
class QaBiLstm(QaLstm):
    """QA-LSTM, wider and over word vectors that stay as they are."""

    @dataclass(frozen=True)
    class Config(QaLstm.Config):
        """The sizes that give the 1.4M parameters of HyperQA's table 3."""

        hidden: int = 300  # per direction
        train_words: bool = False  # its section 4.3.3
