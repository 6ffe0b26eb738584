"""The classical baselines: what any trained model has to beat, each registered by name."""

from typing import TYPE_CHECKING

from askonce.registry import Registry

if TYPE_CHECKING:
    from askonce.baselines.base import Baseline

BASELINES: "Registry[type[Baseline]]" = Registry("baseline", "askonce.baselines")
