"""Load the settings, each with its origin.

A flag counts before the environment, the environment before a trusted project file, that before the file in
SB_HOME, and that before the default. An untrusted project file may only narrow what the file in SB_HOME and the
defaults give. Where an organization sets something, all of them may only narrow that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.located import Word
from sb.base.reading import Place, Report, WrongValue
from sb.base.text import plain, shorten
from sb.base.values.canonical import digest
from sb.config.database_key import register
from sb.config.home import Home
from sb.config.model import BY_KEY, SETTINGS, Config, assemble, known_setting
from sb.config.narrowing import Narrow
from sb.config.organization import MAIN, PolicyFile, installed_policies
from sb.config.pack_files import PackFile
from sb.config.rules import PolicyRule
from sb.config.setting import Setting
from sb.config.sources import Found, find_project, read_bytes, read_settings
from sb.config.trust import trusted_digests
from sb.errors import ConfigError

_ROOTS = "files.roots"
_POLICY = "policy"
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
) -> Config:
    """The configuration in force. Nothing is written and no folder is made.

    Args:
        env: the process environment; read for SB_HOME, HOME, and the settings that have a variable.
        cwd: where the search for a project file starts, and relative paths of flags and environment.
        flags: key of a setting to the value typed for its flag; None means that it was not typed.
        with_project: whether a project file counts.
        tolerant: leave out wrong settings of SB_HOME's file, with a note, unless they say where database and
            operators are, and an organization's policy that cannot be read. For what has to work then too, such as an
            emergency stop.

    Raises:
        ConfigError: something is wrong with a file, flag or variable; the first problem and how many more.
    """
    home = Home.locate(env)
    layers = _Layers(env, tolerant)
    layers.note(home.exposure())
    layers.read_organization()
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
    if "budget.session_cost_usd" in layers.values and not layers.values.get("prices"):
        layers.note("budget.session_cost_usd limits nothing without prices")
    if "budget.daily_cost_usd" in layers.values and not layers.values.get("prices"):
        layers.note("budget.daily_cost_usd has nothing to compare with without prices")
    config = assemble(
        home, layers.values, layers.origins, tuple(layers.notes), layers.start, layers.organization
    )
    register(config.database, config.database_key)
    return config


class _Limit(NamedTuple):
    """The organization's limit on one setting."""

    value: Any
    origin: str


class _Layers:
    """The values so far, each with its origin."""

    def __init__(self, env: Mapping[str, str], tolerant: bool) -> None:
        self.env = env
        self.tolerant = tolerant
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.notes: list[str] = []
        self.limits: dict[str, _Limit] = {}
        self.organization: tuple[str, ...] = ()
        self.start: Path | None = (
            None  # of relative paths, if an untrusted file has taken the first root away
        )

    def note(self, line: str) -> None:
        if line:
            self.notes.append(line)

    def put(self, key: str, value: Any, origin: str) -> None:
        if key in self.limits:
            value, origin = self._limited(BY_KEY[key], value, origin)
        self.values[key] = value
        self.origins[key] = origin

    def _limited(self, row: Setting, asked: Any, origin: str) -> _Limit:
        """The value of another layer, within the organization's limit."""
        limit = self.limits[row.key]
        if asked == limit.value:
            return limit
        narrow = row.within or row.narrow
        if narrow is None:
            self.note(f"{origin}: {row.key}: ignored: {limit.origin} sets it")
            return limit
        value = self._narrowed(narrow, limit.value, row.key, asked, origin, f"ignored: {limit.origin}")
        return _Limit(value, limit.origin if value == limit.value else f"{origin}, within {limit.origin}")

    def put_word(self, row: Setting, source: str, word: str, cwd: Path) -> None:
        if row.key in self.limits and not (row.within or row.narrow):
            limit = self.limits[row.key]
            raise ConfigError(f"{source}: {row.key} is set by {limit.origin}", f"leave out {source}")
        report = Report(source, cwd, self.env)
        try:
            self.put(row.key, row.kind.read(Word(word), Place(report, row.key)), source)
        except WrongValue:
            report.require_none()

    def settings(self, data: bytes, report: Report) -> dict[str, Found]:
        found = read_settings(data, report)
        vital = [problem for problem in report.problems if problem.key.partition(".")[0] in _WHERE]
        if vital or not self.tolerant:
            report.require_none()
        for problem in report.in_order():
            self.note(f"{problem}: left out")
        return found

    def read_organization(self) -> None:
        try:
            policies = installed_policies()
        except ConfigError as error:
            if not self.tolerant:
                raise
            self.note(f"{error.message}: left out")
            return
        self.organization = tuple(map(str, policies))
        for policy in policies:
            for key, found in policy.settings.items():
                value = _named(policy, found.value) if key == _POLICY else found.value
                origin = f"{policy.path}:{found.line} ({policy.organization})"
                self.put(key, value, origin)  # each file narrows those before it
                self.limits[key] = _Limit(self.values[key], self.origins[key])

    def read_home(self, home: Home) -> None:
        report = Report(str(home.config_file), home.config_file.parent, self.env)
        data = read_bytes(home.config_file, report)
        if data is not None:
            for key, found in self.settings(data, report).items():
                self.put(key, found.value, f"{report.source}:{found.line}")

    def read_project(self, path: Path, home: Home) -> None:
        report = Report(str(path), path.parent, self.env)
        data = read_bytes(path, report)
        if data is None:  # removed since it was found
            return
        settings = self.settings(data, report)
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

    def _pinned(self, packs: tuple[PackFile, ...], home: Home) -> tuple[PackFile, ...]:
        """The rule packs of a trusted project, bound to what they held when they were trusted."""
        known = trusted_digests(home)
        return tuple(replace(pack, sha256=known.get(str(pack.path), "untrusted")) for pack in packs)

    def narrow(self, row: Setting, asked: Any, origin: str) -> None:
        if row.narrow is None:
            self.note(f"{origin}: {row.key}: ignored until sb config trust: an untrusted file cannot set it")
            return
        current = self.values.get(row.key, row.default)
        value = self._narrowed(
            row.narrow, current, row.key, asked, origin, "ignored, as far as it does, until sb config trust"
        )
        if value != current:
            self.put(row.key, value, origin)
            if row.key == _ROOTS and value[:1] != current[:1]:
                self.start = current[0]

    def _narrowed(
        self, narrow: Narrow[Any], current: Any, key: str, asked: Any, origin: str, ignored: str
    ) -> Any:
        value, refused = narrow.apply(current, asked)
        if refused:
            more = f" and {len(refused) - _REFUSED_SHOWN} more" if len(refused) > _REFUSED_SHOWN else ""
            names = ", ".join(
                shorten(plain(name, one_line=True), _NAME_SHOWN) for name in refused[:_REFUSED_SHOWN]
            )
            self.note(f"{origin}: {key}: {names}{more} would widen it: {ignored}")
        return value


def _named(policy: PolicyFile, rules: tuple[PolicyRule, ...]) -> tuple[PolicyRule, ...]:
    """An organization's rules under names that no rule of a home or of another file has."""
    whose = "organization" if policy.path.name == MAIN else f"organization {policy.path.stem}"
    return tuple(replace(rule, name=f"{whose} {rule.name}") for rule in rules)
