"""What very many questions need, from figures of sizes that were measured. See docs/scale.md."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

POSTS_PER_QUESTION = 1.5  # of the measured forums
CORES, MEMORY_GB, DISK_GB = 16, 64, 2000  # of one machine of the plan
USED = 0.7  # of a machine's memory and disk that may be planned with
BUSY = 0.5  # of a core's time that may be planned with, so that queues stay short
HOURS = 24  # in which everything is to be encoded
ASKS = 100  # full asks in a second

GB = 1e9


def per_million(size: Mapping[str, Any]) -> dict[str, float]:
    """Cost of a million posts at one size: seconds, core hours, gigabytes on the disk."""
    millions = size["all_posts"] / 1e6
    disk = {
        f"{part}_gb": bytes_ / GB / millions
        for part, bytes_ in size["disk"].items()
        if part != "models"  # which do not grow with the archive
    }
    costs = {
        "import_s": 1e6 / size["import_posts_per_s"],
        "words_s": size["lexical_index_s"] / millions,
        "vectors_s": size["vector_index_s"] / millions,
        "encoding_core_hours": 1e6 / size["encoded_per_core_s"] / 3600,
        **disk,
    }
    return {name: round(value, 4) for name, value in costs.items()}


def plan(known: Mapping[str, Any], questions: int) -> str:
    """A Markdown table: what each part needs for this many questions and their answers."""
    sizes = sorted(known["sizes"].values(), key=lambda size: size["all_posts"])
    if len(sizes) < 2:
        raise SystemExit("a plan needs two sizes; measure them with --posts first")
    posts, measured = POSTS_PER_QUESTION * questions, sizes[-1]["all_posts"]
    hours = sizes[-1]["per_million"]["import_s"] * posts / 1e6 / 3600
    lines = [
        f"For {questions / 1e6:,.0f} million questions and {(posts - questions) / 1e6:,.0f} "
        f"million answers, by the cost at {measured:,} posts on {known['machine']['cores']} cores.",
        f"Machines have {CORES} cores, {MEMORY_GB} GB of memory and {DISK_GB / 1e3:g} TB of disk. "
        f"One process imports all posts in {hours:,.1f} hours.",
        "",
        "| part | disk | memory | core time | machines |",
        "|---|---|---|---|---|",
    ]
    needs = [*lines, *(f"| {' | '.join(row)} |" for row in _rows(sizes, posts))]
    return "\n".join([*_measured(sizes), "", *needs])


def _measured(sizes: Sequence[Mapping[str, Any]]) -> list[str]:
    """A Markdown table of the sizes themselves."""
    shown: list[tuple[str, Callable[[Mapping[str, Any]], float | str]]] = [
        ("imported in a second", lambda f: f["import_posts_per_s"]),
        ("seconds to index words", lambda f: f["lexical_index_s"]),
        ("seconds to encode and index vectors", lambda f: f["vector_index_s"]),
        ("disk, MB", lambda f: f["disk_mb"]),
        (
            "memory of a server, MB (of it not mapped files)",
            lambda f: f"{f['rss_mb']:,.0f} ({f['rss_own_mb']:,.0f})",
        ),
        ("suggestions, ms at p50 and p95", lambda f: _times(f["suggest_ms"])),
        ("ask with 50 re-ranked, ms", lambda f: _times(f["ask_ms"])),
        ("ask, questions and answers re-ranked, ms", lambda f: _times(f["ask_both_ms"])),
    ]
    rows = [
        (name, *(value if isinstance(value := of(f), str) else f"{value:,.0f}" for f in sizes))
        for name, of in shown
    ]
    head = ("posts", *(f"{size['all_posts']:,}" for size in sizes))
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]


def _times(size: Mapping[str, float]) -> str:
    return f"{size['p50']:.0f} and {size['p95']:.0f}"


def _rows(sizes: Sequence[Mapping[str, Any]], posts: float) -> list[tuple[str, ...]]:
    large, cost, millions = sizes[-1], sizes[-1]["per_million"], posts / 1e6
    archive, words, graphs = (cost[f"{x}_gb"] * millions for x in ("archive", "words", "graphs"))
    keys = posts * large["key_bytes"] / GB
    whole, small = keys + graphs, keys / 4  # float32; one byte instead of four
    core_hours = cost["encoding_core_hours"] * millions
    ask_cores = ASKS * large["ask_both_ms"]["p50"] / 1e3 / BUSY
    # with archive and indexes elsewhere a server needs no more than at the smallest size
    server = sizes[0]["rss_mb"] / 1e3
    together = server + memory_per_million(sizes) * millions
    everything = archive + words + whole
    return [
        ("one machine for all, embedded", _gb(everything), _gb(together), "", ""),
        ("archive on PostgreSQL", _gb(archive), "", "", _machines(disk=archive)),
        ("words on Milvus", _gb(words), _gb(words), "", _machines(words)),
        ("vectors on Milvus, HNSW", _gb(whole), _gb(whole), "", _machines(whole)),
        ("or vectors on Milvus, IVF_SQ8", _gb(keys), _gb(small), "", _machines(small)),
        ("encoding with Ray", _gb(keys), "", f"{core_hours:,.0f} h", _cores(core_hours / HOURS)),
        (f"servers, {ASKS} asks/s", "", f"{_gb(server)} each", "", _cores(ask_cores)),
    ]


def memory_per_million(sizes: Sequence[Mapping[str, Any]]) -> float:
    """Gigabytes of memory that a million more posts take, by the two largest of several sizes."""
    less, more = sorted(sizes, key=lambda size: size["all_posts"])[-2:]
    grown = (more["rss_mb"] - less["rss_mb"]) / 1e3
    return round(grown * 1e6 / (more["all_posts"] - less["all_posts"]), 4)


def _gb(value: float) -> str:
    return f"{value:,.0f} GB" if value >= 1 else f"{value:.2f} GB"


def _machines(memory: float = 0.0, disk: float = 0.0) -> str:
    """The number of machines that hold this many gigabytes."""
    return str(max(1, ceil(memory / USED / MEMORY_GB), ceil(disk / USED / DISK_GB)))


def _cores(cores: float) -> str:
    return f"{max(1, ceil(cores / CORES))} ({ceil(cores):,} core{'s' * (cores > 1)})"
