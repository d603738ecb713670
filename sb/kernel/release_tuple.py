"""Door to `sb.kernel.boundaries` on releases, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.boundaries.release import PARTS, PartChange, ReleasePart, ReleaseTuple, diff
from sb.kernel.boundaries.releases import Drift, ReleaseEntry, Releases

__all__ = ["PARTS", "Drift", "PartChange", "ReleaseEntry", "ReleasePart", "ReleaseTuple", "Releases", "diff"]
