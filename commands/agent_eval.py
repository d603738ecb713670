"""`sb agent eval`: run an agent through suites of cases, and gate on what it did."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.agent_eval_agent import AgentOption, NamedAgent, terminable
from sb.commands.agent_eval_convert import convert
from sb.commands.agent_eval_diff import baseline_run, diff
from sb.commands.agent_eval_init import init
from sb.commands.diagnostics import note
from sb.commands.options import Report, group
from sb.commands.report_files import STDOUT, check_places, write_report
from sb.commands.session import configuration, event_log

from sb.base.text import nearest
from sb.base.values.frozen import frozen
from sb.cli import HELP, Group
from sb.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sb.evals.comparison import Comparison, GateResult
    from sb.evals.results import EvalRun
    from sb.evals.running import Options
    from sb.evals.shelf import EvalShelf
    from sb.evals.suite import Suite
    from sb.evals.summary import RunSummary

_SUITE_ENDINGS = (".yaml", ".yml", ".jsonl")
COMMANDS = ("run", "init", "diff")
_MOST_JOBS = 256
_HINT = 'such as --agent python:shop.agent:run or --agent cmd:"python3 agent.py"'


class EvalGroup(Group):
    """A group whose first word, unless it is a command, is the first suite of `run`."""

    default_command = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in HELP:
            args = [self.default_command, *args]
        if args[:1] == [self.default_command]:
            args = _with_stdout(args)
        return super().parse_args(ctx, args)


def _with_stdout(args: list[str]) -> list[str]:
    """The arguments with `-` after a `--json` that names no file, as every other command takes it."""
    given: list[str] = []
    for word, following in zip(args, [*args[1:], "--"], strict=True):
        given.append(word)
        if word == "--json" and following.startswith("-") and following != "-":
            given.append("-")
    return given


app = group("Run an agent through suites of cases, and gate on it.", cls=EvalGroup)
app.command(epilog='Example: sb agent eval init --agent python:shop.agent:run --input "Refund order 7"')(init)
app.command(epilog="Example: sb agent eval convert promptfooconfig.yaml --to evals/first.yaml")(convert)
app.command(epilog="Example: sb agent eval diff evals/baseline.json last")(diff)

Suites = Annotated[
    list[Path] | None,
    typer.Argument(metavar="SUITE", help="Files or folders; ./run, ./init, ./diff and ./convert too."),
]
Reuse = Annotated[bool, typer.Option("--reuse", help="Let one process of a cmd: agent answer several cases.")]


@frozen
class Given:
    """Options of a run: what to compare with, and what to write.

    Args:
        reports: by kind, where each goes. ground: record on the graded run whether it holds.
    """

    reports: dict[str, Path]
    baseline: str
    fail_under: float | None
    max_regressions: int
    allow_removed: bool
    max_cost_growth: float | None
    quiet: bool
    saved: bool
    ground: bool


@app.command(epilog="Example: sb agent eval run evals/ --agent python:shop.agent:run --fail-under 0.95")
def run(
    ctx: typer.Context,
    suites: Suites = None,
    agent: AgentOption = "",
    from_run: Annotated[
        str, typer.Option(metavar="RUN", help="Grade this run of the log; nothing is run.")
    ] = "",
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, max=_MOST_JOBS, help="Attempts at a time.")
    ] = None,
    repeat: Annotated[int | None, typer.Option(min=1, help="Attempts of each case.")] = None,
    k: Annotated[int, typer.Option("--pass-k", min=1, help="The k of pass@k and pass^k.")] = 1,
    retry_errors: Annotated[int, typer.Option(min=0, help="Try again where the agent could not be run.")] = 0,
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="For each attempt.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="CENTS", help="Begin no case beyond this.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the agent's chance, SB_EVAL_SEED.")] = 0,
    keyword: Annotated[str, typer.Option("-k", help="Only cases whose id contains this.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="Only cases with this tag; may be repeated.")] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List the cases; run none.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of suites.")] = False,
    reuse: Reuse = False,
    baseline: Annotated[
        str, typer.Option(metavar="FILE", help="Compare with it; last is the newest run.")
    ] = "",
    save_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write this run as a baseline.")
    ] = None,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of cases that must hold.")
    ] = None,
    max_regressions: Annotated[int, typer.Option(min=0, help="Regressions that are allowed.")] = 0,
    max_cost_growth: Annotated[
        float | None, typer.Option(min=0, help="Share by which cost may grow.")
    ] = None,
    allow_removed: Annotated[bool, typer.Option("--allow-removed", help="Let cases be missing.")] = False,
    json_: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write JSON; - is stdout.")
    ] = None,
    junit: Report = None,
    markdown: Report = None,
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answers, unmasked.")] = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Keep no copy in SB_HOME/evals.")] = False,
    allow_judge: Annotated[
        bool, typer.Option("--allow-judge", help="Let models judge, as llm_judge asks them to.")
    ] = False,
    ground: Annotated[
        bool, typer.Option("--ground", help="Record on the run of --from-run if it holds.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdict alone.")] = False,
) -> None:
    """Run the cases of suites; exit 1 if the gate does not hold.

    Exit 2 if something given is wrong and nothing ran, 5 if the agent could not be run, 130 if interrupted.
    """
    if schema:
        _print_schema()
        return
    files = {"json": json_, "junit": junit, "markdown": markdown, "record": record, "baseline": save_baseline}
    wanted = Given(
        {kind: path for kind, path in files.items() if path},
        baseline,
        _share(fail_under),
        max_regressions,
        allow_removed,
        max_cost_growth,
        quiet,
        not no_save,
        ground,
    )
    options = _options(jobs, repeat, retry_errors, timeout, max_cost, seed, keyword, tag)
    loaded = _loaded(suites or [], allow_judge=allow_judge)
    if list_only:
        _print_cases(loaded, options, as_json=json_ is not None)
        return
    if bool(agent) == bool(from_run):
        raise UsageError("name the agent with --agent, or a recorded run with --from-run", _HINT)
    _run(ctx, loaded, options, wanted, NamedAgent(agent, from_run, reuse), k)


def _run(
    ctx: typer.Context, suites: Sequence[Suite], options: Options, wanted: Given, named: NamedAgent, k: int
) -> None:
    from sb.commands.agent_eval_output import print_run
    from sb.commands.agent_eval_progress import progress_on

    from sb.evals.running import run_suites, selected
    from sb.evals.shelf import EvalShelf
    from sb.evals.summary import summary

    if wanted.ground and (named.name or options.keyword or options.tags):
        raise UsageError("--ground needs a run that is graded by all cases", "--from-run RUN")
    config = configuration(ctx)
    selected(suites, options)
    _check(wanted, suites)
    shelf = EvalShelf(config.home.evals)
    before = baseline_run(wanted.baseline, shelf, {suite.name for suite in suites}, named.name)
    with (
        redirect_stdout(sys.stderr),  # modules of others are loaded, and some of them print
        named.opened(config) as agent,
        terminable(),
        progress_on(sys.stderr, quiet=wanted.quiet) as watch,
    ):
        made = run_suites(suites, agent, options, real=config.home, watch=watch)
    short = summary(made)
    compared, decided = _decide(short, before, wanted, partial=options.selects)
    with output.whoever_reads():
        for kind, path in wanted.reports.items():
            if not (kind == "baseline" and made.interrupted):
                write_report(path, _rendered(kind, made, short, compared, decided))
        if STDOUT not in wanted.reports.values():
            print_run(made, short, compared, decided, k=k, quiet=wanted.quiet)
        output.flush()
    if wanted.saved:
        _save(shelf, made, short)
    if wanted.ground and not made.interrupted:
        _ground(ctx, named.from_run, suites, holds=decided.exit_code == ExitCode.OK)
    raise typer.Exit(decided.exit_code)


def _ground(ctx: typer.Context, run: str, suites: Sequence[Suite], *, holds: bool) -> None:
    from sb.kernel.outcomes import judged_run, record_grounded

    log, source = event_log(ctx), ", ".join(sorted(suite.name for suite in suites))
    record_grounded(log, judged_run(log, run), grounded=holds, source=f"eval: {source}")


def _options(
    jobs: int | None,
    repeat: int | None,
    retry_errors: int,
    timeout: float | None,
    max_cost: float | None,
    seed: int,
    keyword: str,
    tag: list[str] | None,
) -> Options:
    from sb.evals.running import Options

    for name, value in (("--timeout", timeout), ("--max-cost", max_cost)):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise UsageError(f"{name} is {value:g}, must be more than 0")
    jobs = jobs or min(4, os.cpu_count() or 1)
    return Options(jobs, repeat, timeout, retry_errors, max_cost, seed, keyword, tuple(tag or ()))


def _share(value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # typer lets it pass
        raise UsageError("--fail-under is nan, must be 0 to 1")
    return value


def _loaded(paths: list[Path], *, allow_judge: bool) -> list[Suite]:
    """The suites, named as they are called from here, so that a baseline fits however they were named."""
    from sb.evals.judge import allow_judges
    from sb.evals.reading import load_suites

    if not paths:
        raise UsageError("name a suite, or a folder of suites", "sb agent eval init writes a first one")
    for path in paths:
        if not path.exists():
            close = nearest(str(path), COMMANDS)
            raise UsageError(
                f"{path}: no such file or folder{close}", "sb agent eval init writes a first suite"
            )
    here = Path.cwd()
    return [
        replace(suite, name=str(suite.path.absolute().relative_to(here)))
        if suite.path.absolute().is_relative_to(here)
        else suite
        for suite in (allow_judges(load_suites(paths)) if allow_judge else load_suites(paths))
    ]


def _check(wanted: Given, suites: Sequence[Suite]) -> None:
    """Refuse before anything runs what could not be written afterwards."""
    read = [suite.path for suite in suites]
    check_places(wanted.reports.values(), [*read, Path(wanted.baseline)] if wanted.baseline else read)
    for kind, path in wanted.reports.items():
        if kind != "record" and path.suffix in _SUITE_ENDINGS and path.exists():
            raise UsageError(f"--{kind} would overwrite {path}, which may be a suite", "name another file")


def _decide(
    short: RunSummary, before: RunSummary | None, wanted: Given, *, partial: bool
) -> tuple[Comparison | None, GateResult]:
    from sb.evals.comparison import compare, gate, gone_suites

    compared = None
    if before is not None:
        gone, growth = gone_suites(before), wanted.max_cost_growth
        compared = compare(before, short, gone=gone, partial=partial, max_cost_growth=growth)
    return compared, gate(
        short,
        compared,
        fail_under=wanted.fail_under,
        max_regressions=wanted.max_regressions,
        allow_removed=wanted.allow_removed,
    )


def _rendered(
    kind: str, made: EvalRun, short: RunSummary, compared: Comparison | None, decided: GateResult
) -> str:
    from sb.commands.agent_eval_output import json_report, recordings

    from sb.evals import junit, markdown
    from sb.evals.summary import baseline_text

    renderers: dict[str, Callable[[], str]] = {
        "json": lambda: json_report(made, compared, decided),
        "junit": lambda: junit.render(made),
        "markdown": lambda: markdown.render(made, decided, compared),
        "record": lambda: recordings(made),
        "baseline": lambda: baseline_text(short),
    }
    return renderers[kind]()


def _save(shelf: EvalShelf, made: EvalRun, short: RunSummary) -> None:
    from sb.errors import SBError
    from sb.evals.report import report_document

    try:
        shelf.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shelf.save(short, report_document(made))
    except (SBError, OSError) as error:  # the verdict stands without a copy
        note(f"warning: {error.message if isinstance(error, SBError) else error}")


def _print_schema() -> None:
    from sb.evals.schema import suite_schema

    output.emit_json(suite_schema())


def _print_cases(suites: Sequence[Suite], options: Options, *, as_json: bool) -> None:
    from sb.evals.judging import attempts_of
    from sb.evals.running import selected

    rows: list[dict[str, Any]] = [
        {
            "suite": suite.name,
            "id": case.id,
            "tags": list(case.tags),
            "attempts": 0 if case.skip else attempts_of(case, options.repeat)[0],
            "note": f"skipped: {case.skip}"
            if case.skip
            else f"expected to fail: {case.xfail}"
            if case.xfail
            else "",
        }
        for suite, case in selected(suites, options)
    ]
    if as_json:
        output.emit_json({"items": rows})
        return
    output.table(
        ["suite", "case", "attempts", "tags", "note"],
        [(row["suite"], row["id"], row["attempts"], " ".join(row["tags"]), row["note"]) for row in rows],
    )
