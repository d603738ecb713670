"""`sb memory export|import`: carry memories between homes in a signed file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note, progress
from sb.commands.memories import note_masked, overseer, scopes
from sb.commands.options import As, AsJson, NewFile, single
from sb.commands.session import decider
from sb.commands.stacks import one_of

from sb.base.sources import SYSTEM_CLOCK
from sb.base.text import counted, nearest
from sb.errors import ExitCode, UsageError
from sb.hosts.registry import WITH_PROMPTS

if TYPE_CHECKING:
    from sb.memory.bundle_import import Imported
    from sb.memory.bundles import Seal
    from sb.memory.foreign.record import ForeignMemory
    from sb.memory.foreign.taking_in import TakenIn
    from sb.memory.operator_view import Overseer

app = single()
BUNDLE, MARKDOWN = "bundle", "markdown"
FORMATS = (BUNDLE, MARKDOWN, "csv", "json")
PROGRAMS = ("mem0", "brainctl", "kernle", "claude-memory", "basic-memory", "json", "csv", "markdown")
_MOST_PROBLEMS = 10
IMPORTED = "imported"  # the agent of what other programs remembered


@app.command(name="export", epilog="Example: sb memory export shop.sbmem --scope project:shop")
def export_memories(
    ctx: typer.Context,
    file: NewFile,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Only this scope; may be repeated.", autocompletion=scopes),
    ] = None,
    stack: Annotated[str, typer.Option(help="The stack.")] = "default",
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="bundle, which can be imported; markdown, csv or json.",
            autocompletion=one_of(*FORMATS),
        ),
    ] = BUNDLE,
    markdown: Annotated[bool, typer.Option("--markdown", help="Same as --format markdown.")] = False,
    who: As = "",
    json_: AsJson = False,
) -> None:
    """Write memories to a file, signed with your key."""
    from sb.memory.bundles import export
    from sb.runtime.parts import open_authority

    if format_ not in FORMATS:
        raise UsageError(f"no format {format_!r}{nearest(format_, FORMATS)}", f"one of {', '.join(FORMATS)}")
    if markdown and format_ not in (BUNDLE, MARKDOWN):
        raise UsageError(f"--markdown and --format {format_} are two formats", "give one of them")
    if str(file) == "-":
        raise UsageError(
            "an export is a new file, and - is none", "such as: sb memory export memories.csv --format csv"
        )
    brain, log = overseer(ctx)
    if markdown or format_ != BUNDLE:
        _unsigned(brain, file, MARKDOWN if markdown else format_, stack, scope or (), json_)
        return
    by = decider(ctx, open_authority(brain.config, log), who)
    seal = export(
        brain.space, log, file, by=by, stack=stack, scopes=scope or (), progress=progress("writing")
    )
    if json_:
        output.emit_json({"file": str(file), "format": BUNDLE, "seal": seal.as_json()})
        return
    output.line(f"{counted(seal.records, 'memory')} in {file}, {_signed(seal)}", one_line=True)
    note("includes forgotten and private memories, not erased ones")


def _unsigned(
    brain: Overseer, file: Path, format_: str, stack: str, scopes: Sequence[str], json_: bool
) -> None:
    """Write a file that is read and not imported."""
    if format_ == MARKDOWN:
        from sb.memory.markdown import write

        what = "memories"
        write(brain.space, file, stack=stack, scopes=scopes)
    else:
        from sb.memory.tables import write as write_table

        what = counted(write_table(brain.space, file, format_, stack=stack, scopes=scopes), "memory")
    if json_:
        output.emit_json({"file": str(file), "format": format_})
    else:
        output.line(f"{what} in {file}", one_line=True)
    note("includes private memories, not forgotten ones")


def _signed(seal: Seal) -> str:
    if seal.standing == "unsigned":
        return "UNSIGNED"
    stranger = ", not an operator of this home" if seal.standing == "stranger" else ""
    return f"signed by {seal.by} ({seal.key}){stranger}"


@app.command(name="import", epilog="Example: sb memory import notes.json --from json --dry-run")
def import_memories(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="A file of `sb memory export`, or of what --from names.")
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="PROGRAM",
            help="Another program: mem0, json, csv, claude-code, codex…",
            autocompletion=one_of(*PROGRAMS, *WITH_PROMPTS),
        ),
    ] = "",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="With --from: whose memories they become.")
    ] = IMPORTED,
    trusted: Annotated[bool, typer.Option("--trusted", help="With --from: do not quarantine them.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --from: show what would come.")] = False,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Show its contents and signer, and import nothing.")
    ] = False,
    into: Annotated[str, typer.Option(help="Put every memory into this scope.", autocompletion=scopes)] = "",
    from_anybody: Annotated[
        bool, typer.Option("--from-anybody", help="Accept a file that no operator of this home signed.")
    ] = False,
    embed: Annotated[
        bool, typer.Option("--embed", help="Build vectors now instead of in `sb memory tidy`.")
    ] = False,
    who: As = "",
    json_: AsJson = False,
) -> None:
    """Import memories from a file; existing ones stay.

    What another program remembered is quarantined until an
    operator releases it: sb quarantine list. Past sessions of
    claude-code, codex and gemini-cli need no FILE.
    """
    of_programs = {"--agent": agent != IMPORTED, "--trusted": trusted, "--dry-run": dry_run}
    of_bundles = {"--verify-only": verify_only, "--from-anybody": from_anybody, "--embed": embed}
    _refuse_options(of_bundles if source else of_programs, with_from=bool(source))
    if source and source not in (known := (*PROGRAMS, *WITH_PROMPTS)):
        raise UsageError(f"no importer {source!r}{nearest(source, known)}", f"one of {', '.join(known)}")
    if source in WITH_PROMPTS:
        _past(ctx, source, file, agent, into, who, trusted=trusted, dry_run=dry_run, as_json=json_)
        return
    if file is None:
        raise UsageError("Missing argument 'FILE'.", f"only --from {', '.join(WITH_PROMPTS)} needs none")
    if source:
        _take_in(ctx, source, file, agent, into, who, trusted=trusted, dry_run=dry_run, as_json=json_)
        return
    from sb.memory.bundle_import import load
    from sb.memory.bundles import opened, verify
    from sb.runtime.parts import open_authority

    brain, log = overseer(ctx)
    authority = open_authority(brain.config, log)
    if verify_only:
        _sealed(verify(file, authority, progress("checking")), json_)
        return
    opened(file).close()  # before a passphrase is asked for
    by = decider(ctx, authority, who)
    try:
        found = load(
            brain.space,
            log,
            file,
            authority,
            actor=by.name,
            into=into or None,
            from_anybody=from_anybody,
            embed=embed,
            progress=progress("reading"),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    _imported(found, json_)


def _refuse_options(given: dict[str, bool], *, with_from: bool) -> None:
    """Refuse an option that the other kind of import has: left out of account, it would import what it should not."""
    for name, is_given in given.items():
        if is_given:
            kind = "of `sb memory export` alone" if with_from else "of another program"
            raise UsageError(f"{name} is for a file {kind}", f"leave {'--from' if with_from else name} out")


def _take_in(
    ctx: typer.Context,
    source: str,
    file: Path,
    agent: str,
    into: str,
    who: str,
    *,
    trusted: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import what another program remembered."""
    from sb.memory.foreign.taking_in import memories_of, reader_of

    reader_of(source, file)  # before a passphrase is asked for
    found = _import(
        ctx, source, memories_of(source, file), agent, into, who, trusted=trusted, dry_run=dry_run
    )
    if as_json:
        output.emit_json(found.as_json())
    else:
        _taken_in(found, dry_run=dry_run)
    if found.left_out:
        raise typer.Exit(ExitCode.FAILED)


