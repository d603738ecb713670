"""Enforce provenance: once a stack belongs to a core, each memory must name its sources.

Source: the stack protocol, "Provenance and write discipline"; its reference implementation for which kind may be made from
which. What an attached core experienced, observed or was told by others needs no source beyond that core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sb.base.text import with_article
from sb.errors import StoreReadOnly
from sb.protocols import MaintenanceModeError, ProvenanceError
from sb.protocols.types import SourceType, StackState
from sb.protocols.types.vocabulary import SOURCES_OF_BRAINS
from sb.stack.checks import check_words
from sb.stack.container import SYSTEMS, Container
from sb.stack.views import CORE, VIEWS, kinds_viewed_as
from sb.store.records.descriptors import DESCRIPTORS, KIND_OF

ENFORCED = "enforce_provenance"  # the setting of a stack
ANNOTATIONS = frozenset({"context", "sb", "kernle"})  # references that say something, but name no record
_MIGRATED = tuple(f"{system}pre-v0.9" for system in SYSTEMS)
_FIRST_HAND = frozenset({SourceType.DIRECT_EXPERIENCE, SourceType.OBSERVATION, SourceType.EXTERNAL})
_FIRST_KINDS = frozenset({"episode", "note"})
_OR_CORE = ", or write it through the core that is attached"
_DEEPEST = 10  # steps back that are looked at for a cycle


def check_writable(container: Container) -> None:
    """Refuse every write while the stack is being maintained, or only read.

    Raises:
        MaintenanceModeError, StoreReadOnly: it is.
    """
    if container.read_only:
        raise StoreReadOnly(f"stack {container.stack_id} is open for reading only")
    container.look_again()
    if container.state is StackState.MAINTENANCE:
        raise MaintenanceModeError(
            f"stack {container.stack_id} is in maintenance", "call exit_maintenance() when it is done"
        )


def check_provenance(container: Container, records: Sequence[Any], *, enforce: bool) -> None:
    """Refuse records that do not say enough of where they came from; `derived_from` may lead nowhere in a circle.

    Raises:
        ProvenanceError: a source is missing, is of a kind that it cannot be of, or is not here.
        ValueError: a record would be made from itself, or names its sources as no list of texts.
    """
    new_references: dict[str, Sequence[str]] = {}  # what will be there once they are kept
    for record in records:
        references = getattr(record, "derived_from", None) or []
        check_words("derived_from", references)
        new_references[record.id] = references
    for record in records:
        references = getattr(record, "derived_from", None) or []
        _check_cycles(container, record, references, new_references)
        if enforce and container.state is StackState.ACTIVE:
            _check_sources(container, record, references)


def _check_sources(container: Container, record: Any, references: Sequence[str]) -> None:
    kind = KIND_OF[type(record)]
    allowed = DESCRIPTORS[kind].sources
    if not allowed or _stands_by_itself(container, kind, record, references):
        return
    sources = 0
    for reference in references:
        source_kind, separator, uid = reference.partition(":")
        if not separator or not source_kind or not uid:
            raise ProvenanceError(f"Invalid provenance reference {reference!r}: write it as type:id")
        if source_kind in ANNOTATIONS:
            continue
        if source_kind not in allowed:
            raise ProvenanceError(
                f"{with_article(kind)} cannot be derived from {with_article(source_kind)}",
                f"it comes from {' or '.join(allowed)}",
            )
        if not container.find(uid, kinds_viewed_as(source_kind)):
            raise ProvenanceError(f"{reference} is not in stack {container.stack_id}")
        sources += 1
    if not sources and container.find(record.id, VIEWS) is None:  # what a Brain keeps has its own provenance
        raise ProvenanceError(
            f"this {kind} names no source",
            f"name the {' or '.join(allowed)} that it was derived from, as TYPE:ID (in a shell: --from TYPE:ID)"
            + (_OR_CORE if kind in _FIRST_KINDS else ""),
        )


def _stands_by_itself(container: Container, kind: str, record: Any, references: Sequence[str]) -> bool:
    source = record.source_entity or ""
    if source.startswith(SYSTEMS) or any(reference.startswith(_MIGRATED) for reference in references):
        return True
    if source.startswith("plugin:"):
        return source.removeprefix("plugin:") in container.plugins
    core = source.removeprefix(CORE)
    return (
        kind in _FIRST_KINDS
        and source.startswith(CORE)
        and core in container.cores
        and SOURCES_OF_BRAINS.get(record.source_type, record.source_type) in _FIRST_HAND
    )


def _check_cycles(
    container: Container, record: Any, references: Sequence[str], new_references: Mapping[str, Sequence[str]]
) -> None:
    """References lead from record to record; none of them may come back to this one.

    Args:
        new_references: the references of those that are about to be kept, by their ids.
    """
    if not references or not record.id:
        return
    seen, ahead = set[str](), [reference.rpartition(":")[2] for reference in references]
    for _ in range(_DEEPEST):
        if record.id in ahead:
            raise ValueError(f"{record.id} would be derived from itself")
        seen.update(ahead)
        rows = container.space.records.known([uid for uid in ahead if uid not in new_references])
        records = container.space.all_records([row for row in rows.values() if row["state"] != "erased"])
        sources = [getattr(item, "derived_from", None) or () for item in records]
        sources += [new_references[uid] for uid in ahead if uid in new_references]
        further = (reference.rpartition(":")[2] for references in sources for reference in references)
        ahead = list(dict.fromkeys(uid for uid in further if uid not in seen))
        if not ahead:
            return
