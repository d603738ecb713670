"""Rights of agents in scopes: read, write, promote, share; asked on every way to memory.

Two rules answer: `memory.scopes`, and the data scopes of an agent's charter where charters are enforced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from sb.config.memory import Memory
from sb.config.scope_patterns import any_matches
from sb.config.scopes import PROMOTE, QUESTIONS, READ, RIGHTS, SHARE, WRITE, Scopes
from sb.errors import DeniedError

__all__ = ["PROMOTE", "READ", "SHARE", "WRITE", "Rights", "ScopeRefusal", "answers"]


class ScopeRefusal(Protocol):
    """Protocol of charters' rules for the scopes of agents."""

    def __call__(self, agent: str, scope: str) -> str:
        """The reason why an agent may not use a scope, or ""."""

    def rules(self, agent: str) -> str:
        """The rules for an agent, as text: another text where the answers may be others."""


class Rights:
    """The rights of agents in scopes; without rules and charters everybody has all of them.

    Args:
        scope_refusal: what charters say; None where none is enforced.
    """

    def __init__(self, scopes: Scopes, scope_refusal: ScopeRefusal | None = None) -> None:
        self._scopes, self._limits = scopes, bool(scopes.values(*RIGHTS))
        self._scope_refusal = scope_refusal

    def __bool__(self) -> bool:
        """True if anything limits them."""
        return self._limits or self._scope_refusal is not None

    def may(self, agent: str, right: str, scope: str) -> bool:
        """True if an agent has a right in a scope; "" for somebody who is not named."""
        return self._scopes.allows(right, scope, agent) and not self.chartered(agent, scope)

    def check(self, agent: str, right: str, scope: str) -> None:
        """Refuse what an agent has no right to.

        Raises:
            DeniedError: it has none in this scope.
        """
        if not self._scopes.allows(right, scope, agent):
            raise DeniedError(
                f"{agent or 'who names no agent'} may not {right} in {scope} (memory.scopes)",
                f"ask an operator; sb memory access --scope {scope} shows who may",
            )
        self.check_charter(agent, scope)

    def check_charter(self, agent: str, scope: str) -> None:
        """Refuse a scope that an agent's charter does not let it use at all; raises DeniedError."""
        if reason := self.chartered(agent, scope):
            raise DeniedError(reason, f"sb agent charter show {agent}" if agent else "attach a core first")

    def rules(self, agents: Iterable[str]) -> str:
        """The rules of these agents' rights, as text; "" where nothing limits them."""
        if not self:
            return ""
        text = repr([sorted(layer.items()) for layer in self._scopes.layers])
        if self._scope_refusal is not None:
            text += "".join(f"\0{agent}\0{self._scope_refusal.rules(agent)}" for agent in agents)
        return text

    def chartered(self, agent: str, scope: str) -> str:
        """The reason why an agent's charter does not let it use a scope, or ""."""
        return "" if self._scope_refusal is None else self._scope_refusal(agent, scope)


def answers(settings: Memory, scope: str, agent: str) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Each answer about a scope and the patterns that give it; one with parts for each part that a rule names.

    Args:
        agent: whose rights are asked for; "" for the rules about them.
    """
    for name in QUESTIONS:
        for part in settings.scopes.parts(name, scope) or ((),):
            value, patterns = settings.scopes.explain(name, scope, part)
            value = value[0] if name == "retention" and value else value
            value = any_matches(value, agent) if name in RIGHTS and agent else value
            yield " ".join((name, *part)), value, patterns
    readers = settings.personal_data_readers
    seen = any_matches(readers, agent) if agent else readers
    yield "personal_data_readers", seen, ("memory.personal_data_readers",)
