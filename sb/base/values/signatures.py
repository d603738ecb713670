"""Public keys and signatures as text: Ed25519 (RFC 8032)."""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256

PUBLIC_PREFIX = "ed25519:"


def key_id_of(public_key: str) -> str:
    """The first 16 hex digits of the SHA-256 of a public key."""
    return sha256(public_key.encode()).hexdigest()[:16]


def public_bytes(public_key: str) -> bytes:
    """The 32 bytes of `ed25519:<base64>`; raises ValueError for any other text."""
    try:
        raw = base64.b64decode(public_key.removeprefix(PUBLIC_PREFIX), validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != 32 or public_key != PUBLIC_PREFIX + base64.b64encode(raw).decode():
        raise ValueError("not a public key: ed25519: and 32 bytes in base64")
    return raw


def signature_fits(public_key: str, data: bytes, signature: str) -> bool:
    """True if this key made this signature over `data`; False for whatever is not a signature at all."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(public_bytes(public_key))
        raw = base64.b64decode(signature, validate=True)
        key.verify(raw, data)
        return base64.b64encode(raw).decode() == signature  # one spelling only
    except (InvalidSignature, ValueError, TypeError):
        return False
