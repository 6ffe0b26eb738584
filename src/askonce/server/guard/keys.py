"""Who may read and who may write."""

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from fastapi import HTTPException, Request

from askonce.errors import AskonceError, DataError

Scope = Literal["read", "write"]

WRITE_KEY, READ_KEY = "ASKONCE_API_KEY", "ASKONCE_READ_KEY"  # environment
SHORTEST = 16  # characters
_FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip")


@dataclass(frozen=True)
class Keys:
    """Digests of the keys that open a scope; a write key reads as well.

    Without write keys, writing is open to programs of this machine if ``local_writes``, or to
    everybody if ``open_writes``. Without read keys, everybody reads.
    """

    write: tuple[bytes, ...] = field(default=(), repr=False)
    read: tuple[bytes, ...] = field(default=(), repr=False)
    local_writes: bool = False
    open_writes: bool = False

    def check(self, request: Request, scope: Scope) -> None:
        """Let the request pass, or refuse it with 401 or 403."""
        if scope == "read" and not self.read:
            return
        if scope == "write" and not self.write:
            self._check_open_write(request)
            return
        given = _given(request)
        if given is None:
            raise HTTPException(401, "an API key is needed", {"WWW-Authenticate": "Bearer"})
        digest = sha256(given.encode("utf-8", "surrogateescape")).digest()
        if _holds(self.write, digest):
            return
        if not _holds(self.read, digest):
            raise HTTPException(401, "the API key is not known", {"WWW-Authenticate": "Bearer"})
        if scope == "write":
            raise HTTPException(403, "this API key reads only")

    def _check_open_write(self, request: Request) -> None:
        if not (self.open_writes or self.local_writes):
            raise HTTPException(403, f"writing needs an API key; start the server with {WRITE_KEY}")
        if not _same_site(request):
            raise HTTPException(403, "writing from another site's page needs an API key")
        if not self.open_writes and not _is_local(request):
            raise HTTPException(403, f"without {WRITE_KEY} only this machine may write")


def read_keys(environment: Mapping[str, str], file: Path | None = None) -> Keys:
    """The keys of the environment, and those of a file with lines like ``write KEY``."""
    found: dict[str, list[str]] = {
        "write": [environment[WRITE_KEY]] if environment.get(WRITE_KEY) else [],
        "read": [environment[READ_KEY]] if environment.get(READ_KEY) else [],
    }
    for scope, key in _lines(file) if file is not None else ():
        found[scope].append(key)
    return Keys(write=_digests(found["write"]), read=_digests(found["read"]))


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _lines(path: Path) -> Iterable[tuple[str, str]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AskonceError(f"cannot read the API keys: {error}") from None
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in ("read", "write"):
            raise DataError(path, "'write KEY' or 'read KEY'", line=number)  # shows no key
        yield words[0], words[1]


def _digests(keys: Iterable[str]) -> tuple[bytes, ...]:
    for key in keys:
        if len(key) < SHORTEST or not key.isprintable() or not key.isascii():
            raise AskonceError(
                f"an API key of {len(key)} characters; expected at least {SHORTEST} printable "
                "ASCII characters, for example from `openssl rand -hex 24`"
            )
    return tuple(sha256(key.encode()).digest() for key in keys)


def _holds(digests: tuple[bytes, ...], digest: bytes) -> bool:
    # a list, not a generator: the time must not tell which key it was
    return any([hmac.compare_digest(known, digest) for known in digests])


def _given(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return request.headers.get("x-api-key")


def _same_site(request: Request) -> bool:
    """A browser tells where the page that sends a request comes from; other programs do not."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _is_local(request: Request) -> bool:
    """Neither through a proxy nor by a foreign name that was made to point at this machine."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name)
