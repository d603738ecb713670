"""Enroll, rotate and revoke operators.

The root file is written first, the event after it: a file with more signed entries than the log knows is accepted,
one with fewer is not, so a crash between the two never brings back a revoked key.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path

from sb.base.secrets.redaction import redact_text
from sb.base.sources import iso
from sb.base.text import nearest, plain
from sb.base.values.signatures import key_id_of, public_bytes
from sb.errors import DeniedError, NotFoundError, SBError, UsageError
from sb.kernel.authority.authority import OPERATORS, Authority, Unauthorised
from sb.kernel.authority.keys import KeyFile, KeyFolder, checked_name, make_key, name_from
from sb.kernel.authority.root_file import EnrolledOperator, RootFile, Roster, new_entry
from sb.kernel.authority.signing import Decider, Label, Operator
from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import OPERATOR_CHANGED

Ask = Callable[[str], str]


class Enrolment:
    """Changes who may decide, in the root file and on the log.

    Args:
        authority: of a home and a log.
        keys: the private keys of this home.
    """

    def __init__(self, authority: Authority, keys: KeyFolder) -> None:
        if authority.root_file is None or authority.log is None:
            raise ValueError("enrolment needs a root file and a log")
        self._authority = authority
        self._file: RootFile = authority.root_file
        self._log: EventLog = authority.log
        self._keys = keys

    def init(self, name: str, passphrase: str | None) -> Operator | None:
        """Make the first operator, with a key of this home.

        Args:
            passphrase: None keeps the key unencrypted.

        Returns:
            The operator, able to sign; None if the file names somebody already and was only put on this log.

        Raises:
            UsageError: somebody is enrolled already, and this log knows.
        """
        checked_name(name)
        with self._file.locked():
            roster = self._authority.roster()
            if roster.entries:
                self._only_record(roster)
                return None
            return self._begin(roster, name, passphrase, "enrolled")

    def replace(self, name: str, passphrase: str | None, reason: str) -> tuple[Operator, Path | None]:
        """Begin anew, for when no valid key can be used any more: nothing that was signed before counts.

        Returns:
            The new operator, and where the old file lies now.
        """
        checked_name(name)
        _required(reason)
        path = self._file.path
        with self._file.locked():
            old = None
            if path.exists():
                stamp = iso(self._log.clock.now()).replace(":", "").partition(".")[0]
                old = path.with_name(f"{path.name}.replaced-{stamp}")
                path.replace(old)
            if name in self._keys.names():
                key = self._keys.path(name)
                key.replace(key.with_name(f"{key.name}.replaced"))
            return self._begin(Roster(), name, passphrase, "replaced", reason), old

    def add(
        self, name: str, public_key: str, by: Decider, reason: str, *, passphrase: str | None = None
    ) -> EnrolledOperator:
        """Let in one more person.

        Args:
            public_key: of a key that was made elsewhere; "" makes one in this home, under `passphrase`.
            by: an operator with an unlocked key.

        Raises:
            UsageError: name or key are enrolled already, or the text is no key.
            DeniedError: `by` is not an operator.
        """
        checked_name(name)
        _required(reason)
        with self._file.locked():
            roster = self._signed_by(by)
            if roster.named(name) is not None:
                raise UsageError(f"{name} is enrolled already", "choose another name, or rotate the key")
            if public_key:
                _unused(roster, public_key)
            else:
                file, made = make_key(name, passphrase)
                self._keep(roster, file)
                public_key = made.public_key
            return self._change(roster, "add", name, public_key, by, reason)

    def revoke(self, name: str, by: Decider, reason: str) -> EnrolledOperator:
        """Shut out a person: nothing that this key ever signed counts any more.

        Raises:
            NotFoundError: nobody of this name is enrolled.
            UsageError: it is the last operator.
        """
        _required(reason)
        with self._file.locked():
            roster = self._signed_by(by)
            found = roster.named(name)
            if found is None:
                near = nearest(name, [operator.name for operator in roster.active()])
                raise NotFoundError(f"no operator {plain(name, one_line=True)!r}{near}", "sb operator list")
            if len(roster.active()) == 1:
                raise UsageError(f"{name} is the last operator", "add another one first, or rotate the key")
            return self._change(roster, "revoke", name, found.public_key, by, reason)

    def rotate(self, by: Decider, passphrase: str | None, reason: str) -> EnrolledOperator:
        """Give an operator of this home a new key; what the old one signed until now still counts.

        Args:
            by: the operator, with the old key unlocked.
            passphrase: of the new key; None keeps it unencrypted.
        """
        _required(reason)
        with self._file.locked():
            roster = self._signed_by(by)
            file, made = make_key(by.name, passphrase)
            self._keys.write(file, pending=True)
            changed = self._change(roster, "rotate", by.name, made.public_key, by, reason)
            self._keys.enrolled(by.name, made.public_key)
            return changed

    def _begin(
        self, roster: Roster, name: str, passphrase: str | None, how: str, reason: str = ""
    ) -> Operator:
        file, made = make_key(name, passphrase)
        self._keep(roster, file)
        at = iso(self._log.clock.now())
        roster = roster.extended(new_entry(roster, "root", name, made.public_key, at, made))
        self._write(roster)
        self._record(roster, how, reason)
        return made

    def _keep(self, roster: Roster, file: KeyFile) -> None:
        """Keep a fresh key, in place of one that nobody ever enrolled: an earlier attempt was cut short."""
        if file.name in self._keys.names():
            present = self._keys.read(file.name)
            if roster.with_key(key_id_of(present.public_key)) is not None:
                raise UsageError(f"this home has a key of {file.name} already", "choose another name")
        self._keys.write(file)

    def _only_record(self, roster: Roster) -> None:
        """The file is there: put it on this log, unless it is."""
        if self._authority.recorded():
            known = ", ".join(operator.name for operator in roster.active())
            raise UsageError(
                f"operators are enrolled already: {known}", "sb operator add lets in another one"
            )
        self._record(roster, "recorded", "")

    def _signed_by(self, by: Decider) -> Roster:
        roster = self._authority.roster()
        found = roster.named(by.name)
        if found is None or found.key_id != by.key_id:
            raise DeniedError(f"{by.name} is not an operator", "sb operator list")
        return roster

    def _change(
        self, roster: Roster, action: str, name: str, public_key: str, by: Decider, reason: str
    ) -> EnrolledOperator:
        at = iso(self._log.clock.now())
        changed = roster.extended(new_entry(roster, action, name, public_key, at, by))
        self._write(changed)
        self._record(changed, action, reason)
        found = changed.with_key(key_id_of(public_key))
        assert found is not None
        return found

    def _write(self, roster: Roster) -> None:
        """Write the file, once it is on record which decisions came before."""
        if self._log.anchor is not None:
            self._log.anchor_head(self._log.head(), anyway=True)
            at, head = iso(self._log.clock.now()), roster.head
            self._log.anchor.mark_operators(self._file.path, len(roster.entries), head, at)
        self._file.write(roster)

    def _record(self, roster: Roster, how: str, reason: str) -> None:
        entry = roster.entries[-1]["statement"]
        untrusted = {
            "reason": redact_text(plain(reason, one_line=True)),
            "name": entry["name"],
            "by": entry["by"],
        }
        facts = {
            "how": how,
            "root": roster.root,
            "entries": len(roster.entries),
            "head": roster.head,
            "key": key_id_of(entry["public_key"]),
        }
        with self._log.write(power=True) as write:
            write.append(OPERATOR_CHANGED, untrusted, Subject(call_id=OPERATORS), facts)


def _required(reason: str) -> None:
    if not plain(reason, one_line=True).strip():
        raise UsageError("this needs a reason", "--reason TEXT")


def _unused(roster: Roster, public_key: str) -> None:
    try:
        public_bytes(public_key)
    except ValueError as error:
        raise UsageError(
            f"{plain(public_key, one_line=True)[:60]!r} is {error}", "sb operator whoami prints one"
        ) from None
    known = roster.with_key(key_id_of(public_key))
    if known is not None:
        raise UsageError(f"this key is {known.name}'s already ({known.state})", "make a fresh one")


def login_name() -> str:
    """The name of this process's user, as an operator's name."""
    try:
        return name_from(getpass.getuser())
    except (OSError, KeyError):  # a container's user need not be in the table
        return "operator"


def anybody(authority: Authority, keys: KeyFolder, name: str, ask: Ask) -> Decider:
    """The decider where anybody may act: an operator whose key lies open in this home, or a label.

    Args:
        name: an operator, whose passphrase is asked for, or a mere label; "" for whoever is there.

    Raises:
        SBError: the operator who was named cannot sign.
    """
    label = Label(plain(name, one_line=True) or f"local:{login_name()}")
    try:
        active = {operator.name: operator for operator in authority.roster().active()}
        here = [known for known in keys.names() if known in active and name in ("", known)]
        file = keys.enrolled(here[0], active[here[0]].public_key) if len(here) == 1 else None
    except SBError:
        return label  # what anybody may do must not wait for keys that cannot be relied on
    if file is None or (file.locked and not name):
        return label
    return file.unlock(ask(f"passphrase of {file.name}: ") if file.locked else "")


def operators_here(authority: Authority, keys: KeyFolder) -> list[str]:
    """The names of the operators whose keys lie in this home."""
    active = {operator.name for operator in authority.roster().active()}
    return [name for name in keys.names() if name in active]


def decider(authority: Authority, keys: KeyFolder, name: str, ask: Ask, *, option: str = "--as") -> Decider:
    """The decider of this home: an operator whose key lies here, or a label while nobody is enrolled.

    Args:
        name: "" for the only one that fits.
        ask: gets a prompt and returns the passphrase.
        option: by which a person names one.

    Raises:
        Unauthorised: who is enrolled cannot be relied on.
        DeniedError: no key of this home may decide, or the passphrase does not fit.
        UsageError: several may, and none was named.
    """
    active = {operator.name: operator for operator in authority.roster().active()}
    if not active:
        return Label(plain(name, one_line=True) or f"local:{login_name()}")
    here = operators_here(authority, keys)
    if name and name not in active:
        raise Unauthorised(f"{plain(name, one_line=True)!r} is not an operator", "sb operator list")
    if not name and len(here) != 1:
        if here:
            raise UsageError(
                "this home has the keys of " + ", ".join(here),
                f"name yours, such as {option} {here[0]}",
            )
        raise DeniedError(
            "operators are enrolled, but none of their keys is in this home", "sb operator whoami"
        )
    chosen = active[name or here[0]]
    file = keys.enrolled(chosen.name, chosen.public_key)
    return file.unlock(ask(f"passphrase of {file.name}: ") if file.locked else "")
