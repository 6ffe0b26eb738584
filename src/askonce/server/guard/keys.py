"""API keys: reading may need one, writing always does unless it is opened to everyone."""

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from fastapi import HTTPException, Request

from askonce.errors import AskonceError, ConfigError, DataError
from askonce.server.guard.rates import Rates, parse_address

Scope = Literal["read", "write"]

WRITE_KEY, READ_KEY = "ASKONCE_API_KEY", "ASKONCE_READ_KEY"  # environment variables
MIN_KEY = 16  # characters
_RATE = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")


ORIGIN_RATE = 5.0  # requests per second and client with the key of an origin, unless it says more


@dataclass(frozen=True)
class OriginKey:
    """A read key for the pages of one origin, with a rate of its own."""

    origin: str
    digest: bytes = field(repr=False)
    rates: Rates = field(repr=False, compare=False)

    def check(self, request: Request) -> None:
        """Refuse another origin's use of the key, and a client that exceeds its rate."""
        if request.headers.get("origin") != self.origin:
            raise HTTPException(403, f"this API key is for pages of {self.origin} only")
        self.rates.check(request.client.host if request.client else "")


def origin_of(text: str) -> str:
    """An origin as browsers send it: scheme, host and port, without a path."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.path in ("", "/")
        origin = f"{parts.scheme}://{parts.netloc.lower()}"
        _ = parts.port
    except ValueError:
        valid, origin = False, ""
    if not valid or parts.query or parts.fragment or "@" in origin:
        raise ConfigError(f"{text!r} is not an origin; expected one such as https://forum.example")
    default = {"http": ":80", "https": ":443"}[parts.scheme]
    return origin.removesuffix(default)


@dataclass(frozen=True)
class Keys:
    """Digests of the keys for each scope; a write key also reads.

    Without write keys, nobody can write, or everyone with ``open_writes``. Where a request comes
    from proves nothing: behind a proxy, every client seems to be on this machine. Without read
    keys, everyone can read.
    """

    write: tuple[bytes, ...] = field(default=(), repr=False)
    read: tuple[bytes, ...] = field(default=(), repr=False)
    open_writes: bool = False
    origins: tuple[OriginKey, ...] = ()

    def check(self, request: Request, scope: Scope) -> None:
        """Raise 401 or 403 unless the request may use this scope."""
        if scope == "read" and (self._has_key_of_origin(request) or not self.read):
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

    def _has_key_of_origin(self, request: Request) -> bool:
        key = _key_of(request) if self.origins else None
        if key is None:
            return False
        digest = sha256(key.encode("utf-8", "surrogateescape")).digest()
        for own in self.origins:
            if hmac.compare_digest(own.digest, digest):
                own.check(request)
                return True
        return False

    def with_token(self) -> tuple["Keys", str]:
        """These keys and a new one for writing, which is returned too."""
        token = secrets.token_urlsafe(24)
        return replace(self, write=(*self.write, *_digests([token]))), token

    def _check_open_write(self, request: Request) -> None:
        if not self.open_writes:
            raise HTTPException(403, f"writes are disabled; set {WRITE_KEY} and restart the server")
        origin = request.headers.get("origin")  # None: it comes from no browser
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            raise HTTPException(403, "writes from pages of other sites require an API key")


def read_keys(environment: Mapping[str, str], file: Path | None = None) -> Keys:
    """Keys from the environment, and from a file with lines like ``write KEY``.

    ``read KEY https://forum.example 5`` is a key for the pages of that origin, with at most five
    requests per second and client.
    """
    keys: dict[str, list[str]] = {
        "write": [environment[WRITE_KEY]] if environment.get(WRITE_KEY) else [],
        "read": [environment[READ_KEY]] if environment.get(READ_KEY) else [],
    }
    origins = []
    for scope, key, *origin in _lines(file) if file is not None else ():
        if origin:
            rate = float(origin[1]) if len(origin) > 1 else ORIGIN_RATE
            origins.append(OriginKey(origin_of(origin[0]), _digests([key])[0], Rates(rate)))
        else:
            keys[scope].append(key)
    return Keys(_digests(keys["write"]), _digests(keys["read"]), origins=tuple(origins))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach this host name or address."""
    address = parse_address(host.strip("[]"))
    return host == "localhost" or (address is not None and address.is_loopback)


def _lines(path: Path) -> Iterable[list[str]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AskonceError(f"cannot read the API key file: {error}") from None
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if not _is_key(words):
            expected = "'write KEY', 'read KEY' or 'read KEY https://ORIGIN RATE'"
            raise DataError(path, expected, line=number)  # without showing the key
        yield words


def _is_key(words: list[str]) -> bool:
    if len(words) == 2:
        return words[0] in ("read", "write")
    is_rate = len(words) == 3 or (len(words) == 4 and _RATE.fullmatch(words[3]) is not None)
    return is_rate and words[0] == "read" and words[2].startswith(("http://", "https://"))


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
