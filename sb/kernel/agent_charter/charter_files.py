"""Charter files: one YAML file for each agent, and the parts that several share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sb.base.located import LocatedMapping, line_of
from sb.base.reading import (
    Field,
    Kind,
    Place,
    Report,
    choice,
    describe,
    known_fields,
    listing,
    matching,
    schema_of,
    text,
)
from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.config.document import parse_document
from sb.config.model import INTENT
from sb.config.sources import read_bytes
from sb.errors import NotFoundError
from sb.kernel.agent_charter.charter import GRACE_DAYS, AgentCharter
from sb.kernel.boundaries.file_state import FileState, file_state
from sb.kernel.contracts import SafetyClass

SHARED = "shared"  # the folder of parts that charters include
SUFFIX = ".yaml"
AGENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}")
_PATTERN = re.compile(r"[a-z0-9_.*?\[\]-]+")
_MOST_FILES = 32  # that one charter may include


@frozen
class _Key(Field):
    """One key of a charter file.

    Args:
        to: the field of AgentCharter that it gives, if that has another name. shared: whether an included part may have
            it too.
    """

    to: str = ""
    shared: bool = True


def _names(what: str, pattern: str | re.Pattern[str] = _PATTERN) -> Kind[tuple[str, ...]]:
    return _several(matching(what, pattern))


def _several(kind: Kind[str]) -> Kind[tuple[str, ...]]:
    return listing(kind, "an empty list would mean any: remove the key to mean that")


def _by_name(*keys: _Key) -> dict[str, _Key]:
    return {key.name: key for key in keys}


_INCLUDE = matching("the name of a file in charters/shared, such as support.yaml", r"[A-Za-z0-9_-]+\.yaml")
_INTENT = matching("an intent such as refund.issue", INTENT)
_INTENTS = _names("an intent or a pattern such as refund.*")
_VERSION = matching("a version such as 1.0.0", r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_DATE = matching("a date such as 2027-03-31", r"\d{4}-\d{2}-\d{2}")
_GROUPS = {
    "intents": _by_name(
        _Key("allow", _INTENTS, to="allowed_intents"),
        _Key("deny", _INTENTS, to="denied_intents"),
        _Key("default", _INTENT, to="default_intent", shared=False),
    ),
    "capabilities": _by_name(
        _Key("tools", _names("a tool id or a pattern such as payments.*")),
        _Key("ceiling", choice(*SafetyClass), shared=False),
        _Key("required_packs", _several(text("the id of a context pack"))),
        _Key("decision_keys", _names("a decision key or a pattern")),
    ),
}
_KEYS = _by_name(
    _Key("agent", matching("the agent's name", AGENT_NAME), shared=False),
    _Key("purpose", text("a sentence"), shared=False),
    _Key("owner", text("a name"), shared=False),
    _Key("version", _VERSION, shared=False),
    _Key("review_by", _DATE, shared=False),
    _Key("include", listing(_INCLUDE)),
    *(
        _Key(name, Kind(lambda value, place: value, schema_of([*keys.values()])))
        for name, keys in _GROUPS.items()
    ),
    _Key("namespaces", _names("the first part of tool ids", r"[a-z][a-z0-9_-]*")),
    _Key("data_scopes", _several(text("a scope or a pattern such as project:*"))),
)
_REQUIRED = ("agent", "purpose", "owner", "review_by")


class CharterFiles:
    """The charters of a folder.

    Args:
        folder: holds NAME.yaml for each agent, and the folder `shared`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parsed: dict[str, tuple[date, dict[Path, FileState], AgentCharter | Report]] = {}

    def agents(self) -> list[str]:
        """The agents that have a file, sorted."""
        try:
            names = [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))

    def path(self, agent: str) -> Path:
        """The file of an agent, which need not exist; raises NotFoundError for a name that can have none."""
        if not AGENT_NAME.fullmatch(agent):
            raise NotFoundError(f"no charter can be named {agent!r}", "use letters, digits, _, ., @ and -")
        return self.folder / f"{agent}{SUFFIX}"

    def load(self, agent: str, today: date) -> AgentCharter:
        """The charter of an agent, as its files are now.

        Args:
            today: decides whether its review date is long past.

        Raises:
            NotFoundError: it has no file.
            ConfigError: the file breaks a rule; with file and line.
        """
        charter, report = self.read(agent, today)
        if report is not None:
            report.require_none(f"sb agent charter check {agent}")
        if charter is None:
            known = self.agents()
            hint = f"write {self.path(agent)}: docs/reference/charters.md"
            raise NotFoundError(f"agent {agent} has no charter{nearest(agent, known)}", hint)
        return charter

    def read(self, agent: str, today: date) -> tuple[AgentCharter | None, Report | None]:
        """The charter of an agent, or the report of what is wrong with it; (None, None) where it has no file."""
        cached = self._parsed.get(agent)
        if (
            cached is None
            or cached[0] != today
            or any(file_state(item) != was for item, was in cached[1].items())
        ):
            path = self.path(agent)
            files: dict[Path, FileState] = {path: file_state(path)}
            if files[path] is None:
                self._parsed.pop(agent, None)
                return None, None
            result = _Parser(self.folder, files, today).charter(agent, path)
            cached = self._parsed[agent] = (today, files, result)
        found = cached[2]
        return (None, found) if isinstance(found, Report) else (found, None)


