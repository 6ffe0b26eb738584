"""Figures and tables beyond the main ones: functions of a store, each registered by name.

A figure returns no block where the store lacks what it needs. One new file adds one.
"""

from collections.abc import Callable

from askonce.bench.report.blocks import Block
from askonce.bench.store import Store
from askonce.registry import Registry

Figure = Callable[[Store], list[Block]]
FIGURES: Registry[Figure] = Registry("figure", "askonce.bench.report.figures")
