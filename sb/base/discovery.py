"""Discover installed plugins, stacks, models and stack components by entry point, and load one.

By entry points of distributions: nothing is imported before it is asked for by name.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sb.base.values.frozen import frozen

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PLUGINS, STACKS, MODELS, STACK_COMPONENTS = "sb.plugins", "sb.stacks", "sb.models", "sb.stack_components"
_log = logging.getLogger(__name__)


@frozen
class DiscoveredComponent:
    """Something that an installed distribution offers.

    Args:
        name: by which it is asked for. group: one of the entry point groups above.
        module, attr: what an import of it takes. dist_name, dist_version: of what brought it, or None.
    """

    name: str
    group: str
    module: str
    attr: str
    dist_name: str | None = None
    dist_version: str | None = None

    @property
    def qualname(self) -> str:
        """As entry points are written."""
        return f"{self.module}:{self.attr}"


def discover(group: str) -> list[DiscoveredComponent]:
    """The components of a group, by name; [] where the installation's metadata cannot be read, which is logged."""
    try:
        found = [_described(point) for point in entry_points(group)]
    except Exception as error:  # noqa: BLE001 - a broken installation of others must not stop ours
        _log.warning("cannot read the entry points of %s: %s: %s", group, type(error).__name__, error)
        return []
    return sorted(found, key=lambda component: (component.name, component.qualname))


def load_component(dc: DiscoveredComponent) -> Any:
    """Import it; what its entry point names, usually a class.

    Raises:
        ImportError: it is not installed any more, several distributions offer that name, or importing it failed.
    """
    what = f"{dc.name} of {dc.group}"
    points = [point for point in entry_points(dc.group) if point.name == dc.name]
    if not points:
        raise ImportError(f"{what} is not installed")
    if len(points) > 1:
        offers = ", ".join(sorted(_described(point).dist_name or "unknown" for point in points))
        raise ImportError(f"{what} is offered by several distributions: {offers}")
    try:
        return points[0].load()
    except (Exception, SystemExit) as error:
        raise ImportError(f"{what} cannot be loaded: {type(error).__name__}: {error}") from error


def find(group: str, name: str) -> DiscoveredComponent:
    """The component of a group under a name; raises ImportError, as load_component, without one."""
    for point in entry_points(group):
        if point.name == name:
            return _described(point)
    raise ImportError(f"{name} of {group} is not installed")


def entry_points(group: str) -> list[EntryPoint]:
    """The entry points of a group by importlib.metadata; raises whatever that raises."""
    offered = _installed(tuple((folder, _changed(folder)) for folder in sys.path))
    return list(offered(group))


@lru_cache(maxsize=1)
def _installed(_: tuple[tuple[str, int], ...]) -> Callable[[str], tuple[EntryPoint, ...]]:
    """The entry points of a group; they are read again, which takes milliseconds, once a folder changes."""
    from importlib import metadata  # takes tens of milliseconds

    everything = metadata.entry_points()
    return cache(lambda group: tuple(everything.select(group=group)))


def _changed(folder: str) -> int:
    """When something was added to a folder, or removed, in nanoseconds; 0 where there is none."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except (OSError, ValueError):  # a name in sys.path may be anything
        return 0


def _described(point: EntryPoint) -> DiscoveredComponent:
    dist = point.dist
    brought = (dist.name, dist.version) if dist else (None, None)
    return DiscoveredComponent(point.name, point.group, point.module, point.attr, *brought)
