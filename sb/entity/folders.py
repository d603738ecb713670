"""Private folders of a core, and file names made safe for a path."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
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


def private_folder(folder: Path) -> Path:
    """Make a folder, and those above it that are missing, open to their owner only; what is there stays as it is."""
    for part in (*reversed(folder.parents), folder):
        if not part.is_dir():
            part.mkdir(mode=0o700, exist_ok=True)
    return folder
