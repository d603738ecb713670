"""Reversal contracts that authors declare, and the undo record that a call leaves.

Source: the survival layer, section 1. These names are part of `sb.kernel.contracts`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, fields
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from typing import Any

from sb.base.secrets.redaction import SENSITIVE, redact
from sb.base.sources import iso_micros
from sb.base.values.frozen import frozen
from sb.errors import ContractError, SBError

_PATH = re.compile(r"(args|result|call)\.([A-Za-z0-9_.-]+?)(\?)?")
_HOLE = re.compile(r"\{([^{}]*)\}")
UNDO = "undo"  # the cause of a reversal that a person asked for
OVER = "_over"  # behind the name of a reversal: what overwrites later changes too, and can be undone itself
LONGEST_WINDOW_MS = 10 * 366 * 86_400_000


class ReversalClass(StrEnum):
    """Class of reversal: undo the consequence, make up for it, or neither."""

    REVERSIBLE = "reversible"
    COMPENSABLE = "compensable"
    IRREVERSIBLE = "irreversible"


class RecoveryApprovalMode(StrEnum):
    """Approval mode of a reversal; never taken over from the call that is reversed."""

    AUTO = "auto"
    HUMAN = "human"
    DUAL_CONTROL = "dual_control"


class Unresolved(SBError):
    """A mapping names something that the call or its result does not have."""

    kind = "unresolved"


@frozen
class BlastRadius:
    """The most that one run may do with a tool; None for no limit.

    Args:
        max_calls_per_run: calls that ran and did not fail.
        max_value_per_run: sum of the argument that the tool's `value_arg` metadata names.
    """

    max_calls_per_run: int | None = None
    max_value_per_run: float | None = None

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if limit is not None and (isinstance(limit, bool) or not limit >= 0):
                raise ContractError(f"{name} is {limit!r}, must be a number from 0")


@frozen
class Assumption:
    """Something that justifies a call; when it turns false, the way back is offered.

    Args:
        ref: its name, such as ``order_not_shipped:{args.order}``; what braces name is put in.
        tool_id: a read-only tool that tells whether it still holds; "" if only an event says so.
        args: what that tool is given, mapped as `ReversalSpec.reversal_args`.
        path: where in the tool's result to look; "" for the whole.
        equals: what has to be found there, mapped alike.
        holds_for_ms: milliseconds after the call for which it holds; None for ever.
    """

    ref: str
    tool_id: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""
    equals: Any = None
    holds_for_ms: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.ref, str) or not self.ref:
            raise ContractError(f"an assumption's ref is {self.ref!r}, must be a name")
        if self.tool_id and not self.path and self.equals is None:
            raise ContractError(
                f"the assumption {self.ref} asks {self.tool_id} and says nothing of the answer",
                "path and equals",
            )
        for hole in _HOLE.findall(self.ref):
            _require_path(hole)
        require_mapping({**self.args, "equals": self.equals})
        _require_time("holds_for_ms", self.holds_for_ms)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {**vars(self), "args": dict(self.args)}


@frozen
class ReversalSpec:
    """Declaration of how a tool's effect is undone; a reversible one that names nothing else leaves nothing behind.

    Args:
        compensation_capability: the tool that undoes it; "" for none.
        recovery_approval_mode: who has to agree to that.
        reversal_window_ms: milliseconds after the call in which it can be undone; None for ever.
        reversal_args: argument of the undoing tool to where its value comes from: ``args.NAME``, ``result.PATH``,
            ``call.idempotency_key`` or ``call.call_id``; with ``?`` behind it, left out where there is none.
            ``=TEXT`` is that text; numbers, booleans and None stand for themselves.
        assumptions: what justifies each call, beside what its caller and its result name.
        assumptions_from: where in the result a list of further assumptions' names is, as ``result.PATH``.
        external_handle: where in the result the transaction's id of the other system is, as ``result.PATH``.
        irreversible_when: argument values with which a call cannot be undone, whatever the class says.
        preview_capability: a read-only tool with the same arguments as the undoing one, which answers
            ``{"ok": bool, "detail": str}`` without changing anything.
        probe_capability: a read-only tool that, given ``key`` (the idempotency key of a call in doubt), answers
            ``{"done": bool, "result": ...}``.
    """

    reversal_class: ReversalClass = ReversalClass.IRREVERSIBLE
    compensation_capability: str = ""
    recovery_approval_mode: RecoveryApprovalMode = RecoveryApprovalMode.HUMAN
    reversal_window_ms: int | None = None
    blast_radius: BlastRadius = field(default_factory=BlastRadius)
    reversal_args: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    assumptions_from: str = ""
    external_handle: str = ""
    irreversible_when: Mapping[str, Any] = field(default_factory=dict)
    preview_capability: str = ""
    probe_capability: str = ""

    def __post_init__(self) -> None:
        for name, kind in (
            ("reversal_class", ReversalClass),
            ("recovery_approval_mode", RecoveryApprovalMode),
        ):
            value = getattr(self, name)
            if value not in list(kind):
                raise ContractError(f"unknown {name} {value!r}", "one of " + ", ".join(kind))
            object.__setattr__(self, name, kind(value))
        _require_time("reversal_window_ms", self.reversal_window_ms)
        if self.reversal_class is ReversalClass.IRREVERSIBLE and self.compensation_capability:
            raise ContractError("what is irreversible has no compensation_capability")
        if not isinstance(self.blast_radius, BlastRadius):
            raise ContractError(f"blast_radius is {self.blast_radius!r}, must be a BlastRadius")
        named = [Assumption(item) if isinstance(item, str) else item for item in listed(self.assumptions)]
        object.__setattr__(self, "assumptions", tuple(named))
        require_mapping(self.reversal_args)
        for path in (self.assumptions_from, self.external_handle):
            if path:
                _require_path(path)

    @cached_property
    def needs(self) -> frozenset[str]:
        """The arguments of a call that its way back is made from."""
        mapped: list[Any] = [*self.reversal_args.values(), self.assumptions_from, self.external_handle]
        for assumption in self.assumptions:
            mapped += [*_HOLE.findall(assumption.ref), *assumption.args.values(), assumption.equals]
        paths = [_PATH.fullmatch(value) for value in mapped if isinstance(value, str)]
        named = {match[2].partition(".")[0] for match in paths if match and match[1] == "args"}
        return frozenset(named | self.irreversible_when.keys())

    @property
    def leaves_nothing(self) -> bool:
        """True if calls change nothing that would have to be undone, so that one in doubt does no harm."""
        changes = self.compensation_capability or self.irreversible_when or self.assumptions
        return self.reversal_class is ReversalClass.REVERSIBLE and not changes

    def class_of(self, args: Mapping[str, Any]) -> ReversalClass:
        """The reversal class of a call with these arguments."""
        if self.irreversible_when and any(
            name in args and args[name] == value for name, value in self.irreversible_when.items()
        ):
            return ReversalClass.IRREVERSIBLE
        return self.reversal_class

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, everything that the reversal fingerprint covers."""
        state = self.__dict__
        return {name: state[name] for name in _field_names()} | {
            "reversal_class": str(self.reversal_class),
            "recovery_approval_mode": str(self.recovery_approval_mode),
            "blast_radius": vars(self.blast_radius),
            "reversal_args": dict(self.reversal_args),
            "irreversible_when": dict(self.irreversible_when),
            "assumptions": [assumption.to_dict() for assumption in self.assumptions],
        }


