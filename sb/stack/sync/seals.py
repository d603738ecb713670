"""Seal changes, and verify the seals of other databases: by home or by operator.

Databases of one home know each other's seals by the home's secret. For another home only the signature of an operator
counts, as it does for bundles of memories; while nobody is enrolled here, unsigned changes are taken, and that is said.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
from collections import Counter
from typing import Any

import orjson

from sb.base.sources import Clock, iso
from sb.config import Config
from sb.errors import CheckFailed, DeniedError
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.signing import Decider, Label, Operator, signed_statement
from sb.memory.bundles import seal_status
from sb.store.secret import derived_key, home_secret

OURS = "home"  # the standing of what this home sealed
_NOBODY = Label("")


class Sealer:
    """Seals what this home writes, and says who sealed what comes.

    Args:
        authority: who this home's operators are. by: who signs; a mere label leaves it at the home's seal.
    """

    def __init__(self, config: Config, authority: Authority, clock: Clock, by: Decider | None = None) -> None:
        config.home.create()
        secret = home_secret(config.home.digest_key)
        self._key = derived_key(secret, "sync")
        self.home = derived_key(secret, "sync home").hex()[:16]
        self._authority, self._clock, self._by = authority, clock, by or _NOBODY
        self.signs = bool(self._by.key_id)

    def nobody(self) -> Sealer:
        """One whose seals count nowhere, for what was never sealed by whoever changed it."""
        made = copy.copy(self)
        made.home, made._key, made._by, made.signs = "nobody", b"nobody", _NOBODY, False
        return made

    def seal(self, document: bytes) -> bytes:
        """The seal on a document."""
        facts = {
            "digest": _digest(document),
            "home": self.home,
            "mac": self._mac(document),
            "at": iso(self._clock.now()),
            "public_key": self._by.public_key if isinstance(self._by, Operator) else "",
        }
        return orjson.dumps(signed_statement(self._by, facts))

    def unsigned(self, seal: bytes) -> bool:
        """True if this home made a seal that no operator signed."""
        statement = orjson.loads(seal)["statement"]
        return bool(statement["home"] == self.home and not statement["key"])

    def status(self, document: bytes, seal: bytes) -> str:
        """Returns who sealed a document: `home`, or as `bundles.seal_status`.

        Raises:
            CheckFailed: it is not what was sealed. Unauthorised: its key was shut out.
        """
        try:
            sealed: dict[str, Any] = orjson.loads(seal)
            statement = sealed["statement"]
            digest, home, mac = str(statement["digest"]), str(statement["home"]), str(statement["mac"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise CheckFailed(
                "a change has no seal", "nothing was imported; check the other database"
            ) from None
        ours = home == self.home
        if digest != _digest(document) or (
            ours and not hmac.compare_digest(mac.encode(), self._mac(document).encode())
        ):
            raise CheckFailed(
                "a change was edited after it was sealed",
                "nothing was imported; check the other database",
            )
        return OURS if ours else seal_status(sealed, self._authority)

    def admit(self, standings: Counter[str], *, from_anybody: bool) -> list[str]:
        """Refuse what no one of this home sealed, once it has operators.

        Args:
            standings: how many changes there are of each.

        Returns:
            What people have to be told, one line each.

        Raises:
            DeniedError: some were sealed by nobody who counts here.
        """
        others = {
            standing: count for standing, count in standings.items() if standing not in (OURS, "operator")
        }
        notes = [f"changes {_MEANING[other]}: {count}" for other, count in sorted(others.items())]
        if others and self._authority.enrolled() and not from_anybody:
            raise DeniedError(
                "; ".join(notes), "have an operator of this home sign them there, or accept them from anybody"
            )
        return notes

    def _mac(self, document: bytes) -> str:
        return hmac.digest(self._key, document, hashlib.sha256).hex()


_MEANING = {"unsigned": "that nobody signed", "stranger": "that a stranger signed"}


def _digest(document: bytes) -> str:
    return f"sha256:{hashlib.sha256(document).hexdigest()}"
