"""Apply what calibration proposes to the configuration of the home, and take it back."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sb.base.files import write_atomic
from sb.base.reading import Report
from sb.base.sources import Clock
from sb.base.values.canonical import digest
from sb.config import Config, check
from sb.config.editing import with_values
from sb.config.memory_gate import DEFAULTS, Gate, GateSettings
from sb.config.scope_patterns import ANY
from sb.config.scopes import Scopes, gate_settings
from sb.config.sources import read_settings
from sb.errors import ConfigError, NotFoundError, UsageError
from sb.memory.calibration import Outcome, Proposal, Ranking
from sb.memory.space import Space

_BACKUP = (
    "calibration.json"  # in the home: the configuration before, and a digest of the one that was written
)


def outcomes(space: Space) -> list[Outcome]:
    """The outcomes of facts that no user wrote, oldest first; a user's fact does not begin at its category's confidence."""
    places = space.places
    return [
        Outcome(
            uid,
            category,
            confidence,
            space.trust.in_memory(source, agent, places.numbered(place).stack),
            good,
        )
        for uid, category, confidence, source, agent, place, good in space.evidence.outcomes_of_facts()
    ]


def setting_of(config: Config, category: str) -> tuple[float, float, float]:
    """The confidence and the prior of a category where no scope has its own, and the prior that is built in."""
    found = gate_settings(config.memory.scopes, "global", category)
    return found.confidence, found.prior, DEFAULTS.get(category, GateSettings()).prior


class Calibration:
    """The configuration of a home, before and after what is proposed."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._file = config.home.config_file
        self._backup = config.home.folder / _BACKUP

    def text(self) -> str:
        """The configuration as it is; "" if there is none."""
        return self._file.read_text(encoding="utf-8") if self._file.exists() else ""

    def proposed(self, proposals: Sequence[Proposal], ranking: Ranking | None) -> str:
        """The configuration with what is proposed.

        Raises:
            UsageError: it is set where this does not write.
        """
        text = self.text()
        if proposals:
            gate = {category: dict(numbers) for category, numbers in self._own_gate().items()}
            for proposal in proposals:
                gate.setdefault(proposal.category, {})[proposal.setting] = proposal.after
            text = with_values(text, ("memory", "scopes", ANY), {"gate": gate})
        if ranking is not None:
            weights = {**self._from_home("memory.salience", self._config.memory.salience), **ranking.weights}
            text = with_values(text, ("memory",), {"salience": weights})
        return text

    def _own_gate(self) -> Gate:
        """The numbers that the file itself has for all scopes; an organization may set other rules beside them."""
        found = read_settings(self.text().encode(), Report(str(self._file))).get("memory.scopes")
        own: Scopes = found.value if found else Scopes()
        scopes = self._config.memory.scopes
        if any(gate not in own.values("gate") for gate in scopes.values("gate")):
            raise self._elsewhere("memory.scopes")
        return own.layers[0].get(ANY, {}).get("gate", {}) if own.layers else {}

    def diff(self, after: str) -> str:
        """The changes as a unified diff; "" for none."""
        name = self._file.name
        lines = (self.text().splitlines(keepends=True), after.splitlines(keepends=True))
        return "".join(difflib.unified_diff(*lines, name, name, n=1))

    def apply(self, after: str, env: Mapping[str, str], clock: Clock) -> None:
        """Write a configuration, and keep the one before.

        Raises:
            ConfigError: it is not a valid one; the one before stands then.
        """
        before, existed = self.text(), self._file.exists()
        self._config.home.create()
        backup = {"before": before if existed else None, "written": digest(after.encode()), "at": clock.now()}
        write_atomic(self._backup, orjson.dumps(backup))
        write_atomic(self._file, after.encode())
        problems = check(self._file, env)
        if problems:
            self._restore(backup["before"])
            raise ConfigError(f"{problems[0]}", "nothing was changed")

    def revert(self) -> None:
        """Restore the configuration from before.

        Raises:
            NotFoundError: nothing was applied. UsageError: it was changed since.
        """
        if not self._backup.exists():
            raise NotFoundError("no calibration was applied", "sb memory calibrate --apply does")
        backup = orjson.loads(self._backup.read_bytes())
        if digest(self.text().encode()) != backup["written"]:
            raise UsageError(
                f"{self._file} was changed since",
                f"take back by hand what you want to; {self._backup} has the former one",
            )
        self._restore(backup["before"])

    def _restore(self, before: Any) -> None:
        if before is None:
            self._file.unlink()
        else:
            write_atomic(self._file, str(before).encode())
        self._backup.unlink()

    def _from_home(self, key: str, value: Any) -> Any:
        """A setting, if the configuration of the home is where it is set, if anywhere."""
        if value and not self._config.origin(key).startswith(str(self._file)):
            raise self._elsewhere(key)
        return value

    def _elsewhere(self, key: str) -> UsageError:
        return UsageError(f"{key} is set in {self._config.origin(key)}", "put there what is proposed")