def _past(
    ctx: typer.Context,
    host: str,
    path: Path | None,
    agent: str,
    into: str,
    who: str,
    *,
    trusted: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Import the past sessions of a coding agent's host."""
    from sb.hosts.install.host import Places
    from sb.hosts.past.importing import past_sessions

    past = past_sessions(host, Places(os.environ, Path.cwd()), path, now=SYSTEM_CLOCK.now())
    found = _import(ctx, host, past.memories(), agent, into, who, trusted=trusted, dry_run=dry_run)
    if as_json:
        more = {
            "transcripts": past.files,
            "without_turns": past.without_turns,
            "skipped_lines": past.skipped,
            "unreadable": past.unreadable,
        }
        output.emit_json(found.as_json() | more)
    else:
        _taken_in(found, dry_run=dry_run)
        if past.skipped:
            note(f"{counted(past.skipped, 'line')} of {counted(past.files, 'transcript')} could not be read")
        if past.without_turns:
            note(f"no finished turn in {past.without_turns:,} of {counted(past.files, 'transcript')}")
        for problem in past.unreadable[:_MOST_PROBLEMS]:
            note(f"not read: {problem}")
    if found.left_out:
        raise typer.Exit(ExitCode.FAILED)


def _import(
    ctx: typer.Context,
    source: str,
    memories: Iterable[ForeignMemory],
    agent: str,
    into: str,
    who: str,
    *,
    trusted: bool,
    dry_run: bool,
) -> TakenIn:
    """Write memories of another program, with a progress bar."""
    from sb.memory import Brain
    from sb.memory.foreign.taking_in import take_in
    from sb.runtime.parts import open_authority

    overseeing, log = overseer(ctx)
    by = IMPORTED if dry_run else decider(ctx, open_authority(overseeing.config, log), who).name
    tell = progress("reading") or (lambda done, total: None)
    try:
        with Brain(agent, database=log.database, config=overseeing.config) as brain:
            found = take_in(
                brain,
                log,
                source,
                memories,
                actor=by,
                into=into,
                trusted=trusted,
                dry_run=dry_run,
                progress=lambda done: tell(done, 0),
            )
    except ValueError as error:
        raise UsageError(str(error)) from None
    tell(1, 1)
    return found


def _taken_in(found: TakenIn, *, dry_run: bool) -> None:
    kinds = ", ".join(counted(count, kind) for kind, count in found.kinds.items())
    would = "would be " if dry_run else ""
    output.line(
        f"{found.added:,} {would}new{f' ({kinds})' if kinds else ''}, {found.same:,} already here,"
        f" {found.left_out:,} left out",
        one_line=True,
    )
    note_masked(found.masked)
    if found.quarantined:
        note(f"{found.quarantined:,} quarantined: sb quarantine list")
    for reference, reason in found.reasons:
        output.line(f"left out {reference}: {reason}", one_line=True)
    if found.left_out > len(found.reasons):
        note(f"and {found.left_out - len(found.reasons):,} more were left out")


def _sealed(seal: Seal, json_: bool) -> None:
    if json_:
        output.emit_json(seal.as_json())
        return
    for title, text in (
        ("bundle", f"{counted(seal.records, 'memory')} of {seal.at}, {_signed(seal)}"),
        ("kinds", ", ".join(f"{count:,} {kind}" for kind, count in seal.counts.items())),
        ("scopes", ", ".join(seal.scopes)),
        ("digest", seal.digest),
    ):
        output.line(f"{title}: {text}", one_line=True)


def _imported(found: Imported, json_: bool) -> None:
    if json_:
        output.emit_json(found.as_json())
    else:
        output.line(
            f"{found.added:,} new, {found.same:,} already here, {found.conflicting:,} left out; {_signed(found.seal)}",
            one_line=True,
        )
        note_masked(found.masked)
        if found.quarantined:
            note(
                f"{found.quarantined:,} quarantined, since no operator signed the bundle: sb quarantine list"
            )
        for record, reason in found.conflicts:
            output.line(f"left out {record}: {reason}", one_line=True)
        if found.conflicting > len(found.conflicts):
            note(f"and {found.conflicting - len(found.conflicts):,} more were left out")
    if found.conflicting:
        raise typer.Exit(ExitCode.FAILED)
