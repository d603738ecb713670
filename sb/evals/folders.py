"""Removes folders that agents wrote in, whatever they left there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 60.0


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new folder, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Delete a folder and its contents, also those nested deeper than Python's stack, or in folders without rights.

    What cannot be deleted stays.
    """
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        pass  # an agent may nest folders without end; `rm` does not call itself for each
    for command in ("chmod", "-R", "u+rwX"), ("rm", "-rf"):
        if folder.exists():
            subprocess.run([*command, "--", folder], capture_output=True, timeout=_PATIENCE_S, check=False)
