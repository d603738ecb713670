"""The settings of what reads texts on their way in and out: red team, output gate, reading policy, replay."""

from __future__ import annotations

from sb.base.reading import choice, listing, text
from sb.base.values.frozen import frozen
from sb.config.narrowing import stricter
from sb.config.setting import setting

OFF = "off"
TELL, HOLD = "tell", "hold"
MARK, QUARANTINE, REFUSE = "mark", "quarantine", "refuse"
ATTACKS_IN_MEMORY = (OFF, MARK, QUARANTINE, REFUSE)
_RESULTS = (OFF, MARK, QUARANTINE)
_PROMPTS = (OFF, MARK)
REDACT = "redact"
_GATED = (REDACT, REFUSE)
_MESSAGES = (OFF, MARK, REFUSE)


@frozen
class RedTeam:
    """Attacks on models in texts."""

    tool_results: str = setting(
        OFF,
        choice(*_RESULTS),
        "What becomes of a tool's result that reads like an attack on the model: mark puts it on record and says so beside "
        "the result, quarantine also withholds it from a Python caller, and has each later call of a coding agent's session "
        "that may change something wait for a person.",
        narrow=stricter(*_RESULTS),
    )
    prompts: str = setting(
        OFF,
        choice(*_PROMPTS),
        "What becomes of a prompt of a coding agent's user that reads like an attack, such as a pasted page: mark puts it on "
        "record and tells the model.",
        narrow=stricter(*_PROMPTS),
    )

    @property
    def reads_hosts(self) -> bool:
        """True if events of hosts are read for attacks."""
        return self.tool_results != OFF or self.prompts != OFF


@frozen
class OutputGate:
    """Secrets, and personal data of other scopes, in what leaves a run."""

    results: tuple[str, ...] = setting(
        (),
        listing(text("a pattern of tool ids, such as reports.*")),
        "Tools whose results are searched before a caller is given them, as patterns of their ids. Personal data is of "
        "another scope if memories have it, and none of the run's own project or of global.",
        example='["reports.*"]',
    )
    action: str = setting(
        _GATED[0],
        choice(*_GATED),
        "What becomes of such a result: redact replaces the values, refuse withholds it.",
        narrow=stricter(*_GATED),
    )
    messages: str = setting(
        OFF,
        choice(*_MESSAGES),
        "Whether the last message of a coding agent's turn is searched too, where its host tells it: mark puts what it "
        "holds on record, refuse also has Claude Code and Codex go on, so that the agent writes it again without that. "
        "It was shown already.",
        narrow=stricter(*_MESSAGES),
    )
