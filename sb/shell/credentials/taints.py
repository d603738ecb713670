"""Taints: secrets that a text of a command line may hold, and texts that the line sends."""

from __future__ import annotations

from typing import NamedTuple

NONE, NAMES, CONTENT = range(3)
UNKNOWN_REMOTE = "?"
NO_FILE = ("",)
MOST_UPLOADS = 16  # that are told of one line


class Taint(NamedTuple):
    """Secrets that a text may hold.

    Args:
        level: nothing, names of files with secrets, or a secret itself.
        what: for people. soft: nothing of it has been shown yet, so it does not count as read.
        hosts: where it may be sent. auth: it stands only where a request has its login.
        variable: it comes from a variable of the environment. private: it may be read, and is not to be sent.
        packed: it is one of the files of a folder, which is not to be copied elsewhere either.
        names: the files with secrets among those that a listing names; to show these names is harmless.
        files: the existing ones that it comes from; "" among them for what is no file, or may be there.
    """

    level: int = NONE
    what: str = ""
    soft: bool = False
    hosts: tuple[str, ...] = ()
    auth: bool = False
    variable: bool = False
    private: bool = False
    packed: bool = False
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = NO_FILE


CLEAN = Taint()


class Upload(NamedTuple):
    """Something that the line sends.

    Args:
        remote: that of a push, "" for the usual one, "?" if it is not known; None for others.
        destination: the host, registry or bucket that all of it surely goes to; "" if it is not known.
        sends: a file or a body goes to a host by its name, not to a service that one is logged in to.
    """

    what: str
    host: str = ""
    remote: str | None = None
    destination: str = ""
    sends: bool = False


def merged(*taints: Taint) -> Taint:
    """The worst of them: the highest level, read before not read, without hosts before with; with the files of all."""
    tainted = [taint for taint in taints if taint.level]
    if len(tainted) < 2:
        return tainted[0] if tainted else CLEAN
    worst = max(
        tainted,
        key=lambda taint: (taint.level, not taint.private, not taint.soft, not taint.hosts, not taint.auth),
    )
    return worst._replace(files=tuple(dict.fromkeys(file for taint in tainted for file in taint.files)))
