"""`sb agent eval convert`: promptfoo's tests as a suite and back, recordings as OpenAI's messages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import AsJson, Replace

from sb.errors import UsageError


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="A promptfoo configuration, a suite, or recordings.")
    ],
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it here; by default, to standard output.")
    ] = None,
    force: Replace = False,
    as_json: AsJson = False,
) -> None:
    """Convert tests and recordings to and from other formats.

    What the other format cannot express is named on standard error, one line each.
    """
    from sb.base.files import write_atomic
    from sb.evals.exchange.converting import convert as converted

    found = converted(source)
    if to is not None:
        try:
            write_atomic(to, found.text.encode(), replace=force)
        except FileExistsError:
            raise UsageError(f"{to} exists", "--force replaces it; nothing was written") from None
        except OSError as error:
            raise UsageError(f"{to}: cannot be written: {error.strerror}") from None
    if as_json:
        facts = {"format": found.format, "items": found.items, "notes": list(found.notes)}
        output.emit_json(facts | {"file": str(to) if to else "", "text": "" if to else found.text})
        return
    for line in found.notes:
        note(line)
    if to is None:
        output.text(found.text)
    else:
        output.line(f"{found.format} with {found.items} written to {to}", one_line=True)
