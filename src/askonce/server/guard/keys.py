"""API keys, and who may write without one."""

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

WRITE_KEY, READ_KEY = "ASKONCE_API_KEY", "ASKONCE_READ_KEY"  # environment variables
MIN_KEY = 16  # characters
_FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip")


@dataclass(frozen=True)
class Keys:
    """Digests of the keys for each scope; a write key also reads.

    Without write keys, ``local_writes`` lets programs on this machine write and ``open_writes``
    lets everyone. Without read keys, everyone can read.
    """

    write: tuple[bytes, ...] = field(default=(), repr=False)
    read: tuple[bytes, ...] = field(default=(), repr=False)
    local_writes: bool = False
    open_writes: bool = False

    def check(self, request: Request, scope: Scope) -> None:
        """Raise 401 or 403 unless the request may use this scope."""
        if scope == "read" and not self.read:
            return
        if scope == "write" and not self.write:
            self._check_open_write(request)
            return
        key = _key_of(request)
        if key is None:
            raise HTTPException(
                401, "this server requires an API key", {"WWW-Authenticate": "Bearer"}
            )
        digest = sha256(key.encode("utf-8", "surrogateescape")).digest()
        if _contains(self.write, digest):
            return
        if not _contains(self.read, digest):
            raise HTTPException(401, "that API key isn't valid", {"WWW-Authenticate": "Bearer"})
        if scope == "write":
            raise HTTPException(403, "this API key is read-only")

    def _check_open_write(self, request: Request) -> None:
        if not (self.open_writes or self.local_writes):
            raise HTTPException(403, f"writes are disabled; set {WRITE_KEY} and restart the server")
        if not _same_site(request):
            raise HTTPException(403, "writes from pages of other sites require an API key")
        if not self.open_writes and not _is_local(request):
            raise HTTPException(
                403, f"only programs on this machine may write; set {WRITE_KEY} to allow others"
            )


def read_keys(environment: Mapping[str, str], file: Path | None = None) -> Keys:
    """Keys from the environment, and from a file with lines like ``write KEY``."""
    keys: dict[str, list[str]] = {
        "write": [environment[WRITE_KEY]] if environment.get(WRITE_KEY) else [],
        "read": [environment[READ_KEY]] if environment.get(READ_KEY) else [],
    }
    for scope, key in _lines(file) if file is not None else ():
        keys[scope].append(key)
    return Keys(write=_digests(keys["write"]), read=_digests(keys["read"]))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach this host name or address."""
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
        raise AskonceError(f"cannot read the API key file: {error}") from None
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in ("read", "write"):
            raise DataError(
                path, "'write KEY' or 'read KEY'", line=number
            )  # without showing the key
        yield words[0], words[1]


def _digests(keys: Iterable[str]) -> tuple[bytes, ...]:
    for key in keys:
        if len(key) < MIN_KEY or not key.isprintable() or not key.isascii():
            raise AskonceError(
                f"an API key of {len(key)} characters; expected at least {MIN_KEY} printable "
                "ASCII characters, for example from `openssl rand -hex 24`"
            )
    return tuple(sha256(key.encode()).digest() for key in keys)


def _contains(digests: tuple[bytes, ...], digest: bytes) -> bool:
    # a list, not a generator: constant time whichever key matches
    return any([hmac.compare_digest(known, digest) for known in digests])


def _key_of(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key.strip():
        return key.strip()
    return request.headers.get("x-api-key")


def _same_site(request: Request) -> bool:
    """Whether the request comes from our own page, or not from a browser at all."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _is_local(request: Request) -> bool:
    """Not through a proxy, and not by another host name that resolves to this machine."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name)
