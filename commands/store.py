"""`sb store`: encrypt the database, or decrypt it."""

from __future__ import annotations

from collections.abc import Callable

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.memories import confirmed
from sb.commands.options import AsJson, Yes, group
from sb.commands.session import configuration

from sb.base.text import human_bytes
from sb.config import Config
from sb.config.database_key import NONE
from sb.errors import StoreError, UsageError

app = group()


@app.command(epilog="Example: sb store encrypt")
def encrypt(ctx: typer.Context, yes: Yes = False, as_json: AsJson = False) -> None:
    """Encrypt the database; no other process may have it open."""
    from sb.log.encryption import encrypt as run

    config, reference = _named(ctx)
    confirmed(
        f"encrypt {config.database} with the key in {reference}? without it nothing can be read", yes=yes
    )
    _done(config, _run(run, config, reference), as_json, encrypted=True)


@app.command(epilog="Example: sb store decrypt")
def decrypt(ctx: typer.Context, yes: Yes = False, as_json: AsJson = False) -> None:
    """Decrypt the database; no other process may have it open."""
    from sb.log.encryption import decrypt as run

    config, reference = _named(ctx)
    confirmed(f"decrypt {config.database}? whoever reads the file then reads the memories", yes=yes)
    _done(config, _run(run, config, reference), as_json, encrypted=False)
    note(f"take database_key out of {config.home.config_file}")


def _named(ctx: typer.Context) -> tuple[Config, str]:
    config = configuration(ctx)
    if not config.database.is_file():
        raise StoreError(f"no database at {config.database}", "make one with `sb init`")
    if config.database_key == NONE:
        raise UsageError(
            "no key is named",
            f'set database_key: "file:/PATH" in {config.home.config_file}: docs/reference/store.md',
        )
    return config, config.database_key


def _run(change: Callable[..., int], config: Config, reference: str) -> int:
    from sb.kernel.authority.enrolment import login_name
    from sb.runtime.parts import open_log

    return change(config.database, reference, by=login_name(), log=lambda: open_log(config))


def _done(config: Config, size: int, as_json: bool, *, encrypted: bool) -> None:
    if as_json:
        output.emit_json({"file": str(config.database), "encrypted": encrypted, "bytes": size})
    else:
        output.line(f"{'encrypted' if encrypted else 'decrypted'} {config.database}, {human_bytes(size)}")