@cache
def _field_names() -> tuple[str, ...]:
    return tuple(item.name for item in fields(ReversalSpec))


def listed(assumptions: Sequence[Assumption | str]) -> Sequence[Assumption | str]:
    """The assumptions of a call, as names and Assumptions; raises ContractError for anything else."""
    if isinstance(assumptions, str | Assumption):
        raise ContractError(f"the assumptions are {assumptions!r}, must be a list")
    for assumption in assumptions:
        if not assumption or not isinstance(assumption, str | Assumption):
            raise ContractError(f"{assumption!r} is no assumption, must be a name or an Assumption")
    return assumptions


class MutationState(StrEnum):
    """State of a consequence. `reversing` stays where the outcome of its reversal is unknown."""

    COMMITTED = "committed"
    REVERSING = "reversing"
    REVERSED = "reversed"


@frozen
class MutationRef:
    """An executable pointer back from what one call did, bound when it was done.

    Args:
        mutation_id: names it: ``mut_<row of the log>_<end of the call's id>``.
        reversal_tool: what undoes it; "" when nothing does.
        reversal_args: what that tool is given; secrets included, so they are shown only redacted.
        external_handle: the transaction's id in the other system.
        bound_at: microseconds since the epoch. window_ends_at: alike; None for never.
        reversal_fingerprint: of the declaration that it was bound under.
        no_way_back: why there is no reversal, "" if there is one.
        sensitive: the arguments of the reversal that are never shown, since they hold sensitive ones of the call.
    """

    mutation_id: str
    call_id: str
    run_id: str
    agent: str
    tool_id: str
    reversal_class: ReversalClass
    reversal_tool: str
    reversal_args: dict[str, Any]
    recovery_approval_mode: RecoveryApprovalMode
    assumption_refs: tuple[str, ...]
    external_handle: str
    idempotency_key: str
    bound_at: int
    window_ends_at: int | None
    reversal_fingerprint: str
    preview_tool: str = ""
    no_way_back: str = ""
    sensitive: tuple[str, ...] = ()
    state: MutationState = MutationState.COMMITTED

    def in_window(self, now: int) -> bool:
        """True if it can still be undone at this time, in microseconds since the epoch."""
        return self.window_ends_at is None or now < self.window_ends_at

    def undoable(self, now: int) -> bool:
        """True if its reversal can be tried at this time, in microseconds since the epoch."""
        committed = self.state is MutationState.COMMITTED
        return committed and bool(self.reversal_tool) and not self.is_empty and self.in_window(now)

    @property
    def is_empty(self) -> bool:
        """True if its reversal restores files, and there are none: the call changed nothing that was stored."""
        return self.reversal_args.get("files") == []

    def shown_args(self) -> dict[str, Any]:
        """The arguments of the reversal as they may be shown."""
        masked = dict.fromkeys(self.sensitive, SENSITIVE)
        return {**redact(self.reversal_args), **masked}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON as it may be shown, with times in ISO 8601."""
        ends = self.window_ends_at
        return vars(self) | {
            "reversal_args": self.shown_args(),
            "sensitive": list(self.sensitive),
            "reversal_class": str(self.reversal_class),
            "recovery_approval_mode": str(self.recovery_approval_mode),
            "state": str(self.state),
            "assumption_refs": list(self.assumption_refs),
            "bound_at": iso_micros(self.bound_at),
            "window_ends_at": None if ends is None else iso_micros(ends),
        }


def _require_time(name: str, value: Any) -> None:
    if value is not None and (type(value) is not int or not 0 < value <= LONGEST_WINDOW_MS):
        raise ContractError(f"{name} is {value!r}, must be whole milliseconds, at most ten years")


def _require_path(text: str) -> None:
    if not _PATH.fullmatch(text):
        raise ContractError(
            f"{text!r} names nothing of a call",
            "args.NAME, result.PATH or call.NAME; =TEXT is that text itself",
        )


def require_mapping(mapping: Mapping[str, Any]) -> None:
    """Raise ContractError unless every value says where it comes from."""
    for value in mapping.values():
        if isinstance(value, str) and not value.startswith("="):
            _require_path(value)
        elif not isinstance(value, str | int | float | bool | None):
            raise ContractError(
                f"{value!r} cannot stand in a mapping", "a path, =TEXT, a number or a boolean"
            )


Sources = Mapping[str, Any]  # "args", "result" and "call" to what they hold


def found_at(value: Any, path: str) -> Any:
    """The value at a dotted path inside JSON; raises KeyError."""
    return _follow(value, tuple(path.split("."))) if path else value


def mapped_from(mapping: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """The keys of a mapping whose values are made from one of these arguments of the call."""
    found = {key: _PATH.fullmatch(value) for key, value in mapping.items() if isinstance(value, str)}
    return [
        key
        for key, match in found.items()
        if match and match[1] == "args" and match[2].partition(".")[0] in names
    ]


def _follow(value: Any, parts: tuple[str, ...]) -> Any:
    for part in parts:
        if isinstance(value, dict):
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise KeyError(part)
    return value


@lru_cache(maxsize=4096)
def _place(text: str) -> tuple[str, tuple[str, ...], bool]:
    """Source, path inside it, and whether there need be nothing; "" for a text that stands for itself."""
    if text.startswith("="):
        return "", (text[1:],), False
    match = _PATH.fullmatch(text)
    if match is None:
        raise Unresolved(f"{text!r} names nothing of a call")
    return match[1], tuple(match[2].split(".")), bool(match[3])


def resolved(mapping: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """The values that a mapping stands for.

    Raises:
        Unresolved: one of them is not there.
    """
    found = {}
    for name, value in mapping.items():
        if type(value) is not str:
            found[name] = value
            continue
        source, parts, optional = _place(value)
        if not source:
            found[name] = parts[0]
            continue
        try:
            found[name] = _follow(sources.get(source), parts)
        except KeyError:
            if not optional:
                raise Unresolved(f"there is no {value}") from None
    return found


def filled_in(template: str, sources: Sources) -> str:
    """An assumption's name with its braces filled in; raises Unresolved."""

    def value(hole: re.Match[str]) -> str:
        return str(resolved({"": hole[1]}, sources).get("", ""))

    return _HOLE.sub(value, template)
