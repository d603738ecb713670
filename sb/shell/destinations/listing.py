"""The entries that a folder, an archive or a patch would bring, listed before they are brought."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import Any

from sb.shell.parsing.words import compiled

MOST_ENTRIES = 4000
_MOST_BYTES = 64 << 20  # of an archive that is not compressed, and of what is compressed in another
_MOST_COMPRESSED = 4 << 20
_MOST_OF_A_PATCH = 1 << 20
_NAMED_BY_A_PATCH = (
    r"^(?:X|[^\S\n])*(?:---|\+\+\+|\*\*\*|Index:|rename (?:from|to)|copy (?:from|to)|diff --git)[^\S\n]+(.+)$"
)
_MAKES_A_LINK = r"^(?:X|[^\S\n])*(?:new (?:file )?mode 120000|index \S+ 120000)"
_ESCAPED = r"\\(?:([0-7]{1,3})|(.))"  # in names that stand in quotes
_MOST_OF_PROCESSES = 1024
_MOST_LINKS = 200  # in an archive
_MOST_STEPS = 8  # through links
_MOST_OF_A_LIST = 1 << 20  # bytes of the entries of a zip archive
_TAR_HEADER = 512
_LONGEST_NAME = 4096  # that Linux takes
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
    """Names of the entries of an archive; None if it cannot be read, or programs may read it in different ways.

    Args:
        strip: how many folders of each name are left away; -1 for all of them.
    """
    from lzma import LZMAError
    from zipfile import BadZipFile, is_zipfile
    from zlib import error as ZlibError

    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            return None
        if not is_zipfile(path):
            data = _unpacked(path, facts.st_size)
            return None if data is None else _stripped(_tar_names(data), strip)
        with open(path, "rb") as opened:
            begins = opened.read(_TAR_HEADER)
        if begins[:2] != b"PK" or begins[257:262] == b"ustar":
            return None  # it may be another archive with a zip archive behind it
        return _stripped(_zip_names(path), strip)
    except (OSError, EOFError, BadZipFile, LZMAError, ZlibError):
        return None  # gone, cut off or damaged: its entries are not known, so a person decides
    except (ValueError, RuntimeError):
        return None  # an archive that is not read, and what zipfile cannot read


def _unpacked(path: str, size: int) -> bytes | None:
    """A decompressed tar archive; None if it is too large."""
    import bz2
    import gzip
    import lzma

    with open(path, "rb") as opened:
        begins = opened.read(2)
    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
    opener = openers.get(begins, open)
    if size > (_MOST_BYTES if opener is open else _MOST_COMPRESSED):
        return None
    with opener(path, "rb") as packed:
        data: bytes = packed.read(_MOST_BYTES + 1)
    return data if len(data) <= _MOST_BYTES else None


class _Bounded(io.FileIO):
    """A file that refuses large reads, such as of the list of a zip archive's entries."""

    def read(self, size: int | None = -1, /) -> bytes:
        rest = os.fstat(self.fileno()).st_size - self.tell()
        if min(rest, rest if size is None or size < 0 else size) > _MOST_OF_A_LIST:
            raise ValueError("too many entries")
        return super().read(size)


def _zip_names(path: str) -> list[str]:
    """Names of the entries of a zip archive.

    Raises:
        ValueError: there are too many, one is a link, or has a name that programs change.
    """
    from zipfile import ZipFile

    with _Bounded(path) as opened, ZipFile(opened) as zipped:
        infos = zipped.infolist()
    if any(stat.S_ISLNK(info.external_attr >> 16) for info in infos):
        raise ValueError("a link")
    return [info.filename for info in infos]


def _tar_names(data: bytes) -> list[str]:
    """Names of members and of what links of the same archive lead to, with all links resolved.

    Raises:
        ValueError: there are too many, or a link leads out of the archive.
    """
    from sb.shell.destinations.tar_reading import members

    found = []
    for member in members(data):
        found.append(member)
        if len(found) > MOST_ENTRIES:
            raise ValueError("too many entries")
    links: dict[str, str] = {}
    for member in found:
        if member.link:
            name = os.path.normpath(member.name)
            base = os.path.dirname(name) if member.symbolic else ""
            links[name] = _target(base, member.link)
            if len(links) > _MOST_LINKS or os.path.basename(name).startswith("."):
                raise ValueError("a link that takes the place of settings, or too many")
    names = [member.name for member in found]
    return [*names, *(_through(name, links) for name in [*names, *links.values()] if links)]


def _target(base: str, link: str) -> str:
    """The place that a link in an archive leads to.

    Raises:
        ValueError: it leads out of the archive, to a hidden folder, or upwards behind a name, which may be a link itself.
    """
    target = os.path.normpath(os.path.join(base, link))
    upwards = ".." in link.lstrip("./").split("/")
    if upwards or target.startswith(("/", "..")) or os.path.basename(target).startswith("."):
        raise ValueError("a link that leads elsewhere")
    return target


def _through(name: str, links: dict[str, str]) -> str:
    """A name with the links on its way resolved.

    Raises:
        ValueError: they lead in a circle, or too far.
    """
    name = os.path.normpath(name)
    for _ in range(_MOST_STEPS):
        parts = name.split("/")
        above = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
        link = next((part for part in above if part in links), None)
        if link is None:
            return name
        name = os.path.normpath(links[link] + name[len(link) :])
    raise ValueError("links that lead to links")


def _stripped(names: Iterable[str], strip: int) -> list[str] | None:
    """Names without their first folders, as they land; None if programs differ in what they make of one."""
    found: list[str] = []
    for name in names:
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        if (
            len(found) > 2 * MOST_ENTRIES + _MOST_LINKS
            or ".." in parts
            or len(name) > _LONGEST_NAME
            or not name.isprintable()
        ):
            return None
        if len(parts) > strip:
            found.append("/".join(parts[strip:]))
    return found


def holds_processes(path: str) -> bool:
    """True if a file holds process ids only, or does not exist."""
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
    """Names that a patch changes, with each number of leading folders stripped; None if it makes links, or has too many."""
    if compiled(_MAKES_A_LINK, re.MULTILINE).search(text):
        return None
    found: dict[str, None] = {}
    for header in compiled(_NAMED_BY_A_PATCH, re.MULTILINE).finditer(text):
        named = header[1].partition("\t")[0]
        if len(named) > _LONGEST_NAME:
            return None
        plain = compiled(_ESCAPED).sub(lambda match: chr(int(match[1], 8)) if match[1] else match[2], named)
        for name in dict.fromkeys((*named.split(), *plain.split())):
            parts = [part for part in name.strip('"').split("/") if part not in ("", ".")]
            for at in range(min(len(parts), _DEEPEST)):
                found["/".join(parts[at:])] = None
        if len(found) > MOST_ENTRIES:
            return None
    return list(found)
