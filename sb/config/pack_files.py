"""Files of rule packs that a configuration names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sb.base.reading import Kind
from sb.base.values.frozen import frozen
from sb.config import kinds
from sb.config.narrowing import Narrow


@frozen
class PackFile:
    """One file of rules about programs.

    Args:
        only_raises: whether its rules can raise a class only: an untrusted project file named it.
        sha256: the digest (hex) that a person trusted; another content can only raise. "" for any.
    """

    path: Path
    only_raises: bool = False
    sha256: str = ""

    def __str__(self) -> str:
        return str(self.path)


def pack_file() -> Kind[PackFile]:
    """A path of a rule pack."""
    path = kinds.path()
    return Kind(lambda value, place: PackFile(path.read(value, place)), path.schema, path.label)


def more_packs() -> Narrow[tuple[PackFile, ...]]:
    """Packs are added, and can only raise a class."""

    def apply(
        ours: tuple[PackFile, ...], theirs: tuple[PackFile, ...]
    ) -> tuple[tuple[PackFile, ...], tuple[str, ...]]:
        known = {pack.path for pack in ours}
        added = (replace(pack, only_raises=True) for pack in theirs if pack.path not in known)
        return (*ours, *added), ()

    return Narrow("more packs, which then only raise classes", apply)
