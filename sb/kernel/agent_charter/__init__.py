"""Agents' charters: purpose, owner, intents, tools and data, and whether each is approved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.agent_charter.charter import GRACE_DAYS as GRACE_DAYS
    from sb.kernel.agent_charter.charter import UNSTATED as UNSTATED
    from sb.kernel.agent_charter.charter import AgentCharter as AgentCharter
    from sb.kernel.agent_charter.charter_files import CharterFiles as CharterFiles
    from sb.kernel.agent_charter.charters import CharterEntry as CharterEntry
    from sb.kernel.agent_charter.charters import Charters as Charters
    from sb.kernel.agent_charter.charters import CharterState as CharterState
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.agent_charter.charter": "GRACE_DAYS UNSTATED AgentCharter",
            "sb.kernel.agent_charter.charter_files": "CharterFiles",
            "sb.kernel.agent_charter.charters": "CharterEntry Charters CharterState",
        },
    )
