"""The file of context sources, `sources.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sb.config import kinds
from sb.config.document import Entry, Report, Table, describe, parse_document
from sb.config.kinds import Kind, Reading
from sb.config.sources import read_bytes
from sb.duration import parse_duration
from sb.errors import UsageError
from sb.kernel.boundaries.file_state import FileState, file_state
from sb.kernel.boundaries.sources import SENSITIVITIES, AccessMode, ContextSource, ContextSourceRegistry
from sb.sources import SYSTEM_CLOCK, Clock
from sb.text import nearest

_KEYS: Mapping[str, Kind[Any]] = {
    "owner": kinds.text("a name"),
    "uris": kinds.listing(kinds.text("an address, a path or a pattern of them")),
    "sensitivity": kinds.choice(*SENSITIVITIES),
    "access": kinds.choice(*AccessMode),
    "ttl": kinds.text("a duration such as 30d"),
    "trust": kinds.number(0, 1),
}
_REQUIRED = ("owner", "uris", "ttl", "trust")


class SourceFile:
    """The registered sources of a file, which is parsed again once it was written.

    Args:
        more: other arguments of `read_sources`.
    """

    def __init__(self, path: Path, **more: Any) -> None:
        self._path = path
        self._more = more
        self._known: tuple[FileState, ContextSourceRegistry] | None = None

    def load(self) -> ContextSourceRegistry:
        """The sources as the file has them now; raises ConfigError as `read_sources`."""
        state = file_state(self._path)
        known = self._known
        if known is None or known[0] != state:
            self._known = None
            known = self._known = (state, read_sources(self._path, **self._more))
        return known[1]


def read_sources(
    path: Path, *, clock: Clock = SYSTEM_CLOCK, owner_refusal: Callable[[str], str] = lambda owner: ""
) -> ContextSourceRegistry:
    """The sources of a file; none where there is no file.

    Raises:
        ConfigError: it breaks a rule; with file and line.
    """
    report = Report(str(path))
    data = read_bytes(path, report)
    table = Table(0) if data is None or report.problems else parse_document(data, report)
    reading = Reading(report, path.parent, {})
    found = [source for entry in table.entries if (source := _source(entry, reading)) is not None]
    report.require_none(listing="")
    return ContextSourceRegistry(found, clock=clock, owner_refusal=owner_refusal)


def _source(entry: Entry, reading: Reading) -> ContextSource | None:
    if not isinstance(entry.value, Table):
        reading.wrong(entry, entry.key, f"must be a mapping, not {describe(entry.value)}")
        return None
    values: dict[str, Any] = {}
    before = len(reading.report.problems)
    for inner in entry.value.entries:
        name, kind = f"{entry.key}.{inner.key}", _KEYS.get(inner.key)
        if kind is None:
            reading.wrong(
                inner, name, f"unknown key{nearest(inner.key, _KEYS)}", f"known: {', '.join(_KEYS)}"
            )
        elif (value := kind.parse(inner.value, name, reading)) is not None:
            values[inner.key] = value
            if inner.key == "ttl":
                _read_ttl(inner, name, values, reading)
            elif inner.key == "uris" and not value:
                reading.wrong(inner, name, "must name at least one")
    for name in _REQUIRED:
        if name not in {inner.key for inner in entry.value.entries}:
            reading.wrong(entry, f"{entry.key}.{name}", "is missing")
    if len(reading.report.problems) > before:
        return None
    values["access"] = AccessMode(values.get("access", AccessMode.READ_ONLY))
    return ContextSource(entry.key, ttl_s=values.pop("ttl"), **values)


def _read_ttl(entry: Entry, name: str, values: dict[str, Any], reading: Reading) -> None:
    try:
        values["ttl"] = parse_duration(values["ttl"])
    except UsageError as error:
        reading.wrong(entry, name, error.message, error.hint)
        return
    if not values["ttl"]:
        reading.wrong(entry, name, "must be longer than 0 s")
