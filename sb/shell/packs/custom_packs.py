"""Rule packs of one's own: read from their files, compiled once, cached by digest.

A trusted pack's rules come before the shipped ones; a pack that is not trusted can only raise a class.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sb.base.files import write_atomic
from sb.base.reading import Problem, Report
from sb.base.text import nearest
from sb.base.values.canonical import digest
from sb.config.pack_files import PackFile
from sb.config.sources import read_bytes, read_settings
from sb.shell.credentials.files import SHIPPED_SECRETS, OwnSecrets
from sb.shell.packs.packing import FORMAT, read_document, read_pack
from sb.shell.packs.secret_packing import OWN_SECTIONS, own_secrets
from sb.shell.packs.table import PACKS
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset, Table, merged, shipped

_MOST_CACHED = 64  # compiled packs; the oldest go


def ruleset(disabled: Collection[str], packs: Sequence[PackFile], cache: Path) -> Ruleset:
    """The rules of a configuration.

    Args:
        disabled: names of shipped packs that are switched off.
        packs: files of one's own.
        cache: the folder for compiled packs; made when needed.

    Raises:
        ConfigError: a pack cannot be read, or has a wrong key; with file, line and rule.
    """
    if not disabled and not packs:
        return SHIPPED_RULES
    base = shipped(disabled) if disabled else SHIPPED_RULES.table
    trusted: list[Table] = []
    own: list[Table] = []
    secrets = SHIPPED_SECRETS
    for file in packs:
        data = _read(file.path)
        found = digest(data)
        table, more = _compiled(data, found, file.path, cache)
        own.append(table)
        is_trusted = not file.only_raises and file.sha256 in ("", found)
        free = secrets.free + (more.free if is_trusted else ())
        secrets = OwnSecrets(secrets.files + more.files, secrets.commands + more.commands, free)
        if is_trusted:
            trusted.append(table)
    return Ruleset(merged((base, *trusted)) if trusted else base, tuple(own), secrets)


def pack_problems(path: Path, env: Mapping[str, str]) -> list[Problem]:
    """Every problem of the packs that a configuration file names or switches off.

    Args:
        env: for `~`, as in `load_config`.
    """
    report = Report(str(path), path.absolute().parent, env)
    settings = read_settings(read_bytes(path, report) or b"", report)
    found: list[Problem] = []
    if "hooks.packs" in settings:
        for file in settings["hooks.packs"].value:
            own = Report(str(file.path))
            if (data := _bytes(file.path, own)) is not None:
                read_document(data, own, OWN_SECTIONS)
            found += own.in_order()
    if "hooks.packs_disabled" in settings:
        value, line = settings["hooks.packs_disabled"]
        for name in value:
            wrong = f"no shipped pack {name!r}{nearest(name, PACKS)}" if name not in PACKS else ""
            wrong = wrong or (f"the pack {name} cannot be switched off" if PACKS[name][0] else "")
            if wrong:
                found.append(
                    Problem(report.source, line, "hooks.packs_disabled", wrong, f"packs: {', '.join(PACKS)}")
                )
    return found


def _read(path: Path) -> bytes:
    report = Report(str(path))
    data = _bytes(path, report)
    report.require_none()
    return data or b""


def _bytes(path: Path, report: Report) -> bytes | None:
    data = read_bytes(path, report)
    if data is None:
        report.add(0, "", "no such rule pack", "create it, or correct hooks.packs")
    return data


def _compiled(data: bytes, found: str, path: Path, cache: Path) -> tuple[Table, OwnSecrets]:
    place = cache / f"{FORMAT}-{found}.json"
    try:
        fields = json.loads(place.read_bytes())
        return _table(fields), _secrets(fields["secrets"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not compiled yet, or damaged
    pack = read_pack(data, str(path), OWN_SECTIONS)
    table, secrets = Table(pack.rules, pack.options, pack.verbs, pack.previews), own_secrets(pack.sections)
    _keep(place, table, secrets)
    return table, secrets


def _secrets(fields: Any) -> OwnSecrets:
    files = tuple(
        (str(what), str(kind), _texts(paths), _texts(names)) for what, kind, paths, names in fields[0]
    )
    commands = tuple(
        (str(what), _texts(named), _texts(options), _texts(unless))
        for what, named, options, unless in fields[1]
    )
    return OwnSecrets(files, commands, _texts(fields[2]))


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(map(str, values))


def _table(fields: Any) -> Table:
    plain = [
        {str(key): str(value) for key, value in fields[name].items()}
        for name in ("rules", "options", "previews")
    ]
    verbs = {str(key): (str(reason), str(words)) for key, (reason, words) in fields["verbs"].items()}
    return Table(plain[0], plain[1], verbs, plain[2])


def _keep(place: Path, table: Table, secrets: OwnSecrets) -> None:
    """Write a compiled pack; a cache that cannot be written costs time only."""
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(place, json.dumps({**table._asdict(), "secrets": secrets}).encode())
        others = sorted(place.parent.glob("*.json"), key=os.path.getmtime)
        for old in others[:-_MOST_CACHED]:
            old.unlink(missing_ok=True)
    except OSError:
        return
