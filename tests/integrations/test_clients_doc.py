"""The examples of docs/clients.md run."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "clients.md").read_text("utf-8")
CODES = dict(re.findall(r"^## (\S+)\n```python\n(.*?)```", TEXT, re.S | re.M))
PACKAGES = {
    "sentence-transformers": "sentence_transformers",
    "PyTerrier": "pyterrier",
    "Haystack": "haystack",
    "LangChain": "langchain_core",
}  # MTEB's downloads a task


def test_every_client_has_an_example():
    assert set(CODES) == {*PACKAGES, "MTEB"}


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # PyTerrier under pandas 3.1
@pytest.mark.parametrize("client", PACKAGES)
@pytest.mark.slow
def test_the_example_runs(client, encoder, pair_model, tmp_path, monkeypatch, capsys):
    pytest.importorskip(PACKAGES[client], reason="`make test-integrations` installs it")
    monkeypatch.chdir(tmp_path)
    encoder.save("runs/encoder")
    pair_model.save("runs/pair")
    exec(compile(CODES[client], client, "exec"), {})
    assert capsys.readouterr().out
