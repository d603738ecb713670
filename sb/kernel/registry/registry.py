"""The registry of tools, with their contracts as registered and the permissions of agents."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sb.errors import ContractError
from sb.kernel.contracts import AgentCapabilities, ReversalSpec, SafetyClass, ToolSpec
from sb.kernel.run_context import RiskDimension

ToolFunction = Callable[..., Any]
SHIPPED = "sb"  # the source of the tools that come with this version
INSTALLED = "entry point "  # what other sources that every process of a home loads begin with
CONFIGURED = "config "
UNAVAILABLE = "unavailable"  # in a contract's metadata: why no call can run, such as a missing setting
IDEMPOTENCY_KEY = "idempotency_key"


def accepts_key(fn: ToolFunction) -> bool:
    """True if the callable takes the kernel's idempotency key by keyword."""
    code = getattr(fn, "__code__", None) or getattr(getattr(fn, "__func__", None), "__code__", None)
    if code is not None and not (hasattr(fn, "__wrapped__") or hasattr(fn, "__signature__")):
        # inspect takes a hundred times as long
        named = slice(code.co_posonlyargcount, code.co_argcount + code.co_kwonlyargcount)
        return IDEMPOTENCY_KEY in code.co_varnames[named]
    try:
        return IDEMPOTENCY_KEY in inspect.signature(fn).parameters
    except (TypeError, ValueError):  # some built-ins have no signature
        return False


class RegisteredTool:
    """A contract, its callable, and the fingerprint seen at registration.

    Contracts are mutable, so the current fingerprint is recomputed whenever a field differs from the copy taken
    when it was last computed; comparing costs a microsecond, hashing thirty.
    """

    def __init__(self, spec: ToolSpec, fn: ToolFunction, source: str) -> None:
        self.spec = spec
        self.fn = fn
        self.source = source
        self.accepts_key = accepts_key(fn)
        self.reversal: ReversalSpec = spec.resolved_reversal()
        self.reversal_fingerprint = ""
        self.risk_dimension: RiskDimension | None = None
        self._seen: dict[str, Any] = {}
        self._current = ""
        self.registered_fingerprint = self.current_fingerprint()
        self.registered_side_effecting = spec.side_effecting

    @property
    def high_risk(self) -> bool:
        """True if the contract has side effects, or had when it was registered: a change cannot talk it down."""
        return self.registered_side_effecting or self.spec.side_effecting

    def current_fingerprint(self) -> str:
        """The fingerprint of the contract as it is now; the reversal is looked at with it.

        Raises:
            ContractError: it cannot be computed.
        """
        if self.spec.__dict__ != self._seen:
            self._current = self.spec.contract_fingerprint()
            self.reversal = self.spec.resolved_reversal()
            self.reversal_fingerprint = self.spec.reversal_fingerprint()
            self.risk_dimension = _risk_dimension(self.spec)
            self._seen = {
                name: _copied(value) if isinstance(value, list | dict) else value
                for name, value in vars(self.spec).items()
            }
        return self._current


def _copied(value: list[Any] | dict[str, Any]) -> list[Any] | dict[str, Any]:
    """A field of a contract that stays as it is; what is in its lists holds only text and flags, so one level is enough."""
    if isinstance(value, list):
        return [item if isinstance(item, str) else _twin(item) for item in value]
    plain = all(isinstance(item, str | int | float | None) for item in value.values())
    return dict(value) if plain else copy.deepcopy(value)


def _twin(item: Any) -> Any:
    """A copy of one declared argument; copy.copy takes ten times as long."""
    twin = object.__new__(type(item))
    twin.__dict__.update(item.__dict__)
    return twin


def _risk_dimension(spec: ToolSpec) -> RiskDimension | None:
    name = spec.metadata.get("risk_dimension")
    if not name:
        return None
    if name not in list(RiskDimension):
        known = ", ".join(RiskDimension)
        raise ContractError(f"tool {spec.tool_id}: unknown risk_dimension {name!r}", f"one of {known}")
    return RiskDimension(name)


class ToolListing(NamedTuple):
    """One tool as `sb kernel tools` lists it."""

    spec: ToolSpec
    source: str


