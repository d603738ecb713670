"""A system call filter for commands that share a terminal with a person: they type nothing into it.

The terminal outlives a confined host, and what a program pushed into its input (TIOCSTI) would be read by the person's
shell, outside of confinement.
"""

from __future__ import annotations

import platform
import struct
from pathlib import Path

# Machine to its audit number, the numbers of `ioctl` in it, and the audit number of its 32-bit programs. All are
# little-endian, which is where the filter looks for the second argument.
_MACHINES = {
    "x86_64": (0xC000003E, (16, 514), 0x40000003),
    "aarch64": (0xC00000B7, (29,), 0x40000028),
}
_IOCTL_32 = 54
_X32 = 0x40000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_NUMBER, _ARCH, _REQUEST = 0, 4, 24  # offsets in the data of a filter
_LOAD, _AND, _IS, _RETURN = 0x20, 0x54, 0x15, 0x06
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001
_LEGACY = Path("/proc/sys/dev/tty/legacy_tiocsti")


def terminal_filter(machine: str = "") -> bytes | None:
    """The filter as the engine takes it; None where this machine's calls are not known.

    Args:
        machine: as `platform.machine` names it, by default this one.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    arch, numbers, arch_32 = known
    code: list[tuple[int, int, str]] = []
    labels: dict[str, int] = {}

    def add(operation: int, value: int, target: str = "") -> None:
        code.append((operation, value, target))

    add(_LOAD, _ARCH)
    add(_IS, arch, "own")
    add(_IS, arch_32, "32")
    add(_RETURN, _EPERM)
    labels["own"] = len(code)
    add(_LOAD, _NUMBER)
    add(_AND, 0xFFFFFFFF ^ _X32)
    for number in numbers:
        add(_IS, number, "request")
    add(_RETURN, _ALLOW)
    labels["32"] = len(code)
    add(_LOAD, _NUMBER)
    add(_IS, _IOCTL_32, "request")
    add(_RETURN, _ALLOW)
    labels["request"] = len(code)
    add(_LOAD, _REQUEST)
    add(_IS, _TIOCSTI, "deny")
    add(_IS, _TIOCLINUX, "deny")
    add(_RETURN, _ALLOW)
    labels["deny"] = len(code)
    add(_RETURN, _EPERM)
    return b"".join(
        struct.pack("=HBBI", operation, labels[target] - at - 1 if target else 0, 0, value)
        for at, (operation, value, target) in enumerate(code)
    )


def is_closed_by_system() -> bool:
    """True where the system itself lets nobody type into a terminal."""
    try:
        return _LEGACY.read_text(encoding="ascii").strip() == "0"
    except OSError:
        return False
