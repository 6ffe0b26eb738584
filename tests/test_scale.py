"""The plan of docs/scale.md is what the figures say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "results" / "scale.json"

TIMES = {"p50": 80.0, "p95": 90.4}
SHOWN = {
    **{"import_posts_per_s": 1234.5, "lexical_index_s": 1.4, "vector_index_s": 60.0},
    **{"disk_mb": 3000.0, "rss_own_mb": 99.0},
    **{"suggest_ms": TIMES, "ask_ms": TIMES, "ask_both_ms": TIMES},
}
# round figures, of which every cell can be worked out by hand
SMALL = SHOWN | {"all_posts": 10_000, "rss_mb": 400.0, "per_million": {}}
LARGE = SHOWN | {
    "all_posts": 1_000_000,
    "rss_mb": 2380.0,
    "key_bytes": 800.0,
    "per_million": {
        **{"import_s": 100.0, "encoding_core_hours": 0.5},
        **{"archive_gb": 2.0, "words_gb": 0.4, "graphs_gb": 0.6},
    },
}


def plan(figures: Path, questions: str) -> str:
    command = [sys.executable, ROOT / "benchmarks" / "scale.py", "--plan", questions]
    command += ["--json", figures]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_plan_follows_from_the_figures(tmp_path):
    figures = {"machine": {"cores": 2}, "sizes": {"1000000": LARGE, "10000": SMALL}}
    (tmp_path / "scale.json").write_text(json.dumps(figures))
    text, rows = plan(tmp_path / "scale.json", "100e6").split("|---|---|---|---|---|\n")
    assert "| posts | 10,000 | 1,000,000 |" in text
    assert "| imported in a second | 1,234 | 1,234 |" in text
    assert "| memory of a server, MB (of it not mapped files) | 400 (99) | 2,380 (99) |" in text
    assert "| suggestions, ms at p50 and p95 | 80 and 90 | 80 and 90 |" in text
    assert "100 million questions and 50 million answers, by the cost at 1,000,000 posts" in text
    assert "in 4.2 hours" in text  # 150 · 100 s
    assert rows.splitlines() == [
        "| one machine for all, embedded | 570 GB | 300 GB |  |  |",  # 0.4 + 2 · 150
        "| archive on PostgreSQL | 300 GB |  |  | 1 |",
        "| words on Milvus | 60 GB | 60 GB |  | 2 |",
        "| vectors on Milvus, HNSW | 210 GB | 210 GB |  | 5 |",  # 120 + 90; / (0.7 · 64)
        "| or vectors on Milvus, IVF_SQ8 | 120 GB | 30 GB |  | 1 |",
        "| encoding with Ray | 120 GB |  | 75 h | 1 (4 cores) |",  # 75 / 24, rounded up
        "| servers, 100 asks/s |  | 0.40 GB each |  | 1 (16 cores) |",
    ]


def test_the_table_of_the_docs_is_that_of_the_stored_figures():
    if not FIGURES.exists():
        pytest.skip("no figures yet; benchmarks/scale.py makes them")
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    shown = text.partition("<!-- plan: begin -->\n")[2].partition("<!-- plan: end -->")[0]
    assert shown == plan(FIGURES, "100e6")
