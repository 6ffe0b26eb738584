"""Imports follow the flow of data: a file imports from earlier levels only."""

import ast
from functools import cache
from pathlib import Path

import pytest

import askonce

SOURCE = Path(askonce.__file__).parent

# Per folder, the levels of its files and folders; parts of one level do not import each other.
FLOW = {
    ".": """
        errors types
        registry files
        config
        text
        data index evaluation teachers
        archive
        models
        ranker_folder
        ranker
        key_encoders
        ranking
        training
        baselines
        bench
        engine
        sync
        server adapters
        cli
        __main__""",
    "text": """
        cache html leaks sanitise stopwords tokenise vocabulary
        batch vectors
        lexicon read_vectors""",
    "data": """
        formats
        benchmarks
        forums""",
    "data/formats": """
        csv jsonl sources sql xml
        posts
        beir""",
    "evaluation": """
        significance trec_files
        ties
        metrics""",
    "index": """
        base key_scan
        key_search position readers stems
        lexical vector_files
        milvus vectors
        storage""",
    "index/milvus": """
        client
        collection
        keys words""",
    "sync": """
        http signing
        events feeds
        run""",
    "teachers": """
        cache checkpoints precision starter
        teacher
        words
        lexicon""",
    "archive": """
        database rows
        tables migrations
        overview schema writing
        desk
        links snapshot
        store
        cache export load
        open""",
    "archive/desk": """
        options
        decisions feedback searches""",
    "ranking": """
        stages votes
        calibration fusion
        manifest
        pipeline""",
    "training": """
        checkpoint defaults events labelled_pairs processes
        epochs recipe
        losses prepare sampling
        batches
        cross_encoder fine_tuning starter
        averaging pretraining distillation
        run archive
        tuning""",
    "training/pretraining": """
        language_models pairs
        figures
        encoder_decoder""",
    "training/distillation": """
        pair_teacher settings texts
        beside
        student
        run""",
    "training/starter": "learn texts",
    "training/archive": """
        tasks
        selection
        candidates
        contest preparing
        run
        in_place""",
    "training/archive/tasks": """
        splits
        labels
        drawer
        pools""",
    "training/archive/selection": """
        held_out
        compare
        calibrate fit_priors""",
    "training/archive/candidates": """
        recipes
        teaching
        students
        task_training
        encoders pair_model""",
    "bench": """
        data store workers
        rows
        plan report
        run""",
    "bench/rows": """
        base
        baseline cross_encoder fusion sentence_encoder trained""",
    "bench/report": """
        charts histories published
        blocks drawing results
        gains inside table variants
        figures
        document""",
    "engine": """
        options results
        hits wording
        lifecycle
        duplicates feedback
        checked
        bulk explaining moderation overview
        engine
        context workers""",
    "engine/workers": """
        asking frames tuning
        pool worker""",
    "engine/lifecycle": """
        following reading warming
        loading
        manager""",
    "engine/bulk": """
        shards
        encoding ray_encoding""",
    "server": """
        batching guard listening openapi_tables search_log
        metrics schemas
        errors service
        agents middleware protocol routes
        app
        several""",
    "server/guard": """
        lanes limits logs rates
        keys
        connections hosts""",
    "server/schemas": """
        ask models posts requests
        feedback moderation options several""",
    "server/several": """
        members
        routes
        app""",
    "server/routes": "ask feedback health hooks models moderation options page posts",
    "cli": """
        group options
        output
        progress
        archives benchmarks starter
        reference
        __main__""",
    "cli/archives": """
        ask demo duplicates import_ index info serving sync training_table
        serve train""",
    "cli/archives/serving": """
        options
        run""",
    "cli/benchmarks": """
        inputs
        bench datasets models pairs recipes""",
}


def levels(folder: str) -> dict[str, int]:
    lines = FLOW[folder].strip().splitlines()
    return {part: level for level, line in enumerate(lines) for part in line.split()}


def parts(folder: str) -> set[str]:
    inside = (SOURCE / folder).iterdir()
    names = {path.stem for path in inside if path.suffix == ".py" or any(path.rglob("*.py"))}
    return names - {"__init__"}


@cache
def imports(path: Path) -> list[tuple[str, ...]]:
    """What a file imports of askonce, in parts below it; imports for type checkers do not count."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    blocks = [node for node in nodes if isinstance(node, ast.If)]
    typing = [block for block in blocks if ast.unparse(block.test) == "TYPE_CHECKING"]
    left_out = {id(node) for block in typing for node in ast.walk(block)}
    names = []
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and id(node) not in left_out:
            module = (node.module or "").split(".")
            if module[0] == "askonce":
                names += [(*module[1:], name.name) for name in node.names]
    return names


def used_parts(path: Path, folder: str) -> set[str]:
    """The parts of a folder that a file imports."""
    above = () if folder == "." else tuple(folder.split("/"))
    depth, known = len(above), levels(folder)
    names = {name[depth] for name in imports(path) if name[:depth] == above and len(name) > depth}
    return names & set(known)


@pytest.mark.parametrize("folder", FLOW)
def test_every_part_has_a_level(folder):
    assert parts(folder) == set(levels(folder))


@pytest.mark.parametrize("folder", FLOW)
def test_imports_follow_the_flow(folder):
    level = levels(folder)
    wrong = []
    for part in parts(folder):
        path = SOURCE / folder / part
        for file in path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]:
            for used in used_parts(file, folder) - {part}:
                if level[used] >= level[part]:
                    wrong.append(f"{file.relative_to(SOURCE)} imports {used}")
    assert not wrong


def test_a_folder_of_folders_has_a_flow():
    rooms = {path.parent for path in SOURCE.rglob("*.py") if path.name != "__init__.py"}
    nested = {room.parent for room in rooms if room.parent != SOURCE.parent} - {SOURCE}
    named = {str(room.relative_to(SOURCE)) for room in nested if (room / "__init__.py").exists()}
    assert named <= {*FLOW, "models", "models/rivals"}  # models: below


MODELS_FLOW = ["base", "layers", "pair", "language_model", "papers", "rivals"]


def models_part(name: str) -> int:
    """The level of a file of ``askonce.models``; most files are one paper each."""
    return MODELS_FLOW.index(name if name in MODELS_FLOW else "papers")


def test_imports_among_models_follow_the_flow():
    wrong = []
    for path in (SOURCE / "models").rglob("*.py"):
        part = path.relative_to(SOURCE / "models").parts[0].removesuffix(".py")
        for name in imports(path):
            inside = name[0] == "models" and len(name) > 2 and part != "__init__"
            if inside and models_part(name[1]) > models_part(part):
                wrong.append(f"{path.relative_to(SOURCE)} imports {name[1]}")
    assert not wrong
