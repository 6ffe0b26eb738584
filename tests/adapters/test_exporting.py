"""An exported adapter gives the vectors of the adapter, in a folder that needs no Askonce."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from askonce.errors import AskonceError, ConfigError
from askonce.ranker import Ranker
from askonce.teachers import load_teacher
from askonce.teachers.lexicon import TeacherLexicon

pytest.importorskip("sentence_transformers", reason="it comes with the extra 'minilm'")

from askonce.adapters.exporting import export_model

WORDS = ["a", "chain", "brake", "tyre", "saddle", "wheel", "pedal", "spoke", "cable", "gear"]
TEXTS = ["brake cable", "a chain", "wheel spoke tyre gear saddle", "pedal"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A BERT of one layer with random weights, in the form that sentence-transformers loads."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("teacher")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]))
    torch.manual_seed(1)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=4 + len(WORDS), intermediate_size=32, **size)
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    words = Transformer(str(folder / "bert"))
    model = SentenceTransformer(modules=[words, Pooling(16)], device="cpu")
    model.save(str(folder / "model"))
    return folder / "model"


def adapter(teacher, folder, **options):
    lexicon = TeacherLexicon(teacher=load_teacher(teacher))
    options = {"dim": 16, "hidden": 8, **options}
    ranker = Ranker.create("adapter", lexicon, np.zeros((2, 1), np.float32), options)
    torch.manual_seed(2)
    with torch.no_grad():
        for weight in ranker.model.bends.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    ranker.save(folder)
    return ranker


@pytest.mark.parametrize("sides", [1, 2])
def test_vectors_are_equal(teacher, tmp_path, sides):
    from sentence_transformers import SentenceTransformer

    ranker = adapter(teacher, tmp_path / "ranker", sides=sides)
    assert "adapter over model-" in export_model(tmp_path / "ranker", tmp_path / "out")
    plain = SentenceTransformer(str(teacher), device="cpu")
    vectors = torch.from_numpy(plain.encode(TEXTS, normalize_embeddings=True))
    exported = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    for bend, encode in (
        (ranker.model.bends[0], exported.encode_query),
        (ranker.model.bends[-1], exported.encode_document),
    ):
        with torch.inference_mode():
            expected = torch.nn.functional.normalize(bend(vectors), dim=-1)
        np.testing.assert_allclose(encode(TEXTS), expected, atol=1e-5)
    # the ranker's own vectors are rounded to half precision by the cache
    np.testing.assert_allclose(exported.encode_query(TEXTS), ranker.encode(TEXTS), atol=0.02)


def test_it_loads_where_askonce_is_not_installed(teacher, tmp_path):
    adapter(teacher, tmp_path / "ranker")
    export_model(tmp_path / "ranker", tmp_path / "out")
    kinds = {module["type"] for module in json.loads((tmp_path / "out/modules.json").read_text())}
    assert all(kind.startswith("sentence_transformers.") for kind in kinds)
    script = (
        "import sys; sys.modules['askonce'] = None\n"
        "from sentence_transformers import SentenceTransformer\n"
        "print(SentenceTransformer(sys.argv[1], device='cpu').encode('a brake').shape)"
    )
    run = [sys.executable, "-c", script, str(tmp_path / "out")]
    shown = subprocess.run(run, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "(16,)"


def test_what_cannot_be_exported(teacher, tmp_path):
    adapter(teacher, tmp_path / "ball", space="hyperbolic")
    with pytest.raises(AskonceError, match="hyperbolic distance"):
        export_model(tmp_path / "ball", tmp_path / "out")
    with pytest.raises(ConfigError, match="exists"):
        export_model(tmp_path / "ball", tmp_path / "ball")
    with pytest.raises(AskonceError, match="no encoder serves"):
        export_model(tmp_path, tmp_path / "out")
