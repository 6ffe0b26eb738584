"""The models: each file one paper, each class registered by name."""

from typing import TYPE_CHECKING

from askonce.registry import Registry

if TYPE_CHECKING:
    from askonce.models.base import Matcher

MODELS: "Registry[type[Matcher]]" = Registry("model", "askonce.models")
