"""What tests of training share: a small run, also for processes of its own."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SMALL_RUN = Path(__file__).with_name("small_run.py")


@pytest.fixture(scope="session")
def small() -> ModuleType:
    """The module of the small run."""
    spec = importlib.util.spec_from_file_location("small_run", SMALL_RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
