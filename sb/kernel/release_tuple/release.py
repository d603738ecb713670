"""Release tuples: the seven parts that make a run what it is, their id, and what differs between two."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cached_property
from typing import Any, NamedTuple

from sb.base.values.canonical import canonical_bytes, digest
from sb.base.values.frozen import frozen
from sb.errors import ContractError

_DIGEST = re.compile(r"[0-9a-f]{64}")
SHORT = 12  # hex digits of a digest that stand for a version


@frozen
class ReleasePart:
    """One part of a release.

    Args:
        content_hash: SHA-256 (hex) of its content.

    Raises:
        ContractError: name or version is blank, or the hash is none.
    """

    name: str
    version: str
    content_hash: str

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.version.strip():
            raise ContractError(f"a part of a release has no {'version' if self.name.strip() else 'name'}")
        if not _DIGEST.fullmatch(self.content_hash):
            raise ContractError(f"the content hash of {self.name!r} is no SHA-256 in hex")

    @classmethod
    def of(cls, name: str, content: Any, version: str = "") -> ReleasePart:
        """A part with the hash of a JSON value's canonical form (RFC 8785), whose beginning is the version by default."""
        found = digest(canonical_bytes(content))
        return cls(name, version or found[:SHORT], found)


@frozen
class ReleaseTuple:
    """Prompt, model, policy, tools, context, evaluation and memory of a run.

    Raises:
        ContractError: a part is missing.
    """

    prompt: ReleasePart
    model: ReleasePart
    policy: ReleasePart
    tools: ReleasePart
    context: ReleasePart
    eval: ReleasePart
    memory: ReleasePart

    def __post_init__(self) -> None:
        for part in PARTS:
            if not isinstance(getattr(self, part), ReleasePart):
                raise ContractError(f"the release has no {part}", f"its parts are {', '.join(PARTS)}")

    def document(self) -> dict[str, dict[str, str]]:
        """The parts as plain JSON."""
        return asdict(self)

    @cached_property
    def id(self) -> str:
        """``sha256:`` and the SHA-256 (hex) of the parts' canonical form (RFC 8785)."""
        return "sha256:" + digest(canonical_bytes(self.document()))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ReleaseTuple:
        """The release that `document` wrote; raises ContractError for any other."""
        try:
            parts = {name: ReleasePart(**part) for name, part in document.items()}
            return cls(**parts)
        except (TypeError, AttributeError) as error:
            raise ContractError(f"this is no release: {error}") from None


PARTS = tuple(part.name for part in fields(ReleaseTuple))


class PartChange(NamedTuple):
    """One part that differs; for `tools` also the ids whose contracts were added, removed or changed."""

    part: str
    before: ReleasePart
    after: ReleasePart
    contracts: tuple[str, ...] = ()


def diff(
    before: ReleaseTuple,
    after: ReleaseTuple,
    contracts_before: Mapping[str, str] | None = None,
    contracts_after: Mapping[str, str] | None = None,
) -> list[PartChange]:
    """The parts that differ, in their order.

    Args:
        contracts_before, contracts_after: tool id to contract fingerprint, where they are known.
    """
    changed = []
    for name in PARTS:
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        tools: tuple[str, ...] = ()
        if name == "tools" and contracts_before is not None and contracts_after is not None:
            ids = sorted(contracts_before.keys() | contracts_after.keys())
            tools = tuple(item for item in ids if contracts_before.get(item) != contracts_after.get(item))
        changed.append(PartChange(name, old, new, tools))
    return changed
