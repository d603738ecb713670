"""Who may read, write, promote and share the memories of a scope: `memory.access`, as every way to memory asks it."""

from __future__ import annotations

from collections.abc import Iterable

from sb.config.access import PROMOTE, READ, SHARE, WRITE, Access, allows
from sb.errors import DeniedError

__all__ = ["PROMOTE", "READ", "SHARE", "WRITE", "Rights"]


class Rights:
    """The rights of agents in scopes; without rules everybody has all of them."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self._access)

    def may(self, agent: str, right: str, scope: str) -> bool:
        """Whether an agent has a right in a scope; "" for somebody who is not named."""
        return not self._access or allows(self._access, right, scope, agent)

    def check(self, agent: str, right: str, scope: str) -> None:
        """Refuse what an agent has no right to.

        Raises:
            DeniedError: it has none in this scope.
        """
        if not self.may(agent, right, scope):
            raise DeniedError(
                f"{agent or 'who names no agent'} may not {right} in {scope} (memory.access)",
                f"ask an operator; sb memory access --scope {scope} shows who may",
            )

    def readable(self, agent: str, scopes: Iterable[str]) -> tuple[str, ...]:
        """Those of these scopes that an agent may read, in their order."""
        return tuple(one for one in scopes if self.may(agent, READ, one))