class _Parser:
    """One charter and the parts that it includes.

    Args:
        files: each file that was read, as it was before; those that are included are added.
    """

    def __init__(self, folder: Path, files: dict[Path, FileState], today: date) -> None:
        self._folder = folder
        self._files = files
        self._today = today
        self._report = Report(str(folder))
        self._values: dict[str, Any] = {}
        self._lines: dict[str, tuple[str, int]] = {}

    def charter(self, agent: str, path: Path) -> AgentCharter | Report:
        table = self._file(path, (), shared=False)
        if not self._report.problems:
            self._check_whole(agent, table)
        if self._report.problems:
            return self._report
        values = self._values
        values["review_by"] = date.fromisoformat(values["review_by"])
        values.setdefault("ceiling", SafetyClass.READ_ONLY)
        return AgentCharter(**values)

    def _file(self, path: Path, above: tuple[Path, ...], *, shared: bool) -> LocatedMapping:
        report = Report(str(path))
        self._files[path] = file_state(path)  # before it is read: a later change is seen
        data = read_bytes(path, report)
        if data is None:
            report.add(0, "", "does not exist")
        table = LocatedMapping() if report.problems else parse_document(data or b"", report)
        self._entries(table, _KEYS, Place(report), (*above, path), shared=shared)
        if report.problems and not self._report.problems:
            self._report = report
        return table

    def _entries(
        self, table: Any, keys: Mapping[str, _Key], place: Place, trail: tuple[Path, ...], *, shared: bool
    ) -> None:
        for key, value, at in known_fields(table, keys, place):
            if key.name in _GROUPS:
                if isinstance(value, Mapping):
                    self._entries(value, _GROUPS[key.name], at, trail, shared=shared)
                else:
                    at.refuse(f"must be a mapping, not {describe(value)}")
            elif shared and not keys[key.name].shared:
                at.refuse("belongs into the agent's own file, not into a shared part")
            elif key.name == "include":
                for name in value:
                    self._include(name, at, trail)
            else:
                self._keep(keys[key.name].to or key.name, value, at)

    def _keep(self, name: str, value: Any, place: Place) -> None:
        if isinstance(value, tuple):
            self._values[name] = tuple(dict.fromkeys((*self._values.get(name, ()), *value)))
            for index, item in enumerate(value):
                line = line_of(place.value, index)
                self._lines.setdefault(f"{name}:{item}", (place.report.source, line))
        else:
            self._values[name] = value
            self._lines[name] = (place.report.source, place.line)

    def _include(self, name: str, place: Place, trail: tuple[Path, ...]) -> None:
        path = self._folder / SHARED / name
        if path in trail:
            names = " includes ".join(item.name for item in (*trail[trail.index(path) :], path))
            place.refuse(f"goes in a circle: {names}")
        elif len(self._files) >= _MOST_FILES:
            place.refuse(f"more than {_MOST_FILES} files make up one charter")
        else:
            self._file(path, trail, shared=True)

    def _check_whole(self, agent: str, table: LocatedMapping) -> None:
        """Check the rules that span several values."""
        values, report = self._values, Report(str(self._folder / f"{agent}{SUFFIX}"))
        for name in _REQUIRED:
            if name not in values:
                report.add(table.line, name, "is missing")
        if values.get("agent", agent) != agent:
            report.add(self._lines["agent"][1], "agent", f"is {values['agent']}, but the file is {agent}'s")
        if not values.get("allowed_intents"):
            report.add(table.line, "intents.allow", "is missing: the agent could do nothing")
        both = set(values.get("allowed_intents", ())) & set(values.get("denied_intents", ()))
        for intent in sorted(both):
            source, line = self._lines[f"denied_intents:{intent}"]
            report.source = source
            report.add(line, "intents.deny", f"{intent} is allowed and denied", "take it out of one list")
        self._check_review(report)
        if report.problems:
            self._report = report

    def _check_review(self, report: Report) -> None:
        if "review_by" not in self._values:
            return
        line = self._lines["review_by"][1]
        try:
            review_by = date.fromisoformat(self._values["review_by"])
        except ValueError:
            report.add(line, "review_by", f"{self._values['review_by']} is no day of the calendar")
            return
        if self._today > review_by + timedelta(days=GRACE_DAYS):
            late = (self._today - review_by).days
            report.add(
                line, "review_by", f"{review_by} is {late} days past", "review it, then set the next day"
            )
