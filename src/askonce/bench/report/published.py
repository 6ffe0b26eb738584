"""The papers' own figures, by the names of our rows.

Where a paper has its figure on other data than ours, ``elsewhere`` names that data: it is shown in
brackets and compares nothing.
"""

from dataclasses import dataclass
from typing import NamedTuple

from askonce.types import ProtocolName


@dataclass(frozen=True)
class Published:
    value: float
    source: str  # paper and table
    elsewhere: str | None = None


CTRN = "Tay et al., AAAI 2018"
TAN = "Tan et al., ACL 2016"
RCNN = "Lei et al., NAACL 2016"
CABIN = "Wu et al., Neurocomputing 2020"
HYPERQA = "Tay et al., WSDM 2018"

_MAP_MRR = ("MAP", "MRR")
_P1_MAP = ("P@1", "MAP")


class _Block(NamedTuple):
    dataset: str
    protocol: ProtocolName | None  # None: any
    source: str
    metrics: tuple[str, ...]
    elsewhere: str | None
    rows: dict[str, tuple[float, ...]]


_TABLES = [
    _Block("trecqa", "trec", f"{CTRN}, table 6, TRAIN-ALL", _MAP_MRR, None, {
        "ctrn": (0.7712, 0.8384),
        "qrnn": (0.7609, 0.8227),
        "lstm-mlp": (0.7350, 0.8064),
    }),
    _Block("trecqa", "trec", f"{CTRN}, table 6, TRAIN", _MAP_MRR, None, {
        "ctrn@train.split=train": (0.7582, 0.8233),
        "qrnn@train.split=train": (0.7000, 0.7859),
        "lstm-mlp@train.split=train": (0.7007, 0.7777),
    }),
    _Block("trecqa", "trec", f"{CTRN}, table 7", _MAP_MRR, None, {"bm25": (0.6370, 0.7076)}),
    _Block("trecqa", "trec", f"{HYPERQA}, table 5", _MAP_MRR, None, {"hyperqa": (0.770, 0.825)}),
    _Block("trecqa", "trec", f"{CABIN}, table 3, trained on TRAIN", _MAP_MRR, None, {
        "cabin": (0.8375, 0.8845),
        "cabin@model.jump=false": (0.7925, 0.8563),
        "cabin@model.attention=false": (0.7843, 0.8450),
        "cross-encoder": (0.8263, 0.8827),  # BERT
        "random": (0.4920, 0.5731),
    }),
    _Block("trecqa", "clean", f"{HYPERQA}, table 6", _MAP_MRR, None, {
        "hyperqa": (0.784, 0.865),
        "ap-cnn": (0.753, 0.851),
    }),
    _Block("trecqa", "clean", f"{TAN}, table 4", _MAP_MRR, None, {
        "qa-cnn": (0.714, 0.807),
        "qa-lstm": (0.733, 0.819),
        "conv-pooling-lstm": (0.742, 0.819),
        "conv-based-lstm": (0.737, 0.827),
        "attentive-lstm": (0.753, 0.830),
    }),
    # CABIN's table gives compare-aggregate's figure of another paper, which is on clean questions
    _Block("trecqa", "clean", f"{CABIN}, table 3", _MAP_MRR, None, {
        "compare-aggregate": (0.8145, 0.8659),
    }),
    _Block("wikiqa", None, f"{HYPERQA}, table 2", _MAP_MRR, None, {
        "hyperqa": (0.712, 0.727),
        "qa-cnn": (0.670, 0.682),
        "qa-bilstm": (0.656, 0.670),
        "ap-cnn": (0.688, 0.696),
        "ap-bilstm": (0.671, 0.684),
    }),
    _Block("wikiqa", None, f"{CABIN}, table 3", _MAP_MRR, None, {
        "cabin": (0.7520, 0.7653),
        "cabin@model.jump=false": (0.7242, 0.7415),
        "cabin@model.attention=false": (0.7135, 0.7323),
        "cabin@pretrain=false@model.freeze_lm=false": (0.7150, 0.7320),
        "compare-aggregate": (0.7433, 0.7545),
        "qa-lstm": (0.6821, 0.7045),
        "cross-encoder": (0.7457, 0.7592),  # BERT
        "random": (0.4582, 0.4620),
    }),
    _Block("semeval-a", None, f"{CTRN}, table 5", _P1_MAP, None, {
        "ctrn": (0.788, 0.794),
        "qrnn": (0.758, 0.783),
        "ap-cnn": (0.755, 0.771),
    }),
    _Block("semeval-a", None, f"{HYPERQA}, table 4", _P1_MAP, None, {"hyperqa": (0.809, 0.795)}),
    _Block("insuranceqa", None, f"{TAN}, table 3, test 1", ("P@1",), "InsuranceQA V1", {
        "word-vectors": (0.321,),
        "qa-lstm@model.pooling=head_tail": (0.536,),
        "qa-lstm@model.pooling=mean": (0.557,),
        "qa-lstm": (0.666,),
        "conv-pooling-lstm": (0.675,),
        "conv-based-lstm": (0.676,),
        "qa-cnn": (0.622,),
        "attentive-cnn": (0.633,),
        "attentive-lstm@model.pooling=mean": (0.678,),
        "attentive-lstm": (0.690,),
    }),
]  # fmt: skip

