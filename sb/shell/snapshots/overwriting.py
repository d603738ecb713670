"""Files that single programs delete and overwrite, given their exact arguments."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sb.base.text import normal_name
from sb.shell.places.places import located, resolved
from sb.shell.programs.commands import QUIET_TARGETS
from sb.shell.programs.options import parsed

_MOST_COPIED = 2000  # entries of a folder that is copied


class Change(NamedTuple):
    """A path that a command line deletes or overwrites.

    Args:
        path: absolute; every folder of it is real, and it is itself not followed if it is a link.
        tree: with everything below it, if it is a folder.
        removed: it is deleted, and nothing else happens to it.
        of_git: a file of a repository itself, which only git changes.
    """

    path: str
    tree: bool = False
    removed: bool = False
    of_git: bool = False

    def loses(self) -> bool:
        """True if a file is there whose content is surely gone afterwards, unlike that of a folder which is moved."""
        return not self.tree and os.path.lexists(self.path)


class Unknown(Exception):
    """The changes of a command are unknown; the message says why."""


class Effect(NamedTuple):
    """Changes of one command.

    Args:
        changes: all of it. moved, copied: paths under which something appears that was elsewhere.
        looked: folders whose entries decided about the rest.
        extra: contents by path that have to be there when the changes are undone, such as git's objects.
        reads: what of a repository decided: "index", "head", "ignore", "stash". unsettles: what of it is another after.
        in_place: it edits files, and every path names afterwards what it named before.
    """

    changes: list[Change]
    moved: list[str] = []
    copied: list[str] = []
    looked: list[str] = []
    extra: dict[str, bytes] = {}
    reads: tuple[str, ...] = ()
    unsettles: tuple[str, ...] = ()
    in_place: bool = False


def written(folder: str, text: str) -> list[Change]:
    """The changes of a write to a path: a link is followed, and counts itself."""
    if text in QUIET_TARGETS:
        return []
    entry = _entry(folder, text)
    if not os.path.islink(entry):
        return [] if os.path.isdir(entry) else [Change(entry)]
    real = resolved(entry)
    if real is None or os.path.isdir(real):
        raise Unknown(f"{text} is a link that leads to a folder or a device")
    return [Change(entry), Change(real)]


def _entry(folder: str, text: str) -> str:
    entry = located(folder, text)
    if entry is None:
        raise Unknown(f"{text or 'an empty name'} is not a file's name in a folder")
    return entry


def _options(
    arguments: Sequence[str], short: str, long: str, flags: str
) -> tuple[list[str], dict[str, list[str]]]:
    """Operands and options; raises Unknown at an option that is not listed.

    Args:
        short: letters that take a value. long: names that do. flags: letters and names that take none.
    """
    options = parsed(arguments, short, long)
    known = (
        {f"-{letter}" for letter in short} | {name.rstrip("?") for name in long.split()} | set(flags.split())
    )
    for name in options.values:
        if name not in known:
            raise Unknown(f"the option {name} is not followed")
    return options.rest, options.values


def _removed(folder: str, arguments: Sequence[str]) -> Effect:
    """`rm`."""
    rest, options = _options(
        arguments,
        "",
        "--recursive? --force? --verbose? --interactive? --dir? --preserve-root? --one-file-system?",
        "-r -R -f -v -i -I -d",
    )
    tree = any(name in options for name in ("-r", "-R", "--recursive"))
    either = tree or any(name in options for name in ("-d", "--dir"))
    changes: list[Change] = []
    for text in rest:
        entry = _entry(folder, text)
        is_link = os.path.islink(entry)
        if is_link and text.endswith("/"):
            raise Unknown(f"{text} is a link")
        if is_link or not os.path.isdir(entry):
            changes.append(Change(entry, tree, removed=True))
        elif either:
            changes.append(Change(entry, tree=True, removed=True))
    return Effect(changes)


def _unlinked(folder: str, arguments: Sequence[str]) -> Effect:
    """`unlink` and `rmdir` without options."""
    if any(word.startswith("-") for word in arguments):
        raise Unknown("an option is not followed")
    return Effect([Change(_entry(folder, text), tree=True, removed=True) for text in arguments])


def _destinations(
    rest: list[str], options: dict[str, list[str]], *, copies: bool = False
) -> list[tuple[str, str, str]]:
    """(source, destination, destination if that is a folder by then) of `mv` and `cp`."""
    into = [value for name in ("-t", "--target-directory") for value in options.get(name, ())]
    exact = any(name in options for name in ("-T", "--no-target-directory"))
    if len(into) > 1 or len(rest) < (1 if into else 2):
        raise Unknown("its destination is not known")
    sources, place = (rest, into[0]) if into else (rest[:-1], rest[-1])
    found = []
    while place.rstrip("/").endswith("/.") and place.strip("/."):
        place = place.rstrip("/")[:-2]
    if not exact and os.path.basename(place.rstrip("/")) in (".", ".."):
        into = [place]  # no name, but surely a folder
    for source in sources:
        name = os.path.basename(source.rstrip("/"))
        if name == "." and copies:
            found.append((source, place, ""))  # what is in it goes into the destination
            continue
        if name in ("", ".", ".."):
            raise Unknown(f"{source} is not a file's name in a folder")
        below = "" if exact else f"{place.rstrip('/') or '/'}/{name}"
        found.append((source, "" if into or len(sources) > 1 else place, below))
    return found


def _moved(folder: str, arguments: Sequence[str]) -> Effect:
    """`mv`."""
    rest, options = _options(
        arguments,
        "t",
        "--target-directory --no-target-directory? --force? --verbose? --no-clobber? --update? --interactive?",
        "-f -i -n -v -u -T",
    )
    changes: list[Change] = []
    moved: list[str] = []
    for source, place, below in _destinations(rest, options):
        if source.endswith("/") and os.path.islink(_entry(folder, source)):
            raise Unknown(f"{source} is a link")
        if place and _differ_by_case_alone(_entry(folder, source), _entry(folder, place)):
            moved += [_entry(folder, source), _entry(folder, place)]  # one file, whose content stays as it is
            continue
        changes.append(Change(_entry(folder, source), tree=True))
        for text in filter(None, (place, below)):
            entry = _entry(folder, text)
            if text == place and below and os.path.isdir(entry):
                continue  # it goes into that folder
            if text == below and place and not _may_be_folder(folder, place):
                continue
            changes.append(Change(entry, tree=os.path.isdir(entry) or not os.path.lexists(entry)))
        moved += [_entry(folder, text) for text in (source, place, below) if text]
    return Effect(changes, moved=moved)


def _differ_by_case_alone(path: str, other: str) -> bool:
    """True if two paths are one entry of a folder, on a file system that ignores the case of letters."""
    folder, name = os.path.split(other)
    if path == other or normal_name(path) != normal_name(other) or not os.path.lexists(other):
        return False
    try:
        return name not in os.listdir(folder)
    except OSError:
        return False


def _may_be_folder(folder: str, text: str) -> bool:
    """True if a destination is a folder, or absent and may be one by then."""
    entry = _entry(folder, text)
    return os.path.isdir(entry) or not os.path.lexists(entry)


def _copied(folder: str, arguments: Sequence[str]) -> Effect:
    """`cp`."""
    rest, options = _options(
        arguments,
        "t",
        "--target-directory --no-target-directory? --recursive? --archive? --force? --verbose? --no-clobber? "
        "--update? --interactive? --dereference? --no-dereference? --preserve? --no-preserve?",
        "-r -R -a -p -f -v -n -u -i -L -P -d -H -T",
    )
    whole = any(name in options for name in ("-r", "-R", "-a", "--recursive", "--archive"))
    changes: list[Change] = []
    copied: list[str] = []
    looked: list[str] = []
    for source, place, below in _destinations(rest, options, copies=True):
        origin = os.path.join(folder, source)
        for text in filter(None, (place, below)):
            if (
                text == place
                and below
                and os.path.isdir(_entry(folder, text))
                and not source.endswith(("/", "/."))
            ):
                continue
            if text == below and place and not _may_be_folder(folder, place):
                continue
            if os.path.isdir(origin):
                changes += _merged(origin, _entry(folder, text)) if whole else []
            else:
                changes += written(folder, text)
        looked.append(origin)
        copied += [_entry(folder, text) for text in (place, below) if text]
    return Effect(changes, copied=copied, looked=looked)


def _merged(source: str, target: str) -> list[Change]:
    """The changes of copying a folder over another one."""
    if not os.path.lexists(target):
        return [Change(target, tree=True)]
    if not os.path.isdir(target) or os.path.islink(target):
        return written(os.path.dirname(target), os.path.basename(target))
    changes: list[Change] = []
    waiting = [(source, target)]
    looked_at = 0
    while waiting:
        here, there = waiting.pop()
        with os.scandir(here) as entries:
            for entry in entries:
                looked_at += 1
                if looked_at > _MOST_COPIED:
                    raise Unknown(f"{os.path.basename(source)} has more than {_MOST_COPIED} entries")
                path = f"{there}/{entry.name}"
                if not entry.is_dir():
                    changes += written(there, entry.name)
                elif os.path.isdir(path) and not os.path.islink(path):
                    waiting.append((entry.path, path))
                else:
                    changes.append(Change(path, tree=True))
    return changes


def _teed(folder: str, arguments: Sequence[str]) -> Effect:
    """`tee`."""
    rest, _ = _options(arguments, "", "--append? --ignore-interrupts?", "-a -i -p")
    return _all_written(folder, [text for text in rest if text != "-"])


def _truncated(folder: str, arguments: Sequence[str]) -> Effect:
    """`truncate`."""
    rest, _ = _options(arguments, "sr", "--size --reference --no-create? --io-blocks?", "-c -o")
    return _all_written(folder, rest)


def _dumped(folder: str, arguments: Sequence[str]) -> Effect:
    """`dd`."""
    if not all("=" in word for word in arguments):
        raise Unknown("an argument is not followed")
    return _all_written(folder, [word[3:] for word in arguments if word.startswith("of=")])


def _edited(folder: str, arguments: Sequence[str]) -> Effect:
    """`sed -i`; without it a script's own files are all that it writes, which is not followed here."""
    suffixes, files, after_script = [], [], False
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word == "-i" and sys.platform == "darwin":
            suffixes.append("".join(arguments[at : at + 1]))
            at += 1
        elif word.startswith("--in-place"):
            suffixes.append(word.partition("=")[2])
        elif word[:2] == "-i":
            suffixes.append(word[2:])
        elif word in ("-e", "--expression"):
            at, after_script = at + 1, True
        elif word.startswith("--expression="):
            after_script = True
        elif word[:1] == "-" and len(word) > 1:
            if not set(word[1:]) <= set("Ernsuz"):
                raise Unknown(f"the option {word} is not followed")
        else:
            files.append(word)
    if not suffixes or any("*" in suffix or "/" in suffix for suffix in suffixes):
        raise Unknown("which files it changes is not followed")
    # The first operand may be the script; a file of that name is one too many at most.
    changes = []
    for text in (
        files if after_script else [file for file in files if os.path.lexists(os.path.join(folder, file))]
    ):
        changes += written(folder, text)
        changes += [change for suffix in suffixes if suffix for change in written(folder, text + suffix)]
    return Effect(changes, in_place=True)


def _found(folder: str, arguments: Sequence[str]) -> Effect:
    """`find` with `-delete`, or that runs `rm` or `sed -i`."""
    from sb.shell.snapshots.find import found_by  # most lines need none

    found = found_by(folder, arguments)
    if isinstance(found, str):
        raise Unknown(found)
    if found.action == ["delete"]:
        changes = [Change(path, tree=True, removed=True) for path in found.paths]
    elif found.action[0] == "rm":
        changes = _removed(folder, [*found.action[1:], *found.paths]).changes
    else:
        changes = _edited(folder, [*found.action[1:], *found.paths]).changes
    return Effect(changes, looked=found.roots)


def _all_written(folder: str, texts: Sequence[str]) -> Effect:
    return Effect([change for text in texts for change in written(folder, text)])


OVERWRITING: dict[str, Callable[[str, Sequence[str]], Effect]] = {
    "rm": _removed,
    "unlink": _unlinked,
    "rmdir": _unlinked,
    "mv": _moved,
    "cp": _copied,
    "tee": _teed,
    "truncate": _truncated,
    "dd": _dumped,
    "sed": _edited,
    "find": _found,
}
