"""A real sentence encoder of a few weights."""

import pytest
import torch

DIM = 16


@pytest.fixture(scope="package")
def bert(tmp_path_factory) -> str:
    """A sentence encoder of a few weights; a word such as w12 is the pieces w, ##1 and ##2."""
    transformers = pytest.importorskip("transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    folder = tmp_path_factory.mktemp("bert")
    digits = [f"##{n}" for n in range(10)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "w", "the", *digits]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=DIM,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=DIM,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    transformers.BertModel(config).save_pretrained(folder)
    transformer = Transformer(str(folder), max_seq_length=24)
    pooling = Pooling(DIM)
    out = tmp_path_factory.mktemp("encoder")
    SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(out))
    return str(out)
