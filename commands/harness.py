"""`sb harness`: grade the harness against the forty controls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note, progress
from sb.commands.options import AsJson, Report, group
from sb.commands.report_files import STDOUT, check_places, write_report
from sb.commands.session import configuration
from sb.commands.usage_errors import usage_error

from sb.base.secrets.redaction import one_line
from sb.base.text import human_bytes, nearest, plain
from sb.cli import Group, is_help
from sb.errors import ConfigError, ExitCode, SBError, UsageError

if TYPE_CHECKING:
    from sb.kernel.harness_audit import AuditReport, Catalogue, Comparison, Control
    from sb.kernel.review.findings import Finding


class GateGroup(Group):
    """A group in which 2 is an answer, so that a usage error must have another code."""

    def make_context(self, *args: Any, **given: Any) -> Any:
        with _usage_errors_apart():
            return super().make_context(*args, **given)

    def invoke(self, ctx: Any) -> Any:
        with _usage_errors_apart():
            return super().invoke(ctx)


@contextmanager
def _usage_errors_apart() -> Iterator[None]:
    try:
        yield
    except typer.TyperException as error:
        refused = None if is_help(error) else usage_error(error)
        if refused is None:
            raise
        refused.exit_code = ExitCode.GATE_USAGE
        raise refused from None
    except (UsageError, ConfigError) as error:
        error.exit_code = ExitCode.GATE_USAGE
        raise


app = group(cls=GateGroup)
_TONES = {"fail": "danger", "partial": "warn", "BLOCKED": "danger", "BROKEN": "danger"}
SLOWEST_SHOWN = 5
LONGEST_REPORT = 16 << 20  # bytes; one has some 60 KB


@app.callback()
def harness() -> None:
    """A group with one command so far."""


@app.command(epilog="Example: sb harness audit --fail-under 0.6")
def audit(
    ctx: typer.Context,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this control; may be repeated.")
    ] = None,
    outcome: Annotated[str, typer.Option(metavar="ID", help="Only the controls of this outcome.")] = "",
    explain: Annotated[
        str, typer.Option(metavar="ID", help="Show one control in full: checks and evidence.")
    ] = "",
    fail_under: Annotated[float, typer.Option(min=0, max=1, help="Exit 1 below this score.")] = 0.0,
    strict: Annotated[bool, typer.Option("--strict", help="Let a partial P0 block too.")] = False,
    diff: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with this earlier --json document.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Fail only where this file says a control held.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the present state as a baseline.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Also check the configured database.")] = False,
    sarif: Report = None,
    junit: Report = None,
    markdown: Report = None,
    steps: Annotated[
        bool, typer.Option("--progress", help="Name each control on stderr as it begins.")
    ] = False,
    slowest: Annotated[bool, typer.Option("--slowest", help="Show which probes took longest.")] = False,
    as_json: AsJson = False,
) -> None:
    """Grade the harness; exit 2 on a P0 blocker.

    Exit 1 below --fail-under, 64 for wrong usage, else 0. With
    --baseline exit 1 on a regression, 2 if it is a P0 blocker.
    """
    from sb.harness import running, scorecard
    from sb.kernel.harness_audit import load_catalogue

    given = {
        "sb.harness.sarif": sarif,
        "sb.harness.junit": junit,
        "sb.harness.markdown": markdown,
        "sb.harness.baseline": write_baseline,
    }
    reports = {renderer: path for renderer, path in given.items() if path is not None}
    if not 0 <= fail_under <= 1:  # typer lets "nan" pass, and every score would be high enough
        raise UsageError(f"--fail-under is {fail_under}, must be 0 to 1")
    if diff and baseline:
        raise UsageError(
            "--diff and --baseline both compare", "leave --diff out; --baseline shows changes too"
        )
    before = diff or baseline
    check_places(reports.values(), [before] if before else [], as_json=as_json)
    earlier = _read(before) if before else b""
    chosen = _chosen(load_catalogue(), only or [], outcome, explain)
    with redirect_stdout(sys.stderr):  # installed tools are loaded, and some of them print
        report = running.audit(chosen, strict=strict, fail_under=fail_under, progress=_progress(steps))
    compared = _compare(earlier, before, report)
    code = report.exit_code
    if write_baseline and not baseline:  # what is written down as the state to hold has not regressed from it
        code = 0 if report.score >= report.fail_under else 1
    if baseline and compared:
        code = compared.exit_code(report)
    standing = _live(ctx) if live else []
    with output.whoever_reads():
        for renderer, path in reports.items():
            write_report(path, import_module(renderer).render(report))
        if as_json:
            output.emit_json(_document(report, compared, standing) | {"exit_code": code})
        elif STDOUT not in reports.values():
            _print(report, compared, standing, in_full=bool(explain))
            if baseline and compared:
                output.line(scorecard.verdict_of(compared, code), tones=_TONES)
        output.flush()
    if slowest:
        _say_slowest(report)
    raise typer.Exit(code)


def _progress(named: bool) -> Callable[[int, int, Control], None]:
    """Names each control on a line of its own, or counts up on a terminal."""
    counted = None if named else progress("auditing")

    def show(done: int, total: int, control: Control) -> None:
        if named:
            sys.stderr.write(f"{done + 1}/{total} {plain(control.title, one_line=True)}\n")
            sys.stderr.flush()
        elif counted is not None:
            counted(done + (done + 1 == total), total)  # the last one takes the line away

    return show


def _chosen(catalogue: Catalogue, only: list[str], outcome: str, explain: str) -> list[Control]:
    if explain and (only or outcome):
        raise UsageError("--explain shows one control by itself", "leave --only and --outcome out")
    wanted = {
        _known("control", name, [control.id for control in catalogue.controls])
        for name in [*only, *filter(None, [explain])]
    }
    if outcome:
        numbers = {item.number: item.id for item in catalogue.outcomes}
        given = numbers.get(outcome.upper(), outcome)
        outcome = _known("outcome", given, [item.id for item in catalogue.outcomes])
    chosen = [
        control
        for control in catalogue.controls
        if (not wanted or control.id in wanted) and (not outcome or control.outcome == outcome)
    ]
    if not chosen:
        raise UsageError(f"no control of {', '.join(sorted(wanted))} belongs to {outcome}")
    return chosen


def _known(what: str, name: str, known: list[str]) -> str:
    """The id that was meant, in whatever case it was typed."""
    for item in known:
        if item.casefold() == name.casefold():
            return item
    shown = one_line(name, 40)
    name = name[:40]
    close = nearest(name.upper(), known) or nearest(name.lower(), known)
    raise UsageError(f"no {what} {shown!r}{close}", _range(known))


def _range(known: list[str]) -> str:
    return f"{known[0]} to {known[-1]}" if len(known) > 8 else f"one of {', '.join(known)}"


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST_REPORT + 1)
    except OSError as error:
        hint = "sb harness audit --write-baseline FILE writes one"
        raise UsageError(f"cannot read {path}: {error.strerror}", hint) from None
    if len(text) > LONGEST_REPORT:
        raise UsageError(f"{path} is no report: it has more than {human_bytes(LONGEST_REPORT)}")
    return text


def _compare(earlier: bytes, path: Path | None, report: AuditReport) -> Comparison | None:
    from sb.kernel.harness_audit import compare

    if path is None:
        return None
    try:
        return compare(earlier, report)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from None


def _live(ctx: typer.Context) -> list[Finding]:
    from sb.harness.live import look
    from sb.kernel.review.findings import Finding, Status

    try:
        return look(configuration(ctx, quietly=True))
    except SBError as error:  # it is a finding like others: what is asked for is a look
        return [Finding("configuration", Status.FAIL, error.message, error.hint)]


def _document(report: AuditReport, compared: Comparison | None, standing: list[Finding]) -> dict[str, Any]:
    document = report.to_dict()
    if compared:
        document["diff"] = compared.to_dict()
    if standing:
        document["live"] = [vars(finding) for finding in standing]
    return document


def _print(
    report: AuditReport, compared: Comparison | None, standing: list[Finding], *, in_full: bool
) -> None:
    from sb.harness import scorecard

    lines = [*scorecard.explanations(report)] if in_full else [*scorecard.scorecard(report)]
    if compared:
        lines += ["", *scorecard.changes(compared)]
    for line in lines:
        output.line(line, tones=_TONES)
    if standing:
        output.line()
        output.findings("live", standing)


def _say_slowest(report: AuditReport) -> None:
    for control_id, seconds in sorted(report.seconds.items(), key=lambda item: -item[1])[:SLOWEST_SHOWN]:
        note(f"{control_id} {1000 * seconds:.0f} ms of CPU")
    note(f"all {1000 * sum(report.seconds.values()):.0f} ms")
