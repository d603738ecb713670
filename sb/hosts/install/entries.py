"""Our entries in a host's settings: find, add, renew, remove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sb.base.values.frozen import frozen
from sb.hosts.install.documents import Format, Malformed, Path, find


@frozen
class Handler:
    """The command of an entry; ours is recognised by it, since some hosts refuse unknown keys."""

    command: str
    args: tuple[str, ...] | None = None

    @classmethod
    def of(cls, entry: Any) -> Handler | None:
        """The handler of an entry, or None if it runs no command."""
        command = entry.get("command", entry.get("bash")) if isinstance(entry, dict) else None
        if not isinstance(command, str):
            return None
        args = entry.get("args")
        return cls(command, tuple(map(str, args)) if isinstance(args, list) else None)


@frozen
class Entry:
    """One entry to write.

    Args:
        place: a list that gets `value` at its end, or with `named`, the object's key itself.
    """

    place: tuple[str, ...]
    value: dict[str, Any]
    named: bool = False


@frozen
class Layout:
    """The entries that a host's file is to have.

    Args:
        root: the key under which everything of ours lies.
        entries: in the order in which they are added.
        ours: every command that this or an earlier install may have written.
        extras: keys of the document that the host wants beside `root`; an existing one stays.
        values: single settings of ours elsewhere in the document; one that somebody else has set stays.
    """

    root: str
    entries: Sequence[Entry]
    ours: frozenset[Handler]
    extras: tuple[tuple[str, Any], ...] = ()
    values: tuple[tuple[tuple[str, ...], str], ...] = ()

    def owns(self, entry: Any) -> bool:
        return Handler.of(entry) in self.ours

    def owns_whole(self, element: Any) -> bool:
        """True if an element of a list runs our handlers and nothing else."""
        inner = element.get("hooks") if isinstance(element, dict) else None
        return bool(inner) and all(map(self.owns, inner)) if isinstance(inner, list) else self.owns(element)

    def handlers(self, data: Any) -> Iterator[Path]:
        """The paths of our handlers, the last first, so that removing one moves no other."""
        root = find(data, (self.root,))
        for name, part in reversed(list(root.items())) if isinstance(root, dict) else ():
            if self.owns(part):
                yield (self.root, name)
            for place, element in reversed(list(enumerate(part))) if isinstance(part, list) else ():
                inner = element.get("hooks") if isinstance(element, dict) else None
                if self.owns(element):
                    yield (self.root, name, place)
                for at, handler in reversed(list(enumerate(inner))) if isinstance(inner, list) else ():
                    if self.owns(handler):
                        yield (self.root, name, place, "hooks", at)

    def missing(self, data: Any) -> list[Entry]:
        """The entries that are missing or outdated."""
        return [entry for entry in self.entries if not self._there(data, entry)]

    def unset(self, data: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        """The single settings that are missing or somebody else's: place, and what is there (None for nothing)."""
        for place, value in self.values:
            if (current := find(data, place)) != value:
                yield place, current

    def _there(self, data: Any, entry: Entry) -> bool:
        found = find(data, entry.place)
        return found == entry.value if entry.named else isinstance(found, list) and entry.value in found


def merged(text: str, form: Format, layout: Layout) -> str:
    """The text with our entries; correct ones keep their place, and so does everything else.

    Raises:
        Malformed: the text cannot be read, or the place is taken.
    """
    for entry in layout.entries:
        text = _renewed(text, form, layout, entry)
    text = _without(text, form, layout, keep=True)
    for key, value in layout.extras:
        if find(form.load(text), (key,)) is None:
            text = form.insert(text, (key,), value)
    for setting, value in layout.values:
        if find(form.load(text), setting) is None:
            text = form.insert(text, setting, value)
    for entry in layout.missing(form.load(text)):
        found = find(form.load(text), entry.place)
        place: Path = entry.place
        if not entry.named:
            place += (len(found) if isinstance(found, list) else 0,)
        text = form.insert(text, place, entry.value)
    return text


def stripped(text: str, form: Format, layout: Layout, base: str | None) -> str:
    """The text without our entries.

    Args:
        base: the text before we came, if it is known: what was empty there stays, and stays written as it was.

    Raises:
        Malformed: the text cannot be read.
    """
    text = _without(text, form, layout, base=base)
    before = form.load(base) if base is not None else None
    for setting, value in layout.values:
        if find(form.load(text), setting) == value:
            text = form.remove(text, setting)
            text = _pruned(text, form, setting[:-1], before, base)
    if base is None:
        return text
    rest = find(form.load(text), (layout.root,))
    if rest and rest != find(form.load(base), (layout.root,)):
        return text  # somebody's entries came since, and may need the extras
    for key, value in layout.extras:
        if find(form.load(base), (key,)) is None and find(form.load(text), (key,)) == value:
            text = form.remove(text, (key,))
    return text if form.load(text) or form.load(base) else form.as_in(text, (), base)


def _renewed(text: str, form: Format, layout: Layout, entry: Entry) -> str:
    """Replace an outdated entry of ours in place, so that later ones keep their position."""
    found = find(form.load(text), entry.place)
    if entry.named:
        if found is not None and not layout.owns(found):
            raise Malformed(0, f"{'.'.join(entry.place)} already exists and runs something else")
        return text if found in (None, entry.value) else form.replace(text, entry.place, entry.value)
    if isinstance(found, list) and entry.value not in found:
        for place, element in enumerate(found):
            if layout.owns_whole(element):
                return form.replace(text, (*entry.place, place), entry.value)
    return text


def _without(text: str, form: Format, layout: Layout, *, keep: bool = False, base: str | None = None) -> str:
    """Remove our handlers; with `keep`, only those that no entry wants."""
    before = form.load(base) if base is not None else None
    for path in list(layout.handlers(form.load(text))):
        element = path[:-2] if len(path) > 3 else path
        if keep and _wanted(form.load(text), element, layout):
            continue
        text = form.remove(text, path)
        text = _pruned(text, form, path[:-1], before, base)
    return text


def _wanted(data: Any, path: Path, layout: Layout) -> bool:
    value = find(data, path)
    for entry in layout.entries:
        if entry.named and entry.place == path:
            return True
        if entry.place == path[:-1] and entry.value == value:
            return bool(find(data, entry.place).index(value) == path[-1])
    return False


def _pruned(text: str, form: Format, path: Path, before: Any, base: str | None) -> str:
    """Remove a container and those above it, as far as they are empty and new."""
    while not (value := find(form.load(text), path)):
        former = find(before, path) if before is not None else None
        if former:
            break
        if former is not None and base is not None:
            return form.as_in(text, path, base)
        if not path:
            break
        if path[-1] == "hooks" and len(path) > 1:
            path = path[:-1]  # a group with nothing left to run
        if value is not None:
            text = form.remove(text, path)
        path = path[:-1]
    return text
