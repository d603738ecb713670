"""Files of a home's first opening, made once in an audit and written for each probe."""

from __future__ import annotations

from collections.abc import Callable

from sb.config.home import Home


class FirstOpening:
    """The files of a home that was opened once under the default settings.

    Three quarters of a first opening make the schema and approve the shipped contracts, as in every home; an audit
    opens some thirty. It must not outlive its audit, which may be of parts that were replaced meanwhile.
    """

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    def make(self, home: Home, open_once: Callable[[], None]) -> None:
        """Make a home that does not exist.

        Args:
            open_once: opens it and closes it again, where no home was made before.
        """
        if not self._files:
            open_once()
            self._files = {file.name: file.read_bytes() for file in home.folder.iterdir() if file.is_file()}
            return
        home.create()
        for name, content in self._files.items():
            file = home.folder / name
            file.touch(mode=0o600)
            file.write_bytes(content)
