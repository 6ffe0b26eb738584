"""Figures and tables beyond the main ones: functions of a store, each registered by name.

A figure returns no block if the store lacks what it needs. Code that the figures of several files
share lives in ``results``, ``variants`` or ``inside``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from askonce.bench.report.blocks import Block
from askonce.bench.store import Store
from askonce.registry import Registry

T = TypeVar("T")
Figure = Callable[[Store], list[Block]]
Draw = Callable[[T], Block | Sequence[Block] | None]
FIGURES: Registry[Figure] = Registry("figure", "askonce.bench.report.figures")


def add_figure(name: str, parts: Callable[[Store], Iterable[T]]) -> Callable[[Draw[T]], Draw[T]]:
    """Register a figure that is drawn for each part of a store, such as each of its tables."""

    def add(draw: Draw[T]) -> Draw[T]:
        def figure(store: Store) -> list[Block]:
            blocks: list[Block] = []
            for drawn in map(draw, parts(store)):
                blocks += [drawn] if isinstance(drawn, Block) else drawn or ()
            return blocks

        FIGURES.add(name)(figure)
        return draw

    return add
