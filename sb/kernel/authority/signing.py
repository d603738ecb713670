"""Signed decisions: who decides, and the statement that is signed.

Ed25519 (RFC 8032) over the canonical form (RFC 8785) of a statement.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sb.base.secrets.redaction import redact_text
from sb.base.text import plain
from sb.base.values.canonical import canonical_bytes
from sb.base.values.signatures import key_id_of
from sb.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LONGEST_TEXT = 1000  # characters that a person says about a decision


class Decider(Protocol):
    """The decider: an operator with an unlocked key, or a label while nobody is enrolled.

    Args:
        key_id: "" for a label.
    """

    @property
    def name(self) -> str: ...

    @property
    def key_id(self) -> str: ...

    def sign(self, data: bytes) -> str:
        """A signature in base64; "" for a label."""
        ...


class Label(NamedTuple):
    """A name that nothing proves."""

    name: str
    key_id: str = ""

    def sign(self, data: bytes) -> str:
        return ""


class Operator(NamedTuple):
    """A person whose key is unlocked, in memory only."""

    name: str
    public_key: str
    private_key: Ed25519PrivateKey

    @property
    def key_id(self) -> str:
        return key_id_of(self.public_key)

    def sign(self, data: bytes) -> str:
        return base64.b64encode(self.private_key.sign(data)).decode()


def signed_statement(by: Decider, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with who says them, and the signature over both."""
    statement = {**facts, "by": by.name, "key": by.key_id}
    return {"statement": statement, "signature": by.sign(canonical_bytes(statement))}


def required(text: str, what: str = "reason") -> str:
    """One line of text by a person, as it may be written down.

    Raises:
        UsageError: there is none, or it is longer than LONGEST_TEXT.
    """
    clean = redact_text(plain(text, one_line=True).strip())
    if not clean:
        raise UsageError(f"a decision needs a {what}", "say it in a few words")
    if len(clean) > LONGEST_TEXT:
        raise UsageError(f"the {what} has more than {LONGEST_TEXT} characters", "say it shorter")
    return clean
