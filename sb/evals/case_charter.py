"""The charter of a case: written into the home of its attempts, and approved there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sb.base.files import write_atomic
from sb.config import Config
from sb.errors import CheckFailed, ConfigError, NotFoundError
from sb.kernel.authority.signing import Decider
from sb.runtime import Runtime
from sb.runtime.parts import open_charters

_LEFT_OUT = {"purpose": "Evaluated by a case.", "owner": "eval", "review_by": "2099-01-01"}


def put_charter(
    charter: Mapping[str, Any], agent: str, config: Config, runtime: Runtime, by: Decider
) -> None:
    """Write and approve the charter of an agent.

    Args:
        charter: the keys of a charter file, without `agent`; what every charter needs may be left out.
        config: of the home, under which the charter has to count. runtime: opened on that home.

    Raises:
        CheckFailed: it is no valid charter, or would not be enforced.
    """
    import yaml

    if config.agent_charters != "enforce":
        raise CheckFailed(
            f"setup.charter: agent_charters is {config.agent_charters}, so the charter would refuse nothing",
            "set agent_charters: enforce in the suite's config",
        )
    plain = json.loads(json.dumps(_LEFT_OUT | dict(charter) | {"agent": agent}, default=str))
    charters = open_charters(config, runtime.log, runtime.executor.approvals.authority)
    try:
        file = charters.files.path(agent)  # refuses a name that would lead out of the home
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomic(file, yaml.safe_dump(plain, sort_keys=True, width=10**6).encode())
        charters.approve(agent, "", by, "setup.charter of the case")
    except (ConfigError, NotFoundError) as error:
        reason = error.message.replace(f"{config.home.charters}/", "")
        raise CheckFailed(f"setup.charter: {reason}", error.hint) from None
