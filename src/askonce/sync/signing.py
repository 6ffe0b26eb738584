"""Signatures of webhooks: HMAC-SHA256 of the body, and of the time where we define the form."""

import hmac
from collections.abc import Mapping
from hashlib import sha256

TIME, SIGNATURE = "x-askonce-timestamp", "x-askonce-signature"
# other services sign the body alone
OTHERS = ("x-hub-signature-256", "x-discourse-event-signature")
TOLERANCE = 300  # seconds that a signed request may be old


def signature_headers(secret: str, body: bytes, now: int) -> dict[str, str]:
    return {TIME: str(now), SIGNATURE: f"sha256={_sign(secret, str(now).encode() + b'.' + body)}"}


def is_signed(secret: str, body: bytes, headers: Mapping[str, str], now: float) -> bool:
    """Whether a request was signed with this secret, and not too long ago."""
    time = headers.get(TIME, "")
    if time.isascii() and time.isdecimal() and len(time) < 16:
        signed = f"sha256={_sign(secret, time.encode() + b'.' + body)}"
        return abs(now - int(time)) <= TOLERANCE and _same(signed, headers.get(SIGNATURE, ""))
    signed = f"sha256={_sign(secret, body)}"
    return any([_same(signed, headers.get(name, "")) for name in OTHERS])


def _sign(secret: str, text: bytes) -> str:
    return hmac.new(secret.encode(), text, sha256).hexdigest()


def _same(expected: str, given: str) -> bool:
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))
