"""Disclosure of a request to the person who decides: everything that can act, and the digest that they sign.

The log keeps what redaction left. Who decides is shown the arguments as the call will pass them; hidden until they
are revealed may be a whole value that its contract declares sensitive, or a secret that the shell takes for data.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sb.base.text import quoted_name, revealed_line, shorten_middle
from sb.base.values.canonical import NotCanonical, canonical_bytes
from sb.errors import DeniedError
from sb.kernel.approvals.description import Section, description
from sb.kernel.calls.approval import OPEN, Approval, ApprovalState
from sb.log.event_log import EventLog

LONGEST_UNOPENED = 800  # characters of arguments that fit on a screen beside the rest of a request
MOST_UNOPENED = 10  # arguments, each on a line
CODE_LENGTH = 8  # characters of the digest that a person types
SHOWN = "shown"  # in the request's event and in a decision: the digest of everything displayed
SENSITIVE = "sensitive"  # in the request's event: the arguments that the contract declares so
_SHELL_TOOLS, _COMMAND = "host.shell.", "command"  # tools that a shell runs, and their argument that it reads
_OTHER_SHELL = "powershell"  # in the host's name of a tool: what it reads is not what the parser reads


class MustBeOpened(DeniedError):
    """It has more text than fits on a screen, and was not opened before it was approved."""

    kind = "must_be_opened"


class Segment(NamedTuple):
    """A piece of an argument's value, safe for a screen and on one line.

    Args:
        hidden: a secret that can do nothing, which may be left out until somebody asks to see it.
    """

    text: str
    hidden: bool = False

    def displayed(self, *, reveal: bool) -> str:
        """The text, or what stands for it."""
        return f"[hidden: {len(self.text):,} characters]" if self.hidden and not reveal else self.text


class Argument(NamedTuple):
    """One argument of the call."""

    name: str
    segments: tuple[Segment, ...]

    @property
    def size(self) -> int:
        """Characters, hidden ones included."""
        return len(self.name) + sum(len(segment.text) for segment in self.segments)

    def text(self, *, reveal: bool = False) -> str:
        """Its value."""
        return "".join(segment.displayed(reveal=reveal) for segment in self.segments)


class Disclosure(NamedTuple):
    """A request as the person who decides is shown it.

    Args:
        arguments: of the call, in full; of a request that ended, or cannot be shown in full, as the log keeps them.
        problem: why it cannot be approved whatever anybody says, or "". hint: what to do about that.
        digest: keyed, of everything displayed, unmasked; "" where that is not known.
    """

    approval: Approval
    arguments: tuple[Argument, ...]
    problem: str
    hint: str
    digest: str

    @property
    def size(self) -> int:
        """Characters of the arguments, hidden ones included."""
        return sum(argument.size for argument in self.arguments)

    @property
    def long(self) -> bool:
        """True if it has to be opened before it can be approved."""
        return self.size > LONGEST_UNOPENED or len(self.arguments) > MOST_UNOPENED

    def unread(self, opened: Collection[str]) -> bool:
        """True if it still has to be opened before it can be approved.

        Args:
            opened: the digests of what was opened.
        """
        return self.long and self.digest not in opened

    @property
    def _length(self) -> str:
        count = len(self.arguments)
        return f"{self.size:,} characters in {count} argument{'' if count == 1 else 's'}"

    @property
    def outdated(self) -> bool:
        """True if an older version asked, which did not sign what is displayed."""
        return SHOWN not in self.approval.request

    @property
    def can_be_decided(self) -> bool:
        """True if it waits, and asks for what is displayed."""
        return self.approval.state is ApprovalState.WAITING and not self.outdated

    @property
    def hides(self) -> bool:
        """True if something stays hidden until it is revealed."""
        return any(segment.hidden for argument in self.arguments for segment in argument.segments)

    @property
    def code(self) -> str:
        """The part of the digest that a person types."""
        return self.digest[:CODE_LENGTH]

    def lines(self, *, reveal: bool = False) -> list[str]:
        """One line for each argument, in full."""
        listed = [f"{argument.name} = {argument.text(reveal=reveal)}" for argument in self.arguments]
        return listed or ["none"]

    def brief(self, limit: int, *, reveal: bool = False) -> str:
        """The arguments on one line of about `limit` characters; what is left out is counted: of the first one its
        middle, then the others."""
        texts = [f"{argument.name}={argument.text(reveal=reveal)}" for argument in self.arguments]
        whole = ", ".join(texts)
        if len(whole) <= limit:
            return whole
        others = f", and {len(texts) - 1} more" if len(texts) > 1 else ""
        return shorten_middle(texts[0], limit) + others

    def call(self, limit: int, *, reveal: bool = False) -> str:
        """The call on one line, its arguments as `brief` has them."""
        return f"{revealed_line(self.approval.tool_id)} {self.brief(limit, reveal=reveal)}".rstrip()

    def sections(
        self, now: int, reasons: list[str], *, reveal: bool = False, limit: int = 0
    ) -> list[Section]:
        """Everything that is known about the request, as headings with lines.

        Args:
            now: microseconds since the epoch.
            reasons: a line for each why a person is asked.
            limit: characters of each argument beyond which its middle is left out; 0 for all.
        """
        lines = [shorten_middle(line, limit or len(line)) for line in self.lines(reveal=reveal)]
        sections = description(self.approval, now, lines, reasons)
        if self.problem and self.approval.state in OPEN:
            heading = (
                "cannot be approved" if self.approval.state is ApprovalState.WAITING else "does not count"
            )
            sections.insert(1, (heading, [self.problem, self.hint]))
        if self.long:
            sections.insert(1, ("length", [f"{self._length}: read all of it"]))
        return sections

    def to_dict(self, *, reveal: bool = False, limit: int = 0) -> dict[str, Any]:
        """Plain JSON; the digest is only in one that leaves nothing out."""
        lines = [shorten_middle(line, limit or len(line)) for line in self.lines(reveal=reveal)]
        return {
            "arguments": lines,
            "characters": self.size,
            "must_be_opened": self.long,
            "problem": self.problem,
            "digest": self.code if not limit else "",
        }

    def confirm(self, displayed: str) -> None:
        """Pass if a person who was shown `displayed` may approve it.

        Args:
            displayed: the digest, or its code, of what the person opened; "" for one who saw a request that fits.

        Raises:
            MustBeOpened: it is long, and it was not opened, or it is something else by now.
            DeniedError: it cannot be displayed in full, or was changed.
        """
        name = self.approval.id
        if self.problem:
            raise DeniedError(f"{name}: {self.problem}", self.hint)
        opens = f"sb approvals show --full {name}, then sb approvals approve {name} --shown DIGEST"
        if displayed and displayed not in (self.digest, self.code):
            raise MustBeOpened(f"{name} has another digest than {revealed_line(displayed)[:16]!r}", opens)
        if self.unread([self.digest] if displayed else []):
            raise MustBeOpened(f"{name} has {self._length}: open it first", opens)


def display_digest(log: EventLog, approval: Approval, args: Mapping[str, Any]) -> str:
    """The keyed digest of everything that is displayed of a request, with these whole arguments.

    Raises:
        NotCanonical: the row or its event holds what no request can hold.
    """
    request = {key: value for key, value in approval.request.items() if key != SHOWN}
    displayed = approval.binding(log.database_id) | {
        "version": 1,
        "safety_class": approval.safety_class,
        "run_id": approval.run_id,
        "call_id": approval.call_id,
        "due_at": approval.due_at,
        "request": request | {"args": args},
    }
    return log.digest(canonical_bytes(displayed))


def whole_arguments(log: EventLog, approval: Approval) -> dict[str, Any] | None:
    """The arguments that the request's digest is of, wherever they are kept; None when they are kept nowhere."""
    recorded = approval.request.get("args", {})
    if _fits(log, approval, recorded):
        return dict(recorded)
    stored = log.open_requests.get(approval.id) if approval.state in OPEN else None
    return stored if _fits(log, approval, stored) else None


