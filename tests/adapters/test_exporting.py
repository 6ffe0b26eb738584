"""An exported adapter gives the vectors of the adapter, in a folder that needs no Askonce."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from askonce.errors import AskonceError, ConfigError
from askonce.ranker import Ranker
from askonce.teachers import load_teacher
from askonce.teachers.lexicon import TeacherLexicon
from askonce.text.lexicon import Lexicon
from askonce.text.tokenise import tokenise
from askonce.types import Post

pytestmark = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="it comes with the extra 'minilm'"
)
WORDS = ["a", "chain", "brake", "tyre", "saddle", "wheel", "pedal", "spoke", "cable", "gear"]
TEXTS = ["brake cable", "a chain", "wheel spoke tyre gear saddle", "pedal"]


# imported when called, or every worker would import sentence-transformers to collect the tests
def export_model(*arguments, **options):
    from askonce.adapters import exporting

    return exporting.export_model(*arguments, **options)


def word_tokenizer(lexicon):
    from askonce.adapters import static

    return static.word_tokenizer(lexicon)


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
    kinds = {module["type"] for module in json.loads((tmp_path / "out/modules.json").read_text())}
    assert all(kind.startswith("sentence_transformers.") for kind in kinds)
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


@pytest.mark.slow
def test_it_loads_where_askonce_is_not_installed(teacher, tmp_path):
    adapter(teacher, tmp_path / "ranker")
    export_model(tmp_path / "ranker", tmp_path / "out")
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


STUDENT_TEXTS = [
    *TEXTS,
    "Don't the BRAKE-cable squeal? See http://x.org/a?b=c.The chain does",
    "日本語 naïve café c++11 --dry-run ~/.ssh/config 1,000 foo_bar 🇩🇪",
    "nothing known",
]


def student(folder, **options):
    """A bag over the words of the texts, with random vectors, weights and maps."""
    lexicon = Lexicon.build([Post("p", text) for text in STUDENT_TEXTS[:-1]], max_words=8)
    vectors = np.random.default_rng(3).normal(size=(len(lexicon.vocabulary), 6))
    ranker = Ranker.create("bag", lexicon, vectors.astype(np.float32), options)
    with torch.no_grad():
        for weight in ranker.model.maps.parameters():
            weight.add_(torch.randn(weight.shape))
    ranker.save(folder)
    return Ranker.load(folder)


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("sides", [1, 2])
def test_a_student_has_equal_vectors(tmp_path, sides, hidden):
    from sentence_transformers import SentenceTransformer

    ranker = student(tmp_path / "ranker", sides=sides, hidden=hidden)
    assert export_model(tmp_path / "ranker", tmp_path / "out").startswith("student of ")
    exported = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    for ours, theirs in (
        (ranker.encode_query, exported.encode_query),
        (ranker.encode_document, exported.encode_document),
    ):
        vectors = ours(STUDENT_TEXTS)
        np.testing.assert_allclose(theirs(STUDENT_TEXTS), vectors, atol=1e-6)
        # of a text without known words, a residual layer returns what its bias gives
        assert np.linalg.norm(vectors, axis=1).round(5).tolist() == [1] * 6 + [bool(hidden)]


LETTERS = st.characters(max_codepoint=0x24F, exclude_categories=["Cc"])
LETTERS |= st.sampled_from("日本のカ’😀“”…– \n.-'&@/_,#+~:0")


@given(st.text(LETTERS, max_size=60))
def test_the_exported_tokenizer_finds_the_same_words(text):
    lexicon = Lexicon.build([Post("p", text)])
    tokens = word_tokenizer(lexicon).encode(text, add_special_tokens=False).tokens
    assert tokens == tokenise(text)


RUN_ONNX = """
import json, sys
import numpy as np, onnxruntime
from tokenizers import Tokenizer
folder, file, *texts = sys.argv[1:]
config = json.load(open(f"{folder}/onnx.json"))
tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
tokenizer.enable_truncation(config["max_length"])
tokenizer.enable_padding(pad_id=config["pad_id"])
encoded = tokenizer.encode_batch(texts)
inputs = {
    "input_ids": np.array([one.ids for one in encoded]),
    "attention_mask": np.array([one.attention_mask for one in encoded]),
}
vectors = onnxruntime.InferenceSession(f"{folder}/{file}").run([config["output"]], inputs)[0]
assert not any(name.split(".")[0] in ("askonce", "torch") for name in sys.modules)
print(json.dumps(vectors.tolist()))
"""


@pytest.mark.parametrize("kind", ["adapter", "student"])
@pytest.mark.parametrize("files", [["model.onnx"], ["query.onnx", "document.onnx"]])
def test_onnx_gives_equal_vectors_without_torch(teacher, tmp_path, files, kind):
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason="it comes with the extra 'onnx'")
    from askonce.adapters.onnx import export_onnx

    make = partial(adapter, teacher) if kind == "adapter" else partial(student, hidden=5)
    texts = TEXTS if kind == "adapter" else STUDENT_TEXTS
    ranker = make(tmp_path / "ranker", sides=len(files))
    assert export_onnx(tmp_path / "ranker", tmp_path / "out").startswith(kind)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *files,
        "tokenizer.json",
        "onnx.json",
    }
    encode = {"query.onnx": ranker.encode_query, "document.onnx": ranker.encode_document}
    for file in files:
        command = [sys.executable, "-c", RUN_ONNX, str(tmp_path / "out"), file, *texts]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        expected = encode.get(file, ranker.encode)(texts)
        # askonce keeps the teacher's vectors in half precision
        np.testing.assert_allclose(json.loads(ran.stdout), expected, atol=4e-3)
