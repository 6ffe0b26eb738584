"""Imports follow the flow of data: a file uses what stands before it, never what comes after."""

import ast
from pathlib import Path

import askonce

SOURCE = Path(askonce.__file__).parent
FLOW = [
    {"errors", "types"},
    {"registry", "files"},
    {"config"},
    {"text"},
    {"data", "index", "evaluation", "teachers"},  # evaluation knows labels and scores, no model
    {"archive"},
    {"models"},
    {"ranker", "ranker_folder"},
    {"key_encoders"},
    {"ranking"},
    {"training"},
    {"baselines"},
    {"bench"},
    {"engine"},
    {"server", "adapters"},
    {"cli"},
    {"__main__"},
]
LEVEL = {part: level for level, parts in enumerate(FLOW) for part in parts}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("askonce."):
            found.add(node.module.split(".")[1])
    return found


def test_every_part_has_its_place():
    parts = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert parts - {"__init__"} == set(LEVEL)


def test_imports_follow_the_flow():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        for used in imports(path):
            if used != part and LEVEL[used] >= LEVEL[part] and {used, part} - FLOW[LEVEL[part]]:
                wrong.append(f"{path.relative_to(SOURCE)} imports {used}")
    assert not wrong


MODELS_FLOW = ["base", "layers", "pair", "language_model", "papers", "rivals"]


def models_part(name: str) -> int:
    """Where a module of ``askonce.models`` stands in the flow; most files are one paper each."""
    return MODELS_FLOW.index(name if name in MODELS_FLOW else "papers")


def test_imports_among_models_follow_the_flow():
    wrong = []
    for path in (SOURCE / "models").rglob("*.py"):
        part = path.relative_to(SOURCE / "models").parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "askonce.models."
            ):
                used = (node.module or "").split(".")[2]
                if models_part(used) > models_part(part) and part != "__init__":
                    wrong.append(f"{path.relative_to(SOURCE)} imports {used}")
    assert not wrong
