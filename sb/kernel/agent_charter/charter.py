"""Agent charters: the intents, tools and data of one agent, its purpose, owner and review date."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from functools import cached_property
from typing import Any

from sb.base.values.canonical import canonical_bytes, digest
from sb.base.values.frozen import frozen
from sb.config.scope_patterns import any_matches
from sb.errors import ContractError
from sb.kernel.contracts import AgentCapabilities, SafetyClass, ToolSpec
from sb.kernel.policy.patterns import any_fits

UNSTATED = "unstated"  # the intent of a run that names none
GRACE_DAYS = 30  # after review_by, within which a charter still counts


@frozen
class AgentCharter:
    """The boundaries of one agent. What a charter does not allow is denied, and a denial counts before a permission.

    Args:
        agent: the name that its runs have.
        purpose, owner: what it is for, and who answers for it; an operator's name where operators are enrolled.
        allowed_intents, denied_intents: names or patterns such as ``refund.*``.
        default_intent: the intent of runs and calls that name none; "" leaves them at UNSTATED.
        version: ``major.minor.patch``; a changed charter needs a higher one to be approved.
        review_by: the day by which its owner looks at it again.
        tools: patterns of tool ids; empty for any tool up to the ceiling.
        ceiling: the highest safety class of its calls.
        namespaces: first parts of tool ids, such as ``payments``; empty for any.
        data_scopes: patterns of memory scopes that it may read and write; empty for any.
        required_packs: context packs without which no prompt of it is compiled.
        decision_keys: patterns of decisions that may compile its prompts; empty for any.

    Raises:
        ContractError: purpose, owner or agent is blank.
    """

    agent: str
    purpose: str
    owner: str
    allowed_intents: tuple[str, ...] = ()
    denied_intents: tuple[str, ...] = ()
    default_intent: str = ""
    version: str = "1.0.0"
    review_by: date | None = None
    tools: tuple[str, ...] = ()
    ceiling: SafetyClass = SafetyClass.READ_ONLY
    namespaces: tuple[str, ...] = ()
    data_scopes: tuple[str, ...] = ()
    required_packs: tuple[str, ...] = ()
    decision_keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("agent", "purpose", "owner"):
            if not getattr(self, name).strip():
                raise ContractError(f"the charter of {self.agent or 'an agent'} has no {name}")

    def permits(self, intent: str) -> bool:
        """True if the agent may act for this intent: allowed and not denied; an unknown one is denied."""
        return any_fits_one(self.allowed_intents, intent) and not any_fits_one(self.denied_intents, intent)

    def intent_refusal(self, intent: str) -> str:
        """The reason why the agent may not act for this intent; "" if it may."""
        if any_fits_one(self.denied_intents, intent):
            return f"the charter of {self.agent} denies intent {intent}"
        if not any_fits_one(self.allowed_intents, intent):
            return f"the charter of {self.agent} does not allow intent {intent}"
        return ""

    def tool_refusal(self, spec: ToolSpec) -> str:
        """The reason why the agent may not call this tool; "" if it may."""
        if self.namespaces and spec.tool_id.partition(".")[0] not in self.namespaces:
            return f"{spec.tool_id} is outside the namespaces of the charter of {self.agent}"
        if self.tools and not any_fits_one(self.tools, spec.tool_id):
            return f"the charter of {self.agent} does not name {spec.tool_id}"
        if spec.effective_class > self.ceiling:
            return (
                f"{spec.tool_id} is {spec.effective_class}, above the ceiling of the charter of {self.agent}"
            )
        return ""

    def scope_refusal(self, scope: str) -> str:
        """The reason why the agent may not use memories of this scope; "" if it may."""
        if not self.data_scopes or any_matches(self.data_scopes, scope):
            return ""
        return f"scope {scope} is outside the data scopes of the charter of {self.agent}"

    def capabilities(self) -> AgentCapabilities:
        """The capabilities that compilers of prompts hold the agent to."""
        return AgentCapabilities(
            self.agent,
            self.purpose,
            required_packs=list(self.required_packs),
            decision_keys=list(self.decision_keys),
            safety_class_ceiling=self.ceiling,
            version=self.version,
        )

    def document(self) -> dict[str, Any]:
        """The charter as plain JSON: what an operator approves."""
        plain = {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }
        review = "" if self.review_by is None else self.review_by.isoformat()
        return plain | {"review_by": review, "ceiling": str(self.ceiling)}

    @cached_property
    def fingerprint(self) -> str:
        """``sha256:`` and the SHA-256 (hex) of the document's canonical form (RFC 8785)."""
        return "sha256:" + digest(canonical_bytes(self.document()))


def any_fits_one(patterns: tuple[str, ...], text: str) -> bool:
    """True if a text fits one of the patterns."""
    return any(any_fits(pattern, (text,)) for pattern in patterns)


def version_key(version: str) -> tuple[int, ...]:
    """A version for comparison: the numbers between its dots."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
