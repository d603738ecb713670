"""`sb memory export|import`: carry memories between homes in a signed file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note, progress
from sb.commands.memories import note_masked, overseer, scopes
from sb.commands.options import As, AsJson, single
from sb.commands.session import decider
from sb.commands.stacks import one_of

from sb.errors import ExitCode, UsageError
from sb.text import counted, nearest

if TYPE_CHECKING:
    from sb.memory.bundle_import import Imported
    from sb.memory.bundles import Seal
    from sb.memory.operator_view import Overseer

app = single()
BUNDLE, MARKDOWN = "bundle", "markdown"
FORMATS = (BUNDLE, MARKDOWN, "csv", "json")


@app.command(name="export", epilog="Example: sb memory export shop.sbmem --scope project:shop")
def export_memories(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A new file.")],
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
    from sb.parts import open_authority

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


@app.command(name="import", epilog="Example: sb memory import shop.sbmem --verify-only")
def import_memories(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file written by `sb memory export`.")],
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
    """Import memories from a file; existing ones stay."""
    from sb.memory.bundle_import import load
    from sb.memory.bundles import opened, verify
    from sb.parts import open_authority

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
