"""One call of a host, read and put under a contract once; guards only read it."""

from __future__ import annotations

from functools import cached_property

from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.calls.reading import CallReading
from sb.hosts.hooks.calls.translation import govern, placed
from sb.hosts.hooks.event import GovernedCall, NativeCall
from sb.shell import ShellVerdict
from sb.shell.places.places import alone


class JudgedCall(CallReading):
    """A call with its contract, and what it reads and writes. Made once for each call of an event, by `of`."""

    @classmethod
    def of(cls, native: NativeCall, context: JudgingContext) -> JudgedCall:
        """The call that a host reports.

        Args:
            context: of its event; a call that is made in another folder is judged there.
        """
        return cls(*placed(native, context))

    @cached_property
    def governed(self) -> GovernedCall:
        """The contract and the arguments that it is judged under, before any guard has its say."""
        return govern(self)

    @property
    def effects(self) -> ShellVerdict:
        """Known effects of a command line; of other calls, the credentials that they read and send."""
        return self.governed.effects

    @property
    def command(self) -> str:
        """The command line, as it is recorded; "" for a call that is none."""
        return str(self.governed.args["command"]) if self.governed.is_line else ""

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The paths that a command line makes, writes, deletes or overwrites, as far as they are known."""
        return (*self._changed, *self.effects.made_folders)

    @property
    def let(self) -> tuple[str, ...]:
        """The paths that it may change where these are watched; of a folder that `mkdir` makes the folder alone."""
        return (*self._changed, *self.governed.paths, *map(alone, self.effects.made_folders))

    @property
    def _changed(self) -> tuple[str, ...]:
        return (*self.effects.writes, *(change.path for change in self.effects.changes.changes or ()))
