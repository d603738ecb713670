"""Tool contracts: what a tool declares, and its fingerprint.

Source: the kernel reference, "Tool contracts".
"""

from __future__ import annotations

import functools
import marshal
import re
from collections.abc import Callable
from dataclasses import field, fields
from enum import StrEnum
from typing import Any, TypeVar

from sb.base.values.canonical import NotCanonical, canonical_bytes, digest
from sb.base.values.frozen import frozen, mutable
from sb.errors import ContractError
from sb.kernel.results import (
    ResultDetails,
    ToolError,
    ToolErrorCode,
    ToolProvenance,
    ToolResult,
    new_call_id,
)
from sb.kernel.reversibility.contracts import (
    Assumption,
    BlastRadius,
    MutationRef,
    MutationState,
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
)

__all__ = [
    "GOVERNANCE_METADATA",
    "TOOL_ID",
    "VALUE_TYPES",
    "AgentCapabilities",
    "Assumption",
    "BlastRadius",
    "CompiledContextItem",
    "MutationRef",
    "MutationState",
    "RecoveryApprovalMode",
    "ResultDetails",
    "ReversalClass",
    "ReversalSpec",
    "SafetyClass",
    "ToolArgSchema",
    "ToolError",
    "ToolErrorCode",
    "ToolProvenance",
    "ToolResult",
    "ToolReturnSchema",
    "ToolSpec",
    "new_call_id",
    "value_matches",
]

