"""Other sites whose pages may ask this server: allowed origins, and keys that belong to one."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fastapi import HTTPException, Request

from askonce.errors import ConfigError
from askonce.server.guard.rates import Rates

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
