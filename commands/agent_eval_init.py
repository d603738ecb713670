"""`sb agent eval init`: a first suite, from a recorded run or from one that is made now."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.agent_eval_agent import AgentOption, NamedAgent, terminable
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, Replace
from sb.commands.session import configuration

from sb.errors import UsageError

if TYPE_CHECKING:
    from sb.config import Config

DEFAULT_SUITE = Path("evals/first.yaml")
NO_CALLS = (
    "note: no call was seen, so the suite demands nothing of the answer: add matchers; "
    "only governed functions, tools.call and reported calls are seen"
)


def init(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="RUN", help="A run of the log, or a file of recordings.")
    ] = "",
    agent: AgentOption = "",
    question: Annotated[
        str, typer.Option("--input", metavar="TEXT", help="What to ask the agent, once.")
    ] = "",
    to: Annotated[Path, typer.Option(metavar="FILE", help="Write the suite here.")] = DEFAULT_SUITE,
    force: Replace = False,
    as_json: AsJson = False,
) -> None:
    """Write a first suite from a run, recorded or made now."""
    from sb.evals.first_suite import draft_of_run, drafts_of_file, write_first_suite

    if bool(source) == bool(agent) or bool(agent) != bool(question):
        hint = "sb agent eval init RUN, or --agent AGENT --input TEXT"
        raise UsageError("name a recorded run, or an agent and what it is asked", hint)
    if to.exists() and not force:
        raise UsageError(f"{to} exists", "--force replaces it; nothing was run")
    config = configuration(ctx)
    named = NamedAgent(agent, "", reuse=False)
    if agent:
        drafts = [_asked(config, named, question)]
    elif Path(source).is_file():
        drafts = drafts_of_file(Path(source))
    else:
        drafts = [draft_of_run(source, config)]
    write_first_suite(drafts, to, named.name, force=force)
    calls = sum(len(draft.recording.answer.calls) for draft in drafts)
    if as_json:
        output.emit_json({"file": str(to), "cases": len(drafts), "calls": calls})
    else:
        command = f"sb agent eval {shlex.quote(str(to))} --agent {shlex.quote(agent) if agent else 'AGENT'}"
        output.line(f"written to {to}: edit it, then: {command}")
    if not calls:
        note(NO_CALLS)


def _asked(config: Config, named: NamedAgent, question: str) -> Any:
    """The agent's answer to one question, in a kernel of its own; raises CheckFailed if it cannot be run."""
    from sb.errors import CheckFailed, ExitCode
    from sb.evals.exchange.recording import Recording
    from sb.evals.first_suite import Draft
    from sb.evals.running import Options, run_suites
    from sb.evals.suite import Case, Suite

    asked = Suite("first", Path("first"), (Case("first", question),))
    with redirect_stdout(sys.stderr), named.opened(config) as agent, terminable():
        made = run_suites([asked], agent, Options(), real=config.home)
    if made.interrupted:
        raise KeyboardInterrupt
    answer = made.results[0].attempts[0].answer
    if answer.error:
        failure = CheckFailed(answer.error, "correct the agent; nothing was written")
        failure.exit_code = ExitCode.AGENT
        raise failure
    return Draft(f"one run of {named.name}", Recording(answer, "first", question))
