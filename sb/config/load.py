"""Load the settings, each with its origin.

The policy of an organization stands above all: the others may only narrow it. A flag counts before the environment, the environment before a trusted project file, that before the file in
SB_HOME, and that before the default. An untrusted project file may only narrow what the file in SB_HOME and the
defaults give.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sb.canonical import digest
from sb.config.document import Report, Scalar
from sb.config.home import Home
from sb.config.kinds import Reading
from sb.config.model import BY_KEY, SETTINGS, Config, assemble, known_setting
from sb.config.organization import SYSTEM, Place, apply_organization, read_organization
from sb.config.pack_files import PackFile
from sb.config.setting import Setting
from sb.config.sources import Found, find_project, read_bytes, read_settings
from sb.config.trust import trusted_digests
from sb.errors import ConfigError
from sb.text import plain, shorten

_ROOTS = "files.roots"
_PACKS = "hooks.packs"
_REFUSED_SHOWN = 3
_WHERE = ("", "database", "operators")  # "" is the key of what is wrong with a whole file
_NAME_SHOWN = 200  # characters: the end of a path says the most


def current_config(
    flags: Mapping[str, object] | None = None, *, with_project: bool = True, tolerant: bool = False
) -> Config:
    """The configuration of this process: its environment and folder."""
    return load_config(
        env=os.environ, cwd=Path.cwd(), flags=flags or {}, with_project=with_project, tolerant=tolerant
    )


def load_config(
    *,
    env: Mapping[str, str],
    cwd: Path,
    flags: Mapping[str, object],
    with_project: bool = True,
    tolerant: bool = False,
    organization: Place = SYSTEM,
) -> Config:
    """The configuration in force. Nothing is written and no folder is made.

    Args:
        env: the process environment; read for SB_HOME, HOME, and the settings that have a variable.
        cwd: where the search for a project file starts, and relative paths of flags and environment.
        flags: key of a setting to the value typed for its flag; None means that it was not typed.
        with_project: whether a project file counts.
        tolerant: leave out wrong settings of SB_HOME's file, with a note, unless they say where database and
            operators are. For what has to work then too, such as an emergency stop.
        organization: where the policy of the organization is; no setting or variable names another place.

    Raises:
        ConfigError: something is wrong with a file, flag or variable; the first problem and how many more.
    """
    home = Home.locate(env)
    layers = _Layers(env, tolerant)
    layers.note(home.exposure())
    layers.read_home(home)
    project = find_project(cwd, home) if with_project else None
    if project is not None:
        layers.read_project(project, home)
    cwd = cwd.absolute()
    for row in SETTINGS:
        if row.env and env.get(row.env):
            layers.put_word(row, row.env, env[row.env], cwd)
    for key, value in flags.items():
        row = known_setting(key)
        if not row.flag:
            raise ConfigError(f"{key} has no flag", "set it in config.yaml")
        if value is not None:
            layers.put_word(row, row.flag, str(value), cwd)
    policy_version = layers.narrow_by_organization(organization)
    if "budget.session_cost_usd" in layers.values and not layers.values.get("prices"):
        layers.note("budget.session_cost_usd limits nothing without prices")
    if "budget.daily_cost_usd" in layers.values and not layers.values.get("prices"):
        layers.note("budget.daily_cost_usd has nothing to compare with without prices")
    return assemble(home, layers.values, layers.origins, tuple(layers.notes), layers.start, policy_version)


class _Layers:
    """The values so far, each with its origin."""

    def __init__(self, env: Mapping[str, str], tolerant: bool) -> None:
        self.env = env
        self.tolerant = tolerant
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.notes: list[str] = []
        self.start: Path | None = (
            None  # of relative paths, if an untrusted file has taken the first root away
        )

    def note(self, line: str) -> None:
        if line:
            self.notes.append(line)

    def put(self, key: str, value: Any, origin: str) -> None:
        self.values[key] = value
        self.origins[key] = origin

    def put_word(self, row: Setting, source: str, word: str, cwd: Path) -> None:
        report = Report(source)
        value = row.kind.parse(Scalar(0, word), row.key, Reading(report, cwd, self.env))
        report.require_none()
        self.put(row.key, value, source)

    def settings(self, path: Path, data: bytes, report: Report) -> dict[str, Found]:
        found = read_settings(data, Reading(report, path.parent, self.env))
        vital = [problem for problem in report.problems if problem.key.partition(".")[0] in _WHERE]
        if vital or not self.tolerant:
            report.require_none()
        for problem in report.in_order():
            self.note(f"{problem}: left out")
        return found

    def read_home(self, home: Home) -> None:
        report = Report(str(home.config_file))
        data = read_bytes(home.config_file, report)
        if data is not None:
            for key, found in self.settings(home.config_file, data, report).items():
                self.put(key, found.value, f"{report.source}:{found.line}")

    def read_project(self, path: Path, home: Home) -> None:
        report = Report(str(path))
        data = read_bytes(path, report)
        if data is None:  # removed since it was found
            return
        settings = self.settings(path, data, report)
        accepted = trusted_digests(home).get(str(path))
        trusted = accepted == digest(data)
        if accepted and not trusted:
            self.note(f"{report.source}: changed since it was trusted: it only narrows until sb config trust")
        for key, found in settings.items():
            origin = f"{report.source}:{found.line}"
            if trusted:
                self.put(key, self._pinned(found.value, home) if key == _PACKS else found.value, origin)
            else:
                self.narrow(BY_KEY[key], found.value, origin)

    def narrow_by_organization(self, place: Place) -> str:
        """Narrow every value to what the policy of the organization lets it be; the policy's version, or ""."""
        try:
            policy = read_organization(place, self.env)
        except ConfigError as error:
            if not self.tolerant:
                raise
            self.note(f"{error.message}: the policy of the organization is left out")
            return ""
        if policy is None:
            return ""
        for key, found in policy.settings.items():
            row = BY_KEY[key]
            current = self.values.get(key, row.default)
            value = apply_organization(row, found.value, current)
            if value == current:
                continue
            if key in self.origins:
                self.note(f"{self.origins[key]}: {key}: the policy of the organization narrows it")
            self.put(key, value, f"{policy.source}:{found.line}")
            if key == _ROOTS and value[:1] != current[:1]:
                self.start = self.start or current[0]
        return policy.version

    def _pinned(self, packs: tuple[PackFile, ...], home: Home) -> tuple[PackFile, ...]:
        """The rule packs of a trusted project, bound to what they held when they were trusted."""
        known = trusted_digests(home)
        return tuple(replace(pack, sha256=known.get(str(pack.path), "untrusted")) for pack in packs)

    def narrow(self, row: Setting, asked: Any, origin: str) -> None:
        if row.narrow is None:
            self.note(f"{origin}: {row.key}: ignored until sb config trust: an untrusted file cannot set it")
            return
        current = self.values.get(row.key, row.default)
        value, refused = row.narrow.apply(current, asked)
        if refused:
            more = f" and {len(refused) - _REFUSED_SHOWN} more" if len(refused) > _REFUSED_SHOWN else ""
            names = ", ".join(
                shorten(plain(name, one_line=True), _NAME_SHOWN) for name in refused[:_REFUSED_SHOWN]
            )
            widens = f"{origin}: {row.key}: {names}{more} would widen it"
            self.note(f"{widens}: ignored, as far as it does, until sb config trust")
        if value != current:
            self.put(row.key, value, origin)
            if row.key == _ROOTS and value[:1] != current[:1]:
                self.start = current[0]
