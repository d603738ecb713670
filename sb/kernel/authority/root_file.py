"""The operators file: public keys that may decide, each signed by an earlier one.

A file outside the database: a list of entries, each signed by an operator who could at that point, and naming the
digest of the entry before. The first one is signed by its own key: whoever writes it first owns this home's decisions.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from sb.base.files import write_atomic
from sb.base.values.canonical import NotCanonical, canonical_bytes, digest
from sb.base.values.signatures import key_id_of, public_bytes, signature_fits
from sb.errors import ConfigError, SBError
from sb.kernel.authority.keys import NAME
from sb.kernel.authority.signing import Decider

LARGEST = 1 << 20  # bytes: thousands of entries
ACTIONS = ("root", "add", "revoke", "rotate")


class EnrolledOperator(NamedTuple):
    """One public key of one person.

    Args:
        since, until: in ISO 8601; `until` is "" while it is active.
        by: who let it in.
        state: active, revoked (nothing it ever signed counts) or rotated (what it signed before still does).
        ended_by: the digest of the entry that revoked or rotated it.
    """

    name: str
    key_id: str
    public_key: str
    since: str
    by: str
    state: str = "active"
    until: str = ""
    ended_by: str = ""


class Damaged(SBError):
    """The root file cannot be relied on."""

    kind = "operators_damaged"


class Roster(NamedTuple):
    """The content of the root file.

    Args:
        entries: as they are in the file, oldest first.
        operators: every key that was ever enrolled.
    """

    entries: tuple[dict[str, Any], ...] = ()
    operators: tuple[EnrolledOperator, ...] = ()

    @property
    def root(self) -> str:
        """The id of the first key, "" while nobody is enrolled."""
        return self.operators[0].key_id if self.operators else ""

    @property
    def head(self) -> str:
        """The digest of the last entry."""
        return digest(canonical_bytes(self.entries[-1])) if self.entries else ""

    def active(self) -> list[EnrolledOperator]:
        return [operator for operator in self.operators if operator.state == "active"]

    def named(self, name: str) -> EnrolledOperator | None:
        """The valid key of this person."""
        return next((operator for operator in self.active() if operator.name == name), None)

    def with_key(self, key_id: str) -> EnrolledOperator | None:
        return next((operator for operator in self.operators if operator.key_id == key_id), None)

    def extended(self, entry: dict[str, Any]) -> Roster:
        """With one more entry; raises Damaged unless somebody who could has signed it."""
        try:
            return _extended(self, entry)
        except (KeyError, TypeError, ValueError, AttributeError, NotCanonical) as error:
            raise Damaged(
                f"entry {len(self.entries) + 1} of the operators file is damaged: {error}"
            ) from None


def new_entry(
    roster: Roster, action: str, name: str, public_key: str, at: str, by: Decider
) -> dict[str, Any]:
    """A signed entry that may come after those of `roster`."""
    statement = {
        "action": action,
        "name": name,
        "public_key": public_key,
        "at": at,
        "prev": roster.head,
        "by": by.name,
        "key": by.key_id,
    }
    return {"statement": statement, "signature": by.sign(canonical_bytes(statement))}


def _extended(roster: Roster, entry: dict[str, Any]) -> Roster:
    statement = entry["statement"]
    action, name, public_key = statement["action"], statement["name"], statement["public_key"]
    if entry.keys() != {"statement", "signature"} or action not in ACTIONS or not NAME.fullmatch(name):
        raise ValueError("it is not an entry")
    if statement["prev"] != roster.head:
        raise ValueError("it does not follow the one before")
    public_bytes(public_key)
    signer = public_key if action == "root" else _signer(roster, statement)
    if (action == "root") != (not roster.entries):
        raise ValueError("only the first entry is the root")
    if statement["key"] != key_id_of(signer) or not signature_fits(
        signer, canonical_bytes(statement), entry["signature"]
    ):
        raise ValueError("its signature does not fit")
    operators = _changed(roster, action, name, public_key, statement, digest(canonical_bytes(entry)))
    return Roster((*roster.entries, entry), operators)


def _signer(roster: Roster, statement: dict[str, Any]) -> str:
    found = roster.with_key(statement["key"])
    if found is None or found.state != "active" or found.name != statement["by"]:
        raise ValueError("who signed it was not an operator then")
    return found.public_key


def _changed(
    roster: Roster, action: str, name: str, public_key: str, statement: dict[str, Any], entry: str
) -> tuple[EnrolledOperator, ...]:
    present = roster.named(name)
    added = EnrolledOperator(name, key_id_of(public_key), public_key, statement["at"], statement["by"])
    if action == "revoke":
        if present is None or present.public_key != public_key or len(roster.active()) == 1:
            raise ValueError("nobody, or the last operator, is revoked")
        return _ended(roster, present, "revoked", statement["at"], entry)
    if roster.with_key(added.key_id) is not None:
        raise ValueError("a key is enrolled twice")
    if action == "rotate":
        if present is None or present.key_id != statement["key"]:
            raise ValueError("another operator rotates a key")
        return (*_ended(roster, present, "rotated", statement["at"], entry), added)
    if present is not None:
        raise ValueError("a name is enrolled twice")
    return (*roster.operators, added)


def _ended(
    roster: Roster, whom: EnrolledOperator, state: str, at: str, entry: str
) -> tuple[EnrolledOperator, ...]:
    ended = whom._replace(state=state, until=at, ended_by=entry)
    return tuple(ended if operator is whom else operator for operator in roster.operators)


class RootFile:
    """The file of trusted keys; reading it again costs one stat while it has not changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._roster = Roster()

    def state(self) -> tuple[int, int, int] | None:
        """The file's identity, size and time, which tell its versions apart; None without a file."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Damaged(f"cannot read {self.path}: {error.strerror}") from None
        if not S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise Damaged(f"{self.path} is not a list of operators")
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> Roster:
        """The roster in the file; empty without one.

        Raises:
            Damaged: it cannot be read, or is not what operators signed.
        """
        seen = self.state()
        if seen is None:
            return Roster()
        if seen != self._seen:
            self._roster = self._verified()
            self._seen = seen
        return self._roster

    def _verified(self) -> Roster:
        try:
            entries = json.loads(self.path.read_text(encoding="utf-8"))["entries"]
            roster = Roster()
            for entry in entries:
                roster = roster.extended(entry)
        except OSError as error:
            raise Damaged(f"cannot read {self.path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Damaged(f"{self.path} is not a list of operators: {error}") from None
        if not roster.entries:
            raise Damaged(f"{self.path} names nobody")
        return roster

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from changing it meanwhile."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot change {self.path}: {error.strerror}") from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def write(self, roster: Roster) -> None:
        """Put this in place of what is there, whole or not at all."""
        text = json.dumps({"entries": roster.entries}, indent=2) + "\n"
        try:
            write_atomic(self.path, text.encode())
        except OSError as error:
            raise ConfigError(f"cannot write {self.path}: {error.strerror}") from None
