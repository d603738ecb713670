"""Plan and carry out an install or an uninstall, so that the file can be restored.

Order of an install: the wrapper, the backup, the record, the file. Killed in between, the file has its old or its new
content, and the record lets `sb uninstall` restore it from either.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sb.base.sources import SYSTEM_CLOCK
from sb.base.values.frozen import frozen
from sb.config.home import Home
from sb.errors import UsageError
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.hooks import resident
from sb.hosts.install.documents import Format, Malformed
from sb.hosts.install.entries import Layout, merged, stripped
from sb.hosts.install.files import FileChange, FileContent, read_file, refusal, refuse_unwritable
from sb.hosts.install.files import replace as replace_file
from sb.hosts.install.host import Host, Places, Wanted
from sb.hosts.install.records import Record, Records, digest
from sb.hosts.install.runtime import Runtimes
from sb.hosts.install.wrapper import write_wrapper
from sb.tools.hosted.guarding import confiner_path, wrapper_path


@frozen
class Change(FileChange):
    """The change of one file of a host.

    Args:
        record: of an install, the record to write; of an uninstall, the one that was written.
        before: of an install, the content without our entries, which an uninstall restores.
    """

    host: Host
    record: Record | None
    before: bytes | None = None


class Installer:
    """Changes hosts' configurations for one home.

    Args:
        home: where the wrapper, backups and records are.
        places: where the hosts' files are.
    """

    def __init__(self, home: Home, places: Places) -> None:
        self._home = home
        self._places = places
        self.records = Records(home)

    def plan_install(
        self,
        host: Host,
        *,
        scope: str = "user",
        fail_closed: bool = False,
        server: bool = False,
        confine: bool = True,
    ) -> Change:
        """The change that an install would make; nothing is written.

        Args:
            server: the entry of the MCP server, instead of hooks.
            scope: `user` or `project`.
            fail_closed: have the host deny calls that could not be judged.
            confine: have the host start commands in confinement, where it can.

        Raises:
            UsageError: there is nothing to install for the host, it has no such scope, or it cannot fail closed.
            ConfigError: its file cannot be read, edited without a guess, or written.
        """
        part = host.part(server)
        if part is None:
            what = "where it names MCP servers is not known" if server else "it calls no hooks"
            raise UsageError(f"nothing to install for {host.name}: {what}", host.instead)
        host = part
        if fail_closed and not host.can_fail_closed:
            raise UsageError(
                f"{host.name} cannot be made to deny calls when a hook fails", "omit --fail-closed"
            )
        current = read_file(self._file(host, scope))
        layout = host.layout(wanted_of(self._home, fail_closed=fail_closed, confine=confine))
        form, text = host.format_of(current.path), current.text()
        known = self.records.find(current.path)
        with _as_refusal(current):
            after = current.encoded(merged(text, form, layout))
            before = self._without_us(current, known, form, layout)
        if after == current.content and known is not None and known.fail_closed == fail_closed:
            return Change(current, after, host, known, before)
        if after != current.content:
            refuse_unwritable(current)
        made = [str(folder) for folder in _missing(current.target.parent)]
        record = Record(
            host=host.name,
            scope=scope,
            file=str(current.path),
            before=digest(before),
            after=digest(after),
            folders=tuple(dict.fromkeys([*made, *(known.folders if known else ())])),
            fail_closed=fail_closed,
            server=server,
        )
        return Change(current, after, host, record, before)

    def install(self, change: Change) -> None:
        """Carry out a planned install, or nothing of it.

        Raises:
            SBError: it failed; the file is as it was.
        """
        assert change.record is not None
        with self.records.alone():
            write_wrapper(self._home)
            if not change.needed and self.records.find(change.current.path) == change.record:
                return
            former = self.records.find(change.current.path)
            for content in (change.current.content, change.before):
                if content is not None:
                    self.records.keep(change.host.name, change.current.path, content)
            self.records.put(change.record)
            try:
                change.current.target.parent.mkdir(parents=True, exist_ok=True)
                if change.needed:
                    replace_file(change.current, change.after)
            except BaseException:
                if former is None:
                    self.records.drop(change.record.file)
                    _remove_empty(change.record.folders)
                else:
                    self.records.put(former)
                raise

    def plan_uninstall(self, host: Host) -> list[Change]:
        """The changes that an uninstall would make: of every file with a record, else of the user's own settings files.

        Raises:
            ConfigError: one of them cannot be read, edited without a guess, or written.
        """
        records = self.records.of(host.name)
        parts = [part for part in (host.part(server=False), host.part(server=True)) if part is not None]
        changes = [
            self._plan_removal(host.part(record.server) or host, Path(record.file), record)
            for record in records
        ] or [self._plan_removal(part, self._file(part, "user"), None) for part in parts]
        return [change for change in changes if change.needed or change.record]

    def _plan_removal(self, host: Host, file: Path, record: Record | None) -> Change:
        current = read_file(file)
        layout = host.layout(wanted_of(self._home))
        with _as_refusal(current):
            after = self._without_us(current, record, host.format_of(file), layout)
        change = Change(current, after, host, record)
        if change.needed:
            refuse_unwritable(current)
        return change

    def uninstall(self, changes: list[Change]) -> None:
        """Carry out a planned uninstall, file by file.

        Raises:
            SBError: one failed; it and those after it are as they were.
        """
        with self.records.alone():
            for change in changes:
                if change.needed:
                    if change.current.content is not None:
                        self.records.keep(change.host.name, change.current.path, change.current.content)
                    replace_file(change.current, change.after)
                if change.record is not None:
                    _remove_empty(change.record.folders)
                    self.records.drop(change.record.file)

    def remove_runtimes(self) -> list[Path]:
        """Remove the folders that hooks run from, if no host calls them any more; returns the removed ones.

        The resident helper ends with them.
        """
        if not self._home.folder.is_dir():
            return []
        with self.records.alone():
            if self.records.all():
                return []
            resident.remove(self._home)
            ConfineStore(self._home, SYSTEM_CLOCK).remove()
            return Runtimes(self._home).prune(keep=None)

    def purge(self, host: Host) -> list[Path]:
        """Remove a host's backups, and the wrapper if no host calls it any more; returns the removed files."""
        if not self._home.folder.is_dir():
            return []
        with self.records.alone():
            gone = self.records.backups(host.name)
            if not self.records.all():
                gone += [
                    path for path in (wrapper_path(self._home), confiner_path(self._home)) if path.exists()
                ]
            for path in gone:
                path.unlink()
        for folder in (wrapper_path(self._home).parent, self.records.folder):
            _remove_empty([str(folder)])
        return gone

    def _file(self, host: Host, scope: str) -> Path:
        file = host.file_of(self._places, scope)
        if file is None:
            raise UsageError(f"{host.name} has no settings of single projects", "use --scope user")
        return file

    def _without_us(
        self, current: FileContent, record: Record | None, form: Format, layout: Layout
    ) -> bytes | None:
        """The content before the install if nobody changed it since, else the content now without our entries."""
        former = self.records.former(record) if record else None
        if record and digest(current.content) == record.after and (former is not None or not record.before):
            return former
        if current.content is None:
            return None
        base = None if former is None else replace(current, content=former).text()
        text = current.text()
        rest = stripped(text, form, layout, base)
        if rest == text:
            return current.content
        if record and not record.before and form.load(rest) in ({}, dict(layout.extras)):
            return None
        return current.encoded(rest)


def wanted_of(home: Home, *, fail_closed: bool = False, confine: bool = True) -> Wanted:
    """The entries that an install into a home writes; arguments as for `Installer.plan_install`."""
    return Wanted(wrapper_path(home), fail_closed, confiner_path(home) if confine else None)


@contextlib.contextmanager
def _as_refusal(current: FileContent) -> Iterator[None]:
    """Name the file in the error for malformed content."""
    try:
        yield
    except Malformed as error:
        where = f"line {error.line}: " if error.line else ""
        raise refusal(current.path, where + error.what, "correct the file, then run this again") from None


def _missing(folder: Path) -> Iterator[Path]:
    """The folders that would have to be made, the innermost first."""
    while not os.path.lexists(folder):
        yield folder
        folder = folder.parent


def _remove_empty(folders: tuple[str, ...] | list[str]) -> None:
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:  # somebody else's files are in it, or it is gone
            return
