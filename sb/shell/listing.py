"""The entries that a folder, an archive or a patch would bring, listed before they are brought."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sb.shell.words import compiled

if TYPE_CHECKING:
    from tarfile import TarInfo

MOST_ENTRIES = 4000
_MOST_BYTES = 64 << 20  # of an archive that is not compressed, and of what is compressed in another
_MOST_COMPRESSED = 4 << 20
_MOST_OF_A_PATCH = 1 << 20
_NAMED_BY_A_PATCH = (
    r"^[^\S\n]*(?:---|\+\+\+|\*\*\*|Index:|rename (?:from|to)|copy (?:from|to)|diff --git)[^\S\n]+(.+)$"
)
_MOST_OF_PROCESSES = 1024
_MOST_LINKS = 200  # in an archive
_DEEPEST = 12  # folders of a name in a patch


def folder(source: str, into: str, leads_on: Callable[[str], bool]) -> list[str] | None:
    """Names of entries below `source`, relative to it; None if there are too many.

    Args:
        into: where they land. leads_on: whether a protected place lies below the one that an entry lands at.
    """
    names: list[str] = []
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(os.path.join(source, below)) as entries:
                for entry in entries:
                    name = os.path.join(below, entry.name)
                    names.append(name)
                    if len(names) > MOST_ENTRIES:
                        return None
                    if leads_on(os.path.join(into, name)):
                        if (
                            entry.is_symlink()
                        ):  # what is in it comes along, or it takes the place of what was there
                            return None
                        if entry.is_dir():
                            waiting.append(name)
        except NotADirectoryError:
            continue
    return names


def archive(path: str, strip: int) -> list[str] | None:
    """Names of the entries of an archive; None if it cannot be read.

    Args:
        strip: how many folders of each name are left away.
    """
    import tarfile
    import zipfile
    from lzma import LZMAError
    from zlib import error as ZlibError

    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            return None
        if zipfile.is_zipfile(path) and facts.st_size <= _MOST_BYTES:
            with zipfile.ZipFile(path) as opened:
                infos = opened.infolist()
            if any(stat.S_ISLNK(info.external_attr >> 16) for info in infos):
                return None
            return _stripped((info.filename for info in infos), strip)
        data = _unpacked(path, facts.st_size)
        if data is None:
            return None
        with data, tarfile.open(fileobj=data, mode="r:") as members:
            return _stripped(_members(members), strip)
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, LZMAError, ZlibError):
        return None  # gone, cut off or damaged: its entries are not known, so a person decides
    except (ValueError, RuntimeError):
        return None  # zipfile: a name that it cannot read, an encrypted archive, or a compression it does not have


def _unpacked(path: str, size: int) -> io.BufferedIOBase | None:
    """A decompressed tar archive; None if it is too large or its compression is unknown."""
    import bz2
    import gzip
    import lzma

    with open(path, "rb") as opened:
        begins = opened.read(6)
    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
    opener = openers.get(begins[:2])
    if opener is None:
        return open(path, "rb") if size <= _MOST_BYTES else None
    if size > _MOST_COMPRESSED:
        return None
    with opener(path, "rb") as compressed:
        data = compressed.read(_MOST_BYTES + 1)
    return io.BytesIO(data) if len(data) <= _MOST_BYTES else None


def _members(members: Iterable[TarInfo]) -> list[str]:
    """Names of members, also those reached through a link of the same archive.

    Raises:
        ValueError: there are too many, or a link leads out of the archive.
    """
    names: list[str] = []
    links: dict[str, str] = {}
    for member in members:
        name = os.path.normpath(member.name)
        if len(names) >= MOST_ENTRIES:
            raise ValueError("too many entries")
        through = next((to + name[len(at) :] for at, to in links.items() if name.startswith(at + "/")), "")
        names += [name, through] if through else [name]
        if member.issym() or member.islnk():
            base = os.path.dirname(name) if member.issym() else ""
            target = os.path.normpath(os.path.join(base, member.linkname))
            hidden = os.path.basename(name).startswith(".")  # it may take the place of a folder with settings
            if target.startswith(("/", "..")) or hidden or len(links) > _MOST_LINKS:
                raise ValueError("a link that leads elsewhere")
            links[name] = target
    return names


def _stripped(names: Iterable[str], strip: int) -> list[str] | None:
    """Names without their first folders, as they land: without a root, and without those that lead upwards."""
    found: list[str] = []
    for name in names:
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        if len(found) >= MOST_ENTRIES:
            return None
        if len(parts) > strip and ".." not in parts:
            found.append("/".join(parts[strip:]))
    return found


def holds_processes(path: str) -> bool:
    """Whether a file holds process ids only, or does not exist."""
    if not os.path.lexists(path):
        return True
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_OF_PROCESSES:
            return False
        with open(path, encoding="ascii", errors="replace") as opened:
            return all(compiled("[1-9][0-9]{1,9}").fullmatch(word) for word in opened.read().split())
    except OSError:
        return False


def patch_file(path: str) -> list[str] | None:
    """Names that a patch file changes; None if it cannot be read."""
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_OF_A_PATCH:
            return None
        with open(path, "rb") as opened:
            return patch(opened.read().decode("utf-8", "replace"))
    except OSError:
        return None


def patch(text: str) -> list[str] | None:
    """Names that a patch changes, with each number of leading folders stripped."""
    found: dict[str, None] = {}
    for header in compiled(_NAMED_BY_A_PATCH, re.MULTILINE).finditer(text):
        for name in header[1].partition("\t")[0].split():
            parts = [part for part in name.strip('"').split("/") if part not in ("", ".")]
            for at in range(min(len(parts), _DEEPEST)):
                found["/".join(parts[at:])] = None
        if len(found) > MOST_ENTRIES:
            return None
    return list(found)
