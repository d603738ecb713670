"""The decider of this console: an unlocked key, a label, or the browser's server."""

from __future__ import annotations

from collections.abc import Callable

from sb.screens.signing_agent import remote_decider, signing_socket
from sb.screens.state.records import Records

from sb.kernel.authority.enrolment import anybody, decider
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Decider


class Signer:
    """Finds who decides, and remembers an unlocked key in this process's memory only.

    In a browser's tab the key is in the process that serves it, which decides (`sb.screens.state.remote`).

    Args:
        name: the operator, where this home has several keys; "" for the only one.
    """

    def __init__(self, records: Records, name: str = "") -> None:
        self._records = records
        self.name = name
        self.locked = False  # a passphrase was given, and is forgotten again
        self._unlocked: Decider | None = None
        self._opened = False  # by a passphrase
        self._remote = signing_socket()

    def decider(self, ask: Callable[[str], str]) -> Decider:
        """The decider; called in a worker.

        Args:
            ask: gets a prompt and returns the passphrase.

        Raises:
            DeniedError: nobody here may decide, or the passphrase does not fit.
            UsageError: several could, and none was named.
        """
        if self._unlocked is None and self._remote is not None:
            self._unlocked = remote_decider(self._remote)
        if self._unlocked is None:
            asked = False

            def asking(prompt: str) -> str:
                nonlocal asked
                asked = True
                return ask(prompt)

            keys = KeyFolder(self._records.config.home.keys)
            found = decider(self._records.authority("write"), keys, self.name, asking)
            if not found.key_id:
                return found  # somebody may enrol while the console runs
            self._unlocked, self._opened, self.locked = found, asked, False
        return self._unlocked

    def anybody(self) -> Decider:
        """The decider where anybody may act; nothing is asked for."""
        if self._unlocked is not None and self._remote is None:
            return self._unlocked
        keys = KeyFolder(self._records.config.home.keys)
        return anybody(self._records.authority("write"), keys, "", str)

    def forget(self) -> None:
        """Find out anew the next time: it may be another key by now."""
        self._unlocked, self._opened = None, False

    def lock(self) -> bool:
        """Forget the key if a passphrase opened it; returns whether one did.

        A key without a passphrase would be open again at once, and that of a browser's tab is not in this process.
        """
        if not self._opened:
            return False
        self.forget()
        self.locked = True
        return True
