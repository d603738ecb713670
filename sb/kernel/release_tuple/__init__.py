"""Releases: the seven parts that make a run what it is, and drift between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.release_tuple.release import PARTS as PARTS
    from sb.kernel.release_tuple.release import PartChange as PartChange
    from sb.kernel.release_tuple.release import ReleasePart as ReleasePart
    from sb.kernel.release_tuple.release import ReleaseTuple as ReleaseTuple
    from sb.kernel.release_tuple.release import diff as diff
    from sb.kernel.release_tuple.releases import Drift as Drift
    from sb.kernel.release_tuple.releases import ReleaseEntry as ReleaseEntry
    from sb.kernel.release_tuple.releases import Releases as Releases
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.release_tuple.release": "PARTS PartChange ReleasePart ReleaseTuple diff",
            "sb.kernel.release_tuple.releases": "Drift ReleaseEntry Releases",
        },
    )
