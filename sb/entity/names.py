"""How does a name that somebody chose become a part of a path? Whatever it says, it stays one part."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote

_LONGEST = 120  # characters, of the 255 bytes that a file's name may have


def path_part(name: str) -> str:
    """The name itself where it is plain, else with the other characters as %XX; two names never become one."""
    quoted = quote(name, safe="")
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    if len(quoted) > _LONGEST:
        quoted = f"{quoted[:80]}%x{sha256(name.encode()).hexdigest()[:32]}"  # no %XX begins with %x
    return quoted
