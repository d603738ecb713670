"""Origins of trust scores: the `authority` of an assessment, one entry for each domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def given_by(authority: Any, domain: str) -> Mapping[str, Any]:
    """The origin of a domain's score: `by`, and `at` in seconds since the epoch; empty if unknown."""
    entries = [item for item in authority or () if isinstance(item, dict) and item.get("domain") == domain]
    return entries[-1] if entries else {}


def with_authority(former: Any, new: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns who gave each score, by domain: as it was, but for the domains that are new."""
    entries = [item for item in former or () if isinstance(item, dict) and item.get("domain") not in new]
    return [*entries, *map(dict, new.values())]
