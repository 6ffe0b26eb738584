"""Throw bytes at every reader of what others wrote, guided by the code that they reach.

    python benchmarks/fuzz.py model --seconds 600
    python benchmarks/fuzz.py all --seconds 600 --json F     # one after the other

A crash is any exception but AskonceError; a hang is an input that takes more than a second of
processor time. What was found lies in --found, one file per input. Needs ``atheris``.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import atheris
from fuzz_targets import TARGETS, Wrong, scratch

from askonce.errors import AskonceError

READERS = [  # whose branches guide the search
    *(
        "askonce.config",
        "askonce.data.benchmarks",
        "askonce.data.formats",
        "askonce.evaluation.trec_files",
        "askonce.files",
    ),
    *(
        "askonce.data.forums",
        "askonce.ranker_folder",
        "askonce.text.sanitise",
        "askonce.ranking",
    ),
    "askonce.text",
]
SLOW = 1.0  # seconds of processor time
LONGEST = 20_000  # bytes of an input
MEMORY_MB = 3_000


def main() -> None:
    """Fuzz one target in this process, or all in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--found", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--json", type=Path, help="with all: also write the result to this file")
    options = parser.parse_args()
    options.found.mkdir(parents=True, exist_ok=True)
    if options.target != "all":
        fuzz(options.target, options.seconds, options.found)
        return
    results = {name: in_process(name, options.seconds, options.found) for name in TARGETS}
    text = json.dumps(results, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    sys.exit(any(result["exit_code"] for result in results.values()))


def fuzz(name: str, seconds: int, findings: Path) -> None:
    """Never returns: libFuzzer ends the process."""
    with atheris.instrument_imports(include=READERS):
        target, seeds = TARGETS[name]()
    corpus = scratch()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    slowest = 0.0

    def one(data: bytes) -> None:
        nonlocal slowest
        begin = time.process_time()
        try:
            target(data)
        except AskonceError as error:
            if "\n" in str(error):
                raise Wrong(f"more than one line: {error}") from error
        took = time.process_time() - begin
        if took > SLOW:
            raise Wrong(f"{took:.1f} s for {len(data):,} bytes")
        if took > slowest:
            slowest = took
            print(f"slowest: {1000 * took:.1f} ms", file=sys.stderr)

    flags = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-rss_limit_mb={MEMORY_MB}"]
    flags += [f"-artifact_prefix={findings}/{name}-", "-print_final_stats=1", "-timeout=120"]
    flags.append("-len_control=0")  # long inputs from the start
    atheris.Setup([sys.argv[0], *flags, str(corpus)], one)
    atheris.Fuzz()


def in_process(name: str, seconds: int, findings: Path) -> dict[str, object]:
    """How one target did."""
    print(f"\n{name}: {seconds} s", file=sys.stderr)
    words = [name, "--seconds", seconds, "--found", findings]
    command = [sys.executable, __file__, *map(str, words)]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    output = ran.stdout + ran.stderr
    runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
    slowest = re.findall(r"slowest: ([\d.]+) ms", output)
    if ran.returncode:
        print(output[-3000:], file=sys.stderr)
    return {
        "seconds": seconds,
        "inputs": int(runs[1]) if runs else 0,
        "slowest_ms": float(slowest[-1]) if slowest else 0.0,
        "exit_code": ran.returncode,
    }


if __name__ == "__main__":
    main()