def _fits(log: EventLog, approval: Approval, args: Any) -> bool:
    try:
        return isinstance(args, dict) and log.digest(canonical_bytes(args)) == approval.args_digest
    except NotCanonical:
        return False


def disclose(log: EventLog, approval: Approval) -> Disclosure:
    """The disclosure of a request to a person; raises nothing, whatever the database holds."""
    args = whole_arguments(log, approval)
    recorded = approval.request.get("args", {})
    shown = args if args is not None else recorded if isinstance(recorded, dict) else {"args": recorded}
    digest = ""
    if args is not None:
        try:
            digest = display_digest(log, approval, args)
        except NotCanonical:
            pass  # then it is not what was asked for either
    problem, hint = _problem(approval, args, digest)
    declared = approval.request.get(SENSITIVE)
    if args is None or not isinstance(declared, list):
        declared = []  # what the log keeps is masked already
    return Disclosure(approval, arguments_of(approval.tool_id, shown, declared), problem, hint, digest)


def arguments_of(tool_id: str, args: Mapping[str, Any], sensitive: Collection[str]) -> tuple[Argument, ...]:
    """The arguments of a call as who decides is shown them.

    Args:
        sensitive: the names of those that the tool's contract declares sensitive.
    """
    parsed = tool_id.startswith(_SHELL_TOOLS) and _OTHER_SHELL not in str(args.get("tool", "")).lower()
    found = []
    for name, value in args.items():
        called = quoted_name(name)  # or it could pass for another's value
        if name in sensitive:
            segments: tuple[Segment, ...] = (Segment(_text(value), hidden=True),)
        elif parsed and name == _COMMAND and isinstance(value, str):
            segments = _command_line(value)
        else:
            segments = (Segment(_text(value)),)
        found.append(Argument(called, segments))
    return tuple(found)


def _problem(approval: Approval, args: dict[str, Any] | None, digest: str) -> tuple[str, str]:
    recorded = approval.request.get(SHOWN)
    ends = "revoke" if approval.state is ApprovalState.APPROVED else "deny"
    if recorded is None:
        return (
            "it is from an older version of SecondBrain, which did not sign what is displayed",
            "sb recovery approve asks anew"
            if approval.reverses
            else f"{ends} it, or have the agent repeat the call, which makes a new request",
        )
    if args is None:
        return "its arguments cannot be shown in full", f"{ends} it, or have the agent repeat the call"
    if digest != recorded:
        return "it is not what was asked for: it was changed in the database", f"{ends} it; sb log verify"
    return "", ""


def _command_line(command: str) -> tuple[Segment, ...]:
    from sb.shell.parsing.literals import secret_literals  # only who shows a command line needs the parser

    segments, at = [Segment('"')], 0
    for start, end in secret_literals(command):
        segments += [
            Segment(_text(command[at:start])[1:-1]),
            Segment(_text(command[start:end])[1:-1], hidden=True),
        ]
        at = end
    return (*segments, Segment(_text(command[at:])[1:-1] + '"'))


def _text(value: Any) -> str:
    """A value as JSON on one line, in which every character can be seen."""
    return revealed_line(json.dumps(value, ensure_ascii=False))
