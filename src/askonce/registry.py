"""Registries: look up classes and functions by name. A decorator registers a member."""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from askonce.errors import UnknownName

T = TypeVar("T")


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint for an error message: the names most similar to what was typed."""
    names = sorted(names)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    return "choose from " + ", ".join(names)


class Registry(Generic[T]):
    """The named members of one package, which is imported in full at the first look-up.

    Names ignore case, and ``_`` equals ``-``.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._members: dict[str, T] = {}
        self._aliases: dict[str, str] = {}
        self._imported = False

    def add(self, name: str, *aliases: str) -> Callable[[T], T]:
        """Decorate a class or function to register it by ``name`` and by each alias."""

        def register(member: T) -> T:
            if name in self._members:
                raise ValueError(f"two {self.kind}s are called {name!r}")
            self._members[name] = member
            self._aliases.update({_plain(alias): name for alias in aliases})
            return member

        return register

    def names(self) -> list[str]:
        """All names, sorted, without aliases."""
        self._import_members()
        return sorted(self._members)

    def resolve(self, name: str) -> str:
        """The registered name for a name or alias as typed."""
        self._import_members()
        plain = _plain(name)
        plain = self._aliases.get(plain, plain)
        if plain not in self._members:
            raise UnknownName(f"no {self.kind} is called {name!r}; {nearest(plain, self._members)}")
        return plain

    def __getitem__(self, name: str) -> T:
        return self._members[self.resolve(name)]

    def __contains__(self, name: str) -> bool:
        self._import_members()
        return self._aliases.get(_plain(name), _plain(name)) in self._members

    def _import_members(self) -> None:
        if self._imported:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.walk_packages(package.__path__, prefix=f"{self.package}."):
            importlib.import_module(module.name)
        self._imported = True


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")
