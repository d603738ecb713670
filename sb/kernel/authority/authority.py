"""Verify who may decide, and that one of them made a decision."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

from sb.base.values.canonical import NotCanonical, canonical_bytes, digest
from sb.base.values.signatures import signature_fits
from sb.errors import DeniedError, NotFoundError, SBError
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.root_file import EnrolledOperator, RootFile, Roster
from sb.log.event import Event, link_of
from sb.log.event_log import EventLog
from sb.log.people_events import people_events

OPERATORS = "operators"  # what the events about enrolment are found under
_MOST_LINKS = 5000  # events that are followed from a decision to the next anchor


class Unauthorised(DeniedError):
    """The decision is not one of somebody who may decide."""

    kind = "unauthorised"


class Assurance(IntEnum):
    """Assurance of a decision, from little to much."""

    NONE = 0
    SIGNED = 1
    PASSPHRASE = 2
    SEPARATE = 3

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]

    @property
    def next_step(self) -> str:
        """The step to the level above; "" at the top."""
        return _NEXT[self]


_MEANINGS = {
    Assurance.NONE: "no operator is enrolled: decisions are unsigned, and any process that can write the database can decide",
    Assurance.SIGNED: "decisions are signed, with a key that every process of this user can read",
    Assurance.PASSPHRASE: "decisions are signed with keys under a passphrase; a process of this user could still "
    "replace the operators file, which the log would show",
    Assurance.SEPARATE: "decisions are signed, and this user can neither use the keys nor change who is enrolled",
}
_NEXT = {
    Assurance.NONE: "sb operator init",
    Assurance.SIGNED: "sb operator rotate gives the key a passphrase",
    Assurance.PASSPHRASE: "run agents as another user, one who cannot write operators.file; docs/start/operator.md",
    Assurance.SEPARATE: "",
}


class Authority:
    """The operators of one home, as one log knows them.

    Args:
        path: the root file; None for an executor without a home, where nobody is enrolled.
        log: where enrolment is recorded; a file that does not fit what it recorded is refused.
    """

    def __init__(self, path: Path | None, log: EventLog | None = None) -> None:
        self.root_file = None if path is None else RootFile(path)
        self.log = log

    def token(self) -> object:
        """Something that differs once who may decide has changed; cheap to ask for."""
        return None if self.root_file is None else self.root_file.state()

    def roster(self) -> Roster:
        """Everybody who was ever enrolled; raises Unauthorised when that cannot be relied on."""
        try:
            roster = Roster() if self.root_file is None else self.root_file.read()
            recorded = self.recorded()
        except SBError as error:
            raise Unauthorised(error.message, 'docs/start/operator.md, "A lost key"') from error
        if recorded:
            self._compare(roster, recorded)
        return roster

    def _compare(self, roster: Roster, recorded: dict[str, Any]) -> None:
        path = "the operators file" if self.root_file is None else str(self.root_file.path)
        hint = 'put it back, or see docs/start/operator.md, "A lost key"'
        if not roster.entries:
            raise Unauthorised(f"{path} is gone, although the log says that operators are enrolled", hint)
        count = int(recorded["entries"])
        if roster.root != recorded["root"]:
            raise Unauthorised(f"{path} is not the one on the log: it begins with another key", hint)
        if len(roster.entries) < count or _head(roster.entries[count - 1]) != recorded["head"]:
            raise Unauthorised(f"{path} is not the one on the log: entries are missing", hint)

    def recorded(self) -> dict[str, Any]:
        """The newest event about the root file; {} without one."""
        if self.log is None:
            return {}
        events = people_events(self.log, OPERATORS)
        return dict(events[-1].payload or {}) if events else {}

    def operators(self) -> list[EnrolledOperator]:
        """Every key that was ever enrolled; raises like `roster`."""
        return list(self.roster().operators)

    def enrolled(self) -> bool:
        """True if anybody is; raises like `roster`."""
        return bool(self.roster().entries)

    def verify(
        self,
        signed: Mapping[str, Any],
        event: Event | None = None,
        *,
        made_elsewhere: bool = False,
        roster: Roster | None = None,
    ) -> str:
        """The name of who made this statement.

        Args:
            signed: made by `signed_statement`.
            event: the event of the log that holds it; None while it is being made.
            roster: as it was just read, for many statements; None reads it.
            made_elsewhere: it is on no log of this home, so when it was made is known from itself alone.

        Raises:
            Unauthorised: nobody who may decide did. While nobody is enrolled an unsigned statement counts.
        """
        roster = roster or self.roster()
        try:
            statement, signature = signed["statement"], signed["signature"]
            name, key_id, at = str(statement["by"]), str(statement["key"]), str(statement["at"])
            data = canonical_bytes(statement)
        except (KeyError, TypeError, NotCanonical):
            raise Unauthorised("the decision is damaged") from None
        if not key_id:
            if roster.entries:
                raise Unauthorised(f"the decision of {name} is unsigned, although operators are enrolled")
            return name
        found = roster.with_key(key_id)
        if found is None:
            raise Unauthorised(f"the decision of {name} is signed with the unknown key {key_id}")
        ended = found.state == "revoked" or (found.state == "rotated" and at > found.until)
        if found.state == "rotated" and not (ended or made_elsewhere):
            ended = event is None or not self._came_before(event, found.ended_by)
        if ended:
            raise Unauthorised(f"the decision of {name} is signed with the {found.state} key {key_id}")
        if found.name != name or not signature_fits(found.public_key, data, str(signature)):
            raise Unauthorised(f"the signature on the decision of {name} does not fit")
        return name

    def before_enrolment(self, event: Event) -> bool:
        """True if nobody was enrolled on this log when it was written, so that nothing could be signed."""
        enrolment = [] if self.log is None else people_events(self.log, OPERATORS)
        return bool(enrolment) and event.seq < enrolment[0].seq

    def _came_before(self, event: Event, entry: str) -> bool:
        """True if a decision was on the log before this entry was in the root file; what it says of itself can lie.

        Said by the event of the entry, and by the anchors, among which each entry is noted before it takes effect.
        """
        if self.log is None:
            return False
        for change in people_events(self.log, OPERATORS):
            if (change.payload or {}).get("head") == entry and event.seq > change.seq:
                return False
        anchored = None if self.log.anchor is None else self.log.anchor.before(entry)
        return anchored is None or any(head.encode() in anchored for head in self._links(event))

    def _links(self, event: Event) -> Iterator[str]:
        """The hash of an event and of those after it, as long as each follows the one before."""
        last = event.hash
        yield last
        assert self.log is not None
        for later in self.log.events(after=event.seq, limit=_MOST_LINKS):
            if later.prev != last or later.hash != link_of(later):
                return
            last = later.hash
            yield last

    def assurance(self, keys: KeyFolder) -> Assurance:
        """The assurance of decisions here; raises like `roster`.

        Args:
            keys: the private keys that lie in this home.
        """
        active = self.roster().active()
        if not active or self.root_file is None:
            return Assurance.NONE
        here = {operator.key_id: operator for operator in active}
        for name in keys.names():
            try:
                file = keys.read(name)
            except (SBError, NotFoundError):
                continue  # what cannot be read cannot sign
            if not file.locked and any(operator.public_key == file.public_key for operator in here.values()):
                return Assurance.SIGNED
        return Assurance.SEPARATE if _out_of_reach(self.root_file.path) else Assurance.PASSPHRASE


def _head(entry: dict[str, Any]) -> str:
    return digest(canonical_bytes(entry))


def _out_of_reach(path: Path) -> bool:
    """True if this process's user cannot replace the file."""
    return os.geteuid() != 0 and not os.access(path, os.W_OK) and not os.access(path.parent, os.W_OK)
