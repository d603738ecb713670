"""The agent that `sb agent eval` was given: opened for one run, and closed whatever becomes of that."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sb.base.values.frozen import frozen
from sb.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from sb.config import Config
    from sb.evals.agents.agent import AgentUnderTest

AgentOption = Annotated[
    str,
    typer.Option(
        "--agent", metavar="AGENT", help="python:M:F, cmd:LINE, http://…, mcp:LINE#TOOL, recorded:F."
    ),
]


@frozen
class NamedAgent:
    """The agent that was named.

    Args:
        reference: as `open_agent` takes it. from_run: a run of the log instead.
        reuse: let one process of a command answer several cases.
    """

    reference: str
    from_run: str
    reuse: bool

    @property
    def name(self) -> str:
        """As runs name their agent."""
        from sb.evals.summary import OF_THE_LOG

        return f"{OF_THE_LOG}{self.from_run}" if self.from_run else self.reference

    @contextmanager
    def opened(self, config: Config) -> Iterator[AgentUnderTest]:
        """The agent, ready to run; raises UsageError if it cannot be loaded."""
        from sb.evals.agents.orphans import ending_orphans
        from sb.evals.agents.reference import open_agent, open_run
        from sb.evals.folders import temporary_folder

        sys.path.insert(0, "")  # as python itself finds modules of the current folder
        with temporary_folder("sb-agent-") as scratch, ending_orphans():
            places = {"start": Path.cwd(), "scratch": scratch}
            try:
                agent = (
                    open_run(self.from_run, config)
                    if self.from_run
                    else open_agent(self.reference, config=config, reuse=self.reuse, **places)
                )
            except NotFoundError as error:  # a gate that does not hold has that error's code
                raise UsageError(error.message, error.hint) from None
            try:
                yield agent
            finally:
                agent.close()


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM ends the run as Ctrl-C does: with a report of what had ended."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
