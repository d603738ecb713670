"""The file of context sources, `sources.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sb.base.reading import (
    Field,
    Kind,
    Place,
    Report,
    WrongValue,
    choice,
    duration,
    listing,
    number,
    read_fields,
    text,
)
from sb.base.sources import SYSTEM_CLOCK, Clock
from sb.config.document import parse_document
from sb.config.sources import read_bytes
from sb.kernel.boundaries.file_state import FileState, file_state
from sb.kernel.context_sources.sources import SENSITIVITIES, AccessMode, ContextSource, ContextSourceRegistry


def _ttl(value: Any, place: Place) -> int:
    seconds = duration("a duration such as 30d").read(value, place)
    if not seconds:
        raise place.refuse("must be longer than 0 s")
    return seconds


_URIS = listing(text("an address, a path or a pattern of them"), "must name at least one")
_FIELDS = (
    Field("owner", text("a name"), "who answers for it", required=True),
    Field("uris", _URIS, "its addresses and paths, or patterns of them", required=True),
    Field("sensitivity", choice(*SENSITIVITIES)),
    Field("access", choice(*AccessMode), default=AccessMode.READ_ONLY),
    Field("ttl", Kind(_ttl, {"type": "string"}), "how long it counts as fresh, such as 30d", required=True),
    Field("trust", number(0, 1), "how far it is trusted, from 0 to 1", required=True),
)


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
    """The sources registered in a file; empty without a file.

    Raises:
        ConfigError: it breaks a rule; with file and line.
    """
    report = Report(str(path), path.parent)
    data = read_bytes(path, report)
    table = {} if data is None or report.problems else parse_document(data, report)
    found = _sources(table, report)
    report.require_none(listing="")
    return ContextSourceRegistry(found, clock=clock, owner_refusal=owner_refusal)


def _sources(table: Mapping[str, Any], report: Report) -> list[ContextSource]:
    found = []
    for name, value in table.items():
        with suppress(WrongValue):
            values = read_fields(value, _FIELDS, Place(report).below(table, name))
            found.append(ContextSource(name, ttl_s=values.pop("ttl"), **values))
    return found
