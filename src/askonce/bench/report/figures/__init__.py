"""Figures and tables beyond the main ones: functions of a store, each registered by name.

A figure returns no block if the store lacks what it needs. One new file adds one figure; code that
two figures share lives in ``results``, ``variants`` or ``inside``.
"""

from collections.abc import Callable

from askonce.bench.report.blocks import Block
from askonce.bench.store import Store
from askonce.registry import Registry

Figure = Callable[[Store], list[Block]]
FIGURES: Registry[Figure] = Registry("figure", "askonce.bench.report.figures")
