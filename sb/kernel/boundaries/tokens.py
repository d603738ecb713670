"""Tokens by which agents connect over HTTP: made and taken back by people, and known here by their digest alone."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import replace

from sb.base.sources import MICROSECONDS
from sb.base.text import checked_name
from sb.base.values.frozen import frozen
from sb.base.values.references import full_one
from sb.errors import NotFoundError, UsageError
from sb.kernel.authority.authority import OPERATORS, Authority
from sb.kernel.authority.signing import Decider, required
from sb.kernel.incident_response.statements import TOKENS, Statement, Statements
from sb.log.event_log import EventLog
from sb.log.kinds import TOKEN_CREATED, TOKEN_REVOKED

PREFIX = "sbt_"
_SECRET_BYTES = 32
_TOKEN = re.compile(r"(sbt_[0-9a-f]{16})_([0-9a-f]{64})")
# What differs once a token was made or revoked, or a row about that deleted or put in another's place.
_HASHES = f"SELECT hash FROM events WHERE call_id IN ('{TOKENS}', '{OPERATORS}') ORDER BY id"
_LONGEST_TIME = 20  # digits
LONGEST_S = 366 * 86_400  # of a token's life


@frozen
class AccessToken:
    """Facts about an access token.

    Args:
        id: its first part, which is no secret. toolsets: what it may be used for.
        created_at, expires_at: microseconds since the epoch; expires_at None for never.
        revoked_by: "" while it is valid.
    """

    id: str
    agent: str
    toolsets: tuple[str, ...]
    digest: str
    created_at: int
    created_by: str
    expires_at: int | None
    reason: str = ""
    revoked_by: str = ""

    def valid(self, now: int) -> bool:
        """True if it can be used at this time, in microseconds since the epoch."""
        return self.state(now) == "valid"

    def state(self, now: int) -> str:
        """`valid`, `revoked` or `expired` at this time, in microseconds since the epoch."""
        if self.revoked_by:
            return "revoked"
        return "valid" if self.expires_at is None or now < self.expires_at else "expired"


class AccessTokens:
    """The tokens of one log.

    Args:
        authority: says who may make and revoke them.
    """

    def __init__(self, log: EventLog, authority: Authority) -> None:
        self._log = log
        self._authority = authority
        self.clock = log.clock
        self._known: tuple[object, dict[str, AccessToken]] = (None, {})
        self._statements = Statements(log, authority, TOKENS)

    def create(
        self,
        agent: str,
        toolsets: Sequence[str],
        by: Decider,
        reason: str,
        *,
        lifetime_s: float | None = None,
    ) -> tuple[str, AccessToken]:
        """Make a token for an agent; returns it, which nobody can read again, and what is known of it.

        Raises:
            UsageError: the reason is missing, or the lifetime is none. Unauthorised: this person may not decide.
            ValueError: the agent has no name.
        """
        checked_name("agent", agent)
        if lifetime_s is not None and not 0 < lifetime_s <= LONGEST_S:
            raise UsageError("a token lives for at most 366 days", "--expires 90d")
        token_id = PREFIX + self._log.ids.token(8)
        secret = self._log.ids.token(_SECRET_BYTES)
        ends = "" if lifetime_s is None else str(round((self.clock.now() + lifetime_s) * MICROSECONDS))
        facts = {
            "id": token_id,
            "agent": agent,
            "toolsets": " ".join(toolsets),
            "digest": _digest(secret),
            "expires": ends,
            "reason": required(reason),
        }
        with self._log.write(power=True) as write:
            self._statements.add(write, TOKEN_CREATED, facts, by)
        return f"{token_id}_{secret}", self.get(token_id)

    def revoke(self, reference: str, by: Decider, reason: str) -> AccessToken:
        """Take a token back; it is refused from then on.

        Raises:
            NotFoundError: there is none. UsageError: it was revoked before. Unauthorised: this person may not decide.
        """
        token = self.get(reference)
        if token.revoked_by:
            raise UsageError(f"{token.id} was revoked by {token.revoked_by}")
        with self._log.write(power=True) as write:
            self._statements.add(write, TOKEN_REVOKED, {"id": token.id, "reason": required(reason)}, by)
        return self.get(token.id)

    def all(self) -> list[AccessToken]:
        """Every token, oldest first.

        Raises:
            StoreError: the log cannot be read, or what it says was changed.
            Unauthorised: who may decide cannot be relied on.
        """
        found: dict[str, AccessToken] = {}
        for statement in self._statements.read():
            fields = statement.text
            if statement.event.kind == TOKEN_REVOKED:
                # Anybody's word is enough to refuse, nobody's but an operator's to admit.
                if (known := found.get(fields.get("id", ""))) is not None:
                    found[known.id] = replace(known, revoked_by=statement.by)
            elif not statement.doubt and "id" in fields:
                found.setdefault(fields["id"], _made(statement, fields))
        return list(found.values())

    def get(self, reference: str) -> AccessToken:
        """A token by its id or the beginning of it; raises NotFoundError, and else like `all`."""
        found = {token.id: token for token in self.all()}
        full = full_one(
            reference.partition("_")[0] + "_" + reference.partition("_")[2].partition("_")[0], found
        )
        if full not in found:
            raise NotFoundError("there is no such token", "sb serve token list shows them")
        return found[full]

    def verify(self, token: str) -> AccessToken | None:
        """The token that this text is, if it can be used now; None for any other text.

        Raises:
            StoreError, Unauthorised: as `all`; then nobody may connect.
        """
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        known = self._current().get(parts[1])
        if known is None or not hmac.compare_digest(known.digest, _digest(parts[2])):
            return None
        return known if known.valid(round(self.clock.now() * MICROSECONDS)) else None

    def _current(self) -> dict[str, AccessToken]:
        """Every token by its id, read again once a statement or who may decide has changed; raises like `all`."""
        stamp = (self._authority.token(), self._statements.size(), tuple(self._log.database.query(_HASHES)))
        if stamp != self._known[0]:
            self._known = (stamp, {token.id: token for token in self.all()})
        return self._known[1]


def _made(statement: Statement, fields: dict[str, str]) -> AccessToken:
    expires = fields.get("expires", "")
    return AccessToken(
        fields["id"],
        fields.get("agent", ""),
        tuple(fields.get("toolsets", "").split()),
        fields.get("digest", ""),
        statement.event.at,
        statement.by,
        _microseconds(expires) if expires else None,
        fields.get("reason", ""),
    )


def _microseconds(text: str) -> int:
    """The time, or 0 for what is none: a token that ends at an unreadable time has ended."""
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_TIME else 0


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