KERNEL_SURFACE = "kernel"  # what a baseline approves: the contract itself
REVERSAL_SURFACE = "reversal"  # or how its calls are undone, where it declares that
CHARTER_SURFACE = "charter"  # or the charter of an agent
RELEASE_SURFACE = "release"  # or the parts that make an agent's runs what they are
TOOL_ID = re.compile(r"[a-z][a-z0-9_\-.]+")
VALUE_TYPES: dict[str, tuple[type, ...]] = {
    "any": (object,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
GOVERNANCE_METADATA = (
    "credentials",
    "required_identity_scopes",
    "side_effect_level",
    "side_effect_risk_tags",
)


class SafetyClass(StrEnum):
    """Safety class of a tool: the harm it can do, in rising order."""

    READ_ONLY = "read_only"
    LOCAL_WRITE = "local_write"
    NETWORK = "network"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        return _RANKS[self]

    def _ranks_of(self, other: str) -> tuple[int, int]:
        if not isinstance(other, SafetyClass):
            raise TypeError(f"a safety class is compared with a safety class, not with {other!r}")
        return _RANKS[self], _RANKS[other]

    # StrEnum would compare the names by alphabet, in which destructive is the least.
    def __lt__(self, other: str) -> bool:
        mine, theirs = self._ranks_of(other)
        return mine < theirs

    def __le__(self, other: str) -> bool:
        mine, theirs = self._ranks_of(other)
        return mine <= theirs

    def __gt__(self, other: str) -> bool:
        mine, theirs = self._ranks_of(other)
        return mine > theirs

    def __ge__(self, other: str) -> bool:
        mine, theirs = self._ranks_of(other)
        return mine >= theirs


_RANKS = {safety_class: rank for rank, safety_class in enumerate(SafetyClass)}
# The survival layer, section 1: what a tool with side effects that declares nothing is taken for.
_DERIVED = {
    SafetyClass.READ_ONLY: ReversalSpec(ReversalClass.REVERSIBLE),
    SafetyClass.LOCAL_WRITE: ReversalSpec(ReversalClass.REVERSIBLE),
    SafetyClass.NETWORK: ReversalSpec(ReversalClass.COMPENSABLE),
    SafetyClass.DESTRUCTIVE: ReversalSpec(ReversalClass.IRREVERSIBLE),
}


def _known_type(owner: str, type_name: str) -> None:
    if type_name not in VALUE_TYPES:
        raise ContractError(f"{owner}: unknown type {type_name!r}", "types: " + ", ".join(VALUE_TYPES))


@frozen
class ToolArgSchema:
    """One declared argument.

    Args:
        type: a key of VALUE_TYPES.
        sensitive: its value is never shown: not in the log, a span, an error or on a screen.
    """

    name: str
    type: str = "string"
    required: bool = True
    description: str = ""
    sensitive: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise ContractError("an argument needs a name")
        _known_type(f"argument {self.name}", self.type)


@frozen
class ToolReturnSchema:
    """The type of the returned value; "any" checks nothing."""

    type: str = "any"
    description: str = ""

    def __post_init__(self) -> None:
        _known_type("return value", self.type)


def value_matches(type_name: str, value: Any) -> bool:
    """True if a JSON value is of a declared type; a boolean is not a number, 1.0 is an integer."""
    if isinstance(value, bool):
        return type_name in ("boolean", "any")
    if type_name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, VALUE_TYPES[type_name])


_T = TypeVar("_T")


def _remember_declared(cls: type[_T]) -> type[_T]:
    """Record which fields the author passed, since a passed default promises more than an omitted one."""
    init: Callable[..., None] = cls.__init__
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "declared" not in kwargs:  # dataclasses.replace passes it on
            kwargs["declared"] = frozenset(names[: len(args)]) | kwargs.keys()
        init(self, *args, **kwargs)

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


def _tool_id(name: str, value: Any) -> str:
    if not isinstance(value, str) or not TOOL_ID.fullmatch(value):
        raise ContractError(f"tool id {value!r} does not match ^[a-z][a-z0-9_\\-\\.]+$")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ContractError(f"{name} must be a string, not {type(value).__name__}")
    return value


def _within(low: int, high: int) -> Callable[[str, Any], int]:
    def rule(name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ContractError(f"{name} is {value!r}, must be {low} to {high}")
        return value

    return rule


def _safety_class(name: str, value: Any) -> SafetyClass:
    try:
        return SafetyClass(value)
    except ValueError:
        raise ContractError(f"unknown safety class {value!r}", "one of " + ", ".join(SafetyClass)) from None


def _list_of(kind: type) -> Callable[[str, Any], list[Any]]:
    """A list of its own, so that nobody else holds what the contract is compared by."""

    def rule(name: str, value: Any) -> list[Any]:
        if value.__class__ is list and not value:  # most are empty
            return []
        if isinstance(value, str) or not all(isinstance(item, kind) for item in value):
            raise ContractError(f"{name} must be a list of {kind.__name__}")
        return sorted(value) if isinstance(value, set | frozenset) else list(value)

    return rule


def _mapping(name: str, value: Any) -> dict[str, Any]:
    return dict(value)


def _reversal(name: str, value: Any) -> ReversalSpec | None:
    if value is not None and not isinstance(value, ReversalSpec):
        raise ContractError(f"reversal must be a ReversalSpec, not {type(value).__name__}")
    return value


# Contracts are mutable, so each rule holds whenever a field is set, not only when the contract is made.
_RULES: dict[str, Callable[[str, Any], Any]] = {
    "tool_id": _tool_id,
    "name": _text,
    "description": _text,
    "safety_class": _safety_class,
    "args_schema": _list_of(ToolArgSchema),
    "requires_permission": _list_of(str),
    "allowlisted_agents": _list_of(str),
    "max_retries": _within(0, 5),
    "timeout_ms": _within(100, 60_000),
    "metadata": _mapping,
    "reversal": _reversal,
}


@_remember_declared
@mutable
class ToolSpec:
    r"""The contract of a tool.

    Args:
        tool_id: matches ``^[a-z][a-z0-9_\-\.]+$``.
        args_schema: empty means undeclared and checks nothing; a declared one refuses unknown names.
        requires_permission: names that the agent's entry in the configuration must grant.
        allowlisted_agents: empty allows every agent.
        max_retries: 0 to 5.
        timeout_ms: 100 to 60 000 ms. A passed value is a hard deadline for any class; the default one is hard
            only for tools with side effects.
        metadata: GOVERNANCE_METADATA keys are part of the contract, all others are free. `risk_dimension` (one of
            RiskDimension) and `value_arg` (the argument that holds the amount) are part of the reversal, and so is
            what that is in, if declared: `currency`, or `currency_arg` (the argument that names it).
        reversal: how what it did is undone; not part of the fingerprint, but of one of its own.
        declared: which fields were passed; filled in by the constructor.

    Raises:
        ContractError: a value is outside its range.
    """

    tool_id: str
    name: str
    description: str = ""
    safety_class: SafetyClass = SafetyClass.READ_ONLY
    idempotent: bool = True
    args_schema: list[ToolArgSchema] = field(default_factory=list)
    returns_schema: ToolReturnSchema = field(default_factory=ToolReturnSchema)
    requires_permission: list[str] = field(default_factory=list)
    allowlisted_agents: list[str] = field(default_factory=list)
    emit_trace: bool = True
    emit_metric: bool = True
    max_retries: int = 2
    timeout_ms: int = 5_000
    metadata: dict[str, Any] = field(default_factory=dict)
    reversal: ReversalSpec | None = None
    declared: frozenset[str] = field(default=frozenset(), kw_only=True, repr=False, compare=False)

    def __setattr__(self, name: str, value: Any) -> None:
        rule = _RULES.get(name)
        object.__setattr__(self, name, value if rule is None else rule(name, value))

    def __post_init__(self) -> None:
        names = [arg.name for arg in self.args_schema]
        if len(set(names)) != len(names):
            raise ContractError(f"tool {self.tool_id}: an argument is declared twice")

    @property
    def side_effecting(self) -> bool:
        """True if a call may change something: such calls have an intent, a hard deadline and can be in doubt."""
        return self.effective_class is not SafetyClass.READ_ONLY

    @property
    def effective_class(self) -> SafetyClass:
        """The safety class that rules apply; a read-only tool that writes elsewhere counts as NETWORK."""
        if (
            self.safety_class is SafetyClass.READ_ONLY
            and self.metadata.get("side_effect_level") == "external_write"
        ):
            return SafetyClass.NETWORK
        return self.safety_class

    def allows_agent(self, agent_name: str) -> bool:
        """True if the tool's own allowlist has this agent; an empty one has every agent."""
        return not self.allowlisted_agents or agent_name in self.allowlisted_agents

    def contract_document(self) -> dict[str, Any]:
        """The contract that an operator approves, as plain JSON: all that the fingerprint covers."""
        document: dict[str, Any] = {
            "tool_id": self.tool_id,
            "name": self.name,
            "description": self.description,
            "safety_class": str(self.safety_class),
            "idempotent": self.idempotent,
            "args_schema": [vars(arg) for arg in self.args_schema],
            "returns_schema": vars(self.returns_schema),
            "requires_permission": sorted(self.requires_permission),
            "allowlisted_agents": sorted(self.allowlisted_agents),
            "metadata": {key: self.metadata[key] for key in GOVERNANCE_METADATA if key in self.metadata},
        }
        if self.side_effecting:  # a passed idempotent=True is retried, a defaulted one is not
            document["idempotent_declared"] = "idempotent" in self.declared
        return document

    def contract_fingerprint(self) -> str:
        """``sha256:<hex>`` over the canonical form of `contract_document`.

        Raises:
            ContractError: governance metadata holds a value that is not JSON.
        """
        return self._fingerprint(self.contract_document())

    def resolved_reversal(self) -> ReversalSpec:
        """The declared reversal, or the conservative one that the effective safety class stands for."""
        return self.reversal or _DERIVED[self.effective_class]

    def reversal_document(self) -> dict[str, Any]:
        """The reversal that an operator approves, as plain JSON: all that its fingerprint covers."""
        risk = {key: self.metadata.get(key) for key in ("risk_dimension", "value_arg")}
        risk |= {key: self.metadata[key] for key in ("currency", "currency_arg") if key in self.metadata}
        return {"tool_id": self.tool_id, **self.resolved_reversal().to_dict(), **risk}

    def reversal_fingerprint(self) -> str:
        """``sha256:<hex>`` over the canonical form of `reversal_document`; raises like `contract_fingerprint`."""
        return self._fingerprint(self.reversal_document())

    def _fingerprint(self, document: dict[str, Any]) -> str:
        try:
            return _digest_of(marshal.dumps(document, 0))
        except ValueError:  # the kinds of values that JSON has and marshal does not, such as enumerations
            pass
        try:
            return "sha256:" + digest(canonical_bytes(document))
        except NotCanonical as error:
            raise ContractError(f"tool {self.tool_id}: the contract is not JSON: {error}") from None


@functools.lru_cache(maxsize=512)
def _digest_of(document: bytes) -> str:
    """The fingerprint of a marshalled document; the shipped contracts are the same in each registry of a process."""
    return "sha256:" + digest(canonical_bytes(marshal.loads(document)))


@mutable
class AgentCapabilities:
    """Capabilities that a domain agent declares; enforced once registered.

    Args:
        tool_allowlist: tool ids it may call; empty means any tool up to the ceiling.
        safety_class_ceiling: the highest class it may call.
        required_packs: context packs without which no prompt of it is compiled.
        decision_keys: patterns of the decisions that may compile its prompts; empty for any.
        version: recorded on its runs; a changed charter needs a higher one.
    """

    agent_name: str
    description: str = ""
    required_packs: list[str] = field(default_factory=list)
    tool_allowlist: list[str] = field(default_factory=list)
    decision_keys: list[str] = field(default_factory=list)
    safety_class_ceiling: SafetyClass = SafetyClass.READ_ONLY
    version: str = "1.0.0"


@frozen
class CompiledContextItem:
    """One piece of context, ready for a prompt.

    Args:
        item_id: stable within one compilation.
        source_id: the pack or record that it was taken from.
        content_hash: SHA-256 hex of `content` in UTF-8, equal to the source's when it was not cut.
        tokens: estimated size.
        priority: higher is kept first.
        registered_source, owner, trust: of the registered source that it comes from; "" and None without a registry.
        read_at: seconds since the epoch at which its content was read, or None.
    """

    item_id: str
    source_id: str
    content: str
    content_hash: str
    tokens: int
    priority: int = 0
    section: str = ""
    provenance: ToolProvenance | None = None
    registered_source: str = ""
    owner: str = ""
    trust: float | None = None
    read_at: float | None = None
