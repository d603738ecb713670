"""The single commands of a line, as policy compares them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sb.shell.parsing.words import is_literal, is_sure
from sb.shell.programs.facts import WRAPPERS, having

if TYPE_CHECKING:
    from sb.shell.parsing.inputs import Input
    from sb.shell.places.paths import Paths

_SHELLS, _TRANSPARENT = having("shell"), having("transparent")
# Programs whose arguments, or input, are programs or commands.
_RUNNERS = having("shell", "runs_arguments") | {key for key in WRAPPERS if " " not in key}
_READ_CODE = having("shell", "reads_code")
QUIET_TARGETS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


class CommandList:
    """The commands of one line, in the order in which they were judged.

    Args:
        paths: of the line, which tell the folder that it is in.

    Attributes:
        understood: whether nothing of the line is a program, or a command line, that is known only when it runs.
        vague: words of the current command that stand for one of several values of a variable.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._argvs: list[tuple[str, ...]] = []
        self._folders: list[str] = []
        self.understood = True
        self.vague: Collection[str] = ()

    def __len__(self) -> int:
        return len(self._argvs)

    def all(self) -> tuple[tuple[str, ...], ...]:
        """Each command once: the program and its arguments, as expanded words."""
        return tuple(dict.fromkeys(self._argvs))

    def folders(self) -> tuple[str, ...]:
        """The folder of each of `all`, absolute; "" where it is not known, or one of several."""
        folders: dict[tuple[str, ...], str] = {}
        for argv, folder in zip(self._argvs, self._folders, strict=True):
            folders[argv] = folder if folders.get(argv, folder) == folder else ""
        return tuple(folders.values())

    def add(self, argv: Sequence[str], stdin: Input, before: int) -> None:
        """Record a command that was judged.

        Args:
            before: how many commands were recorded before it; what came since is what it runs.
        """
        base = argv[0].rpartition("/")[2].lower()
        inner = self._argvs[before:]
        if (
            not is_sure(argv[0])
            or argv[0] in self.vague
            or (base in _RUNNERS and not self._is_told(base, argv, inner))
        ):
            self.understood = False
        if base in _READ_CODE and stdin.kind == "unknown" and all(word[:1] == "-" for word in argv[1:]):
            self.understood = False  # it runs what it reads
        if not inner or not _is_transparent(base, argv):
            self._append(tuple("\x07" if word in self.vague else word for word in argv))

    def add_effect(self, name: str, *values: str) -> None:
        """Record what a line does without a program: a redirection (`>`), an assignment (`PATH=`)."""
        if not (values and values[0] in QUIET_TARGETS):
            self._append((name, *values))

    def _append(self, argv: tuple[str, ...]) -> None:
        self._argvs.append(argv)
        self._folders.append(self._paths.here if is_literal(self._paths.here) else "")

    def _is_told(self, base: str, argv: Sequence[str], inner: Sequence[tuple[str, ...]]) -> bool:
        """True if the words of a program that runs another one tell which one, and with which words."""
        doubtful = [at for at, word in enumerate(argv) if not is_sure(word) or word in self.vague]
        if not doubtful:
            return True
        if base in _SHELLS:  # words behind the script are data
            script = next(
                (at for at, word in enumerate(argv) if at and word[:1] not in ("-", "+")), len(argv)
            )
            return doubtful[0] > script
        runs = next((item for item in inner if len(item) < len(argv) and _ends_with(argv, item)), None)
        return runs is not None and doubtful[0] >= len(argv) - len(runs)


def _ends_with(argv: Sequence[str], inner: Sequence[str]) -> bool:
    tail = argv[len(argv) - len(inner) :]
    return all(word in (other, "\x07") for word, other in zip(inner, tail, strict=True))


def _is_transparent(base: str, argv: Sequence[str]) -> bool:
    if base in _SHELLS:
        return len(argv) == 1 or (
            argv[1][:1] == "-" and set(argv[1][1:]) <= set("celux") and len(argv[1]) > 1
        )
    return base in _TRANSPARENT and not any(word.startswith(("-o", "--output")) for word in argv[1:])
