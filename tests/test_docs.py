"""The docs say what the program does: examples run, generated pages are fresh."""

import ast
import json
import re
from pathlib import Path

import pytest

from askonce.bench.report.table import marks, short_table
from askonce.cli.reference import pages

ROOT = Path(__file__).parents[1]


def metric_table(rows, metric="MAP"):
    """One metric of stored records in Markdown: a row per model, a column per split."""
    columns = list(dict.fromkeys((row["dataset"], row["split"]) for row in rows))
    models = list(dict.fromkeys(row["model"] for row in rows))
    values = {(r["model"], r["dataset"], r["split"]): r["metrics"][metric]["mean"] for r in rows}
    lines = ["| model | " + " | ".join(f"{name} {split}" for name, split in columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for model in models:
        cells = (values.get((model, *column)) for column in columns)
        shown = " | ".join("–" if value is None else f"{value:.3f}" for value in cells)
        lines.append(f"| {model} | {shown} |")
    return "\n".join(lines)


@pytest.mark.parametrize("name", sorted(pages()))
def test_generated_pages_are_fresh(name):
    actual = (ROOT / "docs" / "reference" / name).read_text("utf-8")
    assert actual == pages()[name], "run `make docs`"


def test_the_example_of_the_readme_prints_what_it_shows(capsys):
    text = (ROOT / "README.md").read_text("utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n```text\n(.*?)```", text, re.S).groups()
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == shown.strip()


def test_the_table_of_the_readme_is_that_of_the_stored_results():
    rows = json.loads((ROOT / "docs" / "results" / "baselines.json").read_text("utf-8"))
    assert metric_table(rows) in (ROOT / "README.md").read_text("utf-8")


def test_the_results_of_the_readme_are_those_of_the_stored_summary():
    entries = json.loads((ROOT / "docs" / "results" / "summary.json").read_text("utf-8"))
    text = (ROOT / "README.md").read_text("utf-8")
    begin, end = marks("results")
    assert f"{begin}\n{short_table(entries)}\n{end}" in text


def test_the_speeds_of_the_readme_are_those_of_the_stored_results():
    ratios = json.loads((ROOT / "docs" / "results" / "speed.json").read_text("utf-8"))["ratios"]
    text = (ROOT / "README.md").read_text("utf-8")
    for a, b in (
        ("ctrn_at_once_vs_lstm", "ctrn_at_once_vs_ap_bilstm"),
        ("hyperqa_vs_ap_bilstm", "hyperqa_vs_ap_cnn"),
    ):
        assert f"| {ratios[a]:.1f} / {ratios[b]:.1f} |" in text
    assert f"| {ratios['hyperqa_vs_mp_cnn']:.0f} |" in text
    names = ("hyperqa", "qa_cnn", "qa_lstm", "rcnn")
    shown = " / ".join(f"{ratios[f'{name}_encode_vs_minilm']:.0f}" for name in names)
    assert f"| {shown} |" in text


def test_the_memory_of_several_archives_is_that_of_the_stored_results():
    results = json.loads((ROOT / "docs" / "results" / "several.json").read_text("utf-8"))
    text = (ROOT / "docs" / "operating.md").read_text("utf-8")
    for measured in results.values():
        cells = [f"{values['rss_mb']:.0f} ({values['own_mb']:.0f})" for values in measured.values()]
        assert f"| {' | '.join(cells)} |" in text


def test_the_pictures_of_the_docs_are_those_of_the_page_tests():
    sources = "".join(path.read_text("utf-8") for path in ROOT.glob("tests/page/test_*.py"))
    (made,) = re.findall(
        r"^PICTURES = (\{.*?\})", (ROOT / "tests/page/conftest.py").read_text(), re.M
    )
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {n for t in texts for n in re.findall(r"pictures/([\w-]+)\.png", t.read_text("utf-8"))}
    assert shown == set(ast.literal_eval(made))
    for name in shown:
        assert f'"{name}"' in sources, f"no page test takes the picture {name}"
    assert shown == {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}


def test_the_files_that_the_architecture_names_exist():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = re.findall(r"`([\w/.]+(?:/|\.py))`", text)
    walks = [
        path
        for block in re.findall(r"```text\n(.*?)```", text, re.S)
        for path in re.findall(r"^ *([\w/.]+)", block, re.M)
    ]
    assert len(walks) > 25
    for path in {*rooms, *walks} - {"src/askonce/", "tests/test_import_flow.py"}:
        assert (ROOT / "src" / "askonce" / path).exists(), path
    present = {p.name for p in (ROOT / "src" / "askonce").iterdir() if (p / "__init__.py").exists()}
    assert present == {path.split("/")[0] for path in rooms if "/" in path} - {"src", "tests"}