_QUESTIONS: dict[str, tuple[float, ...]] = {  # test MAP, MRR, P@1, P@5 on AskUbuntu
    "bm25": (0.560, 0.680, 0.538, 0.425),
    "tfidf": (0.532, 0.671, 0.538, 0.397),
    "svm": (0.577, 0.713, 0.570, 0.433),
    "cnn": (0.576, 0.714, 0.576, 0.432),
    "cnn@model.pooling=max": (0.596, 0.731, 0.596, 0.454),
    "lstm@pretrain=false": (0.568, 0.701, 0.558, 0.432),
    "gru@pretrain=false": (0.571, 0.714, 0.573, 0.436),
    "rcnn@pretrain=false": (0.607, 0.729, 0.591, 0.450),
    "lstm": (0.555, 0.670, 0.511, 0.434),
    "lstm@model.pooling=last": (0.576, 0.698, 0.552, 0.437),
    "gru": (0.555, 0.673, 0.524, 0.428),  # our recipe has the mean of table 4
    "gru@model.pooling=last": (0.593, 0.713, 0.572, 0.443),
    "rcnn": (0.623, 0.756, 0.620, 0.471),
    "rcnn@model.pooling=mean": (0.589, 0.723, 0.573, 0.453),
}

_TITLES: dict[str, tuple[float, ...]] = {  # test MAP, MRR, P@1 on AskUbuntu
    "rcnn@pretrain=false@model.fields=title": (0.582, 0.707, 0.566),
    "rcnn@pretrain=false@model.pooling=mean": (0.585, 0.717, 0.567),
    "rcnn@pretrain=false@model.pooling=mean@model.fields=title": (0.560, 0.689, 0.557),
}


def published(dataset: str, protocol: str, model: str, metric: str) -> Published | None:
    """What the papers print for this row, if anything; its own paper's number comes first."""
    for block in (*_TABLES, *_question_tables(dataset)):
        fits = block.dataset == dataset and block.protocol in (None, protocol)
        if fits and model in block.rows and metric in block.metrics:
            value = block.rows[model][block.metrics.index(metric)]
            return Published(value, block.source, block.elsewhere)
    return None


def _question_tables(dataset: str) -> list[_Block]:
    """Question retrieval, of which the paper has AskUbuntu only."""
    elsewhere = None if dataset == "askubuntu" else "AskUbuntu"
    if dataset not in ("askubuntu", "travel", "semeval-b"):
        return []
    metrics = ("MAP", "MRR", "P@1", "P@5")
    return [
        _Block(dataset, None, f"{RCNN}, tables 2 and 4", metrics, elsewhere, _QUESTIONS),
        _Block(dataset, None, f"{RCNN}, table 5", metrics[:3], elsewhere, _TITLES),
    ]
