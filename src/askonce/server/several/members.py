"""The archives of one server: their names, and which of them can be served."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import HTTPException, Request

from askonce.archive.open import name_of
from askonce.engine import Status
from askonce.errors import AskonceError
from askonce.server.service import Service

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
TAKEN = ("api", "docs", "healthz", "metrics", "openapi.json", "readyz", "static")  # own addresses


@dataclass
class Member:
    """One of several archives: its service, or why there is none."""

    name: str
    service: Service | None = None
    error: str | None = None

    def needed(self) -> Service:
        """The service; 503 if the archive cannot be served. Visitors are not told the reason."""
        if self.service is None or self.error is not None:
            message = f"the archive {self.name!r} cannot be served; the server's messages say why"
            raise HTTPException(503, message)
        return self.service

    def status(self) -> Status | None:
        """The state of the archive; None if it cannot be served."""
        if self.service is None or self.error is not None:
            return None
        try:
            return self.service.engine.status()
        except AskonceError:  # a lost database
            return None


def readable(members: Iterable[Member], request: Request) -> list[Member]:
    """The archives that a request may read: 401 if its key opens none, 429 beyond a rate.

    The request counts in each of them, so that nobody can try keys here more often than there.
    """
    allowed, refusals = [], []
    for member in members:
        try:
            if member.service is not None:
                member.service.admit(request, "read")
            allowed.append(member)
        except HTTPException as refusal:
            if refusal.status_code == 429:
                raise
            refusals.append(refusal)
    if refusals and not any(member.service for member in allowed):
        raise refusals[0]
    return allowed


def named(words: Sequence[str]) -> dict[str, str]:
    """Archives by name: each word is a location, from which the name is taken, or NAME=LOCATION.

    The name of a single archive is part of no address, so any name will do.
    """
    archives: dict[str, str] = {}
    for word in words:
        name, equals, location = word.partition("=")
        if not equals or not NAME.fullmatch(name) or Path(word).exists():
            name, location = name_of(word), word
        advice = f"choose another with NAME={location}"
        if len(words) == 1:
            return {name: location}
        if not NAME.fullmatch(name):
            raise AskonceError(
                f"{name!r} cannot be part of an address; {advice} (letters, digits, '.', '_', '-')"
            )
        if name in TAKEN:
            raise AskonceError(f"the name {name!r} is an address of the server itself; {advice}")
        if name in archives:
            raise AskonceError(f"two archives have the name {name!r}; {advice}")
        archives[name] = location
    return archives