class ToolRegistry:
    """Tools by id, and the registered capabilities of agents. Safe to read and write from several threads.

    Args:
        home: the SB_HOME whose tools these are, for those that keep something beside it; None outside of one.
    """

    def __init__(self, home: Path | None = None) -> None:
        self.home = home
        self._tools: dict[str, RegisteredTool] = {}
        self._agents: dict[str, AgentCapabilities] = {}
        self._source = "python"
        self._lock = threading.Lock()

    def register(self, spec: ToolSpec, fn: ToolFunction) -> None:
        """Add a tool and record its fingerprint as the registration baseline.

        Registering the same contract again replaces the callable.

        Raises:
            ContractError: the contract is invalid, or another contract already has this id.
        """
        if not callable(fn):
            raise ContractError(f"tool {spec.tool_id}: {fn!r} is not callable")
        tool = RegisteredTool(spec, fn, self._source)
        with self._lock:
            present = self._tools.get(spec.tool_id)
            if present is not None and present.registered_fingerprint != tool.registered_fingerprint:
                raise ContractError(
                    f"tool {spec.tool_id} is already registered by {present.source} with another contract",
                    "unregister it first, or choose another id",
                )
            self._tools[spec.tool_id] = tool

    def register_fn(
        self,
        tool_id: str,
        name: str,
        fn: ToolFunction,
        safety_class: SafetyClass = SafetyClass.READ_ONLY,
        description: str = "",
        **contract: Any,
    ) -> ToolSpec:
        """Register `fn` under a contract made from the arguments; `contract` are other fields of ToolSpec."""
        spec = ToolSpec(
            tool_id=tool_id, name=name, description=description, safety_class=safety_class, **contract
        )
        self.register(spec, fn)
        return spec

    def unregister(self, tool_id: str) -> bool:
        """Remove a tool; True if it was there."""
        with self._lock:
            return self._tools.pop(tool_id, None) is not None

    @contextmanager
    def source(self, name: str) -> Iterator[None]:
        """Name where the tools registered inside the block come from."""
        before, self._source = self._source, name
        try:
            yield
        finally:
            self._source = before

    def register_agent(self, caps: AgentCapabilities) -> None:
        """From now on this agent is bound by its allowlist and ceiling; its prompts by its packs and decision keys."""
        with self._lock:
            self._agents[caps.agent_name] = caps

    def capabilities_of(self, agent_name: str) -> AgentCapabilities | None:
        """The registered capabilities of an agent; None for one that registered none."""
        return self._agents.get(agent_name)

    def agent_facts(self, agent_name: str) -> dict[str, str]:
        """Facts recorded at the start of an agent's runs: `agent_version`, where its capabilities are registered."""
        caps = self._agents.get(agent_name)
        return {} if caps is None else {"agent_version": caps.version}

    def tool(self, tool_id: str) -> RegisteredTool | None:
        return self._tools.get(tool_id)

    def get(self, tool_id: str) -> ToolSpec | None:
        tool = self._tools.get(tool_id)
        return tool.spec if tool else None

    def get_callable(self, tool_id: str) -> ToolFunction | None:
        tool = self._tools.get(tool_id)
        return tool.fn if tool else None

    def list_all(self) -> list[ToolSpec]:
        """Every contract, sorted by tool id."""
        return [self._tools[tool_id].spec for tool_id in self.list_ids()]

    def list_ids(self) -> list[str]:
        return sorted(self._tools)

    def listing(self) -> list[ToolListing]:
        """Every contract with where it came from, sorted by tool id."""
        return [ToolListing(self._tools[i].spec, self._tools[i].source) for i in self.list_ids()]

    def filter_by_safety(self, ceiling: SafetyClass) -> list[ToolSpec]:
        """Tools whose effective class is at or below `ceiling`."""
        return [spec for spec in self.list_all() if spec.effective_class <= ceiling]

    def filter_for_agent(self, agent_name: str) -> list[ToolSpec]:
        """Tools that this agent may call, as far as allowlists and its registered capabilities say."""
        return [
            spec
            for spec in self.list_all()
            if spec.allows_agent(agent_name) and not self.capability_refusal(spec, agent_name)
        ]

    def capability_refusal(self, spec: ToolSpec, agent_name: str) -> str:
        """The reason why the agent's registered capabilities forbid the tool, or ""; an unregistered agent has none."""
        caps = self._agents.get(agent_name)
        if caps is None:
            return ""
        if caps.tool_allowlist and spec.tool_id not in caps.tool_allowlist:
            return f"{spec.tool_id} is not on the tool allowlist of agent {agent_name}"
        if spec.effective_class > caps.safety_class_ceiling:
            ceiling = caps.safety_class_ceiling
            return f"{spec.tool_id} is {spec.effective_class}, above agent {agent_name}'s ceiling {ceiling}"
        return ""

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._tools


_default_registry = ToolRegistry()


def get_default_registry() -> ToolRegistry:
    """The process-wide registry."""
    return _default_registry
