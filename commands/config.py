"""`sb config`: show and check settings, trust a project's file, sign an organization's policy."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, Yes, group
from sb.commands.session import configuration, decider

from sb.base.text import nearest, plain
from sb.base.values.canonical import digest
from sb.config import DEFAULT, Home, Problem, check, current_settings, find_project, trust
from sb.config.memory import MOVED
from sb.config.model import moved
from sb.config.trust import named_packs
from sb.errors import ExitCode, NotFoundError, SBError, UsageError

app = group()


@app.command(epilog="Example: sb config show files.roots")
def show(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(help="Only this setting, such as files.roots.")] = "",
    origin: Annotated[bool, typer.Option("--origin", help="Only what is not at its default.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print every setting, and where its value came from."""
    lines = current_settings(configuration(ctx, in_full=True))
    if key and key not in {line.key for line in lines}:
        if key in MOVED:
            raise NotFoundError(f"{key} {moved(key)[0]}", moved(key)[1])
        raise NotFoundError(
            f"no setting {key!r}{nearest(key, [line.key for line in lines])}", "sb config show"
        )
    wanted = [line for line in lines if key in ("", line.key) and not (origin and line.origin == DEFAULT)]
    if as_json:
        output.emit_json({"items": [line._asdict() for line in wanted]})
    else:
        rows = [(line.key, json.dumps(line.value, ensure_ascii=False), line.origin) for line in wanted]
        output.table(["setting", "value", "from"], rows)


@app.command(name="check", epilog="Example: sb config check ./sb.yaml")
def check_file(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="By default SB_HOME/config.yaml and the project's sb.yaml.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check configuration files; exit 1 if one is wrong."""
    from sb.runtime.parts import unknown_names

    home = Home.locate(os.environ)
    project = find_project(Path.cwd(), home)
    files = [file] if file else [path for path in (home.config_file, project) if path and path.exists()]
    problems = [problem for path in files for problem in _problems(path)]
    unknown = [] if problems or file else unknown_names(configuration(ctx, quietly=True))
    if as_json:
        items = [problem._asdict() for problem in problems]
        output.emit_json({"ok": not (problems or unknown), "items": items, "unknown": unknown})
    else:
        for line in unknown:
            output.line(line, one_line=True)
        for problem in problems:
            output.line(str(problem))
            if problem.hint:
                note(f"hint: {problem.hint}")
        if not problems and not unknown:
            output.line(f"ok: {', '.join(map(str, files)) or 'no configuration file, defaults apply'}")
    raise typer.Exit(ExitCode.FAILED if problems or unknown else ExitCode.OK)


def _problems(path: Path) -> list[Problem]:
    """The faults of a configuration file, and of the rule packs that it names."""
    from sb.shell.packs.custom_packs import pack_problems

    return [*check(path, env=os.environ), *pack_problems(path, env=os.environ)]


@app.command(name="trust", epilog="Example: sb config trust")
def trust_project(
    file: Annotated[
        Path | None, typer.Argument(help="By default the sb.yaml of this folder or a parent.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Trust this project's sb.yaml, so it may loosen settings too."""
    home = Home.locate(os.environ)
    path = file or find_project(Path.cwd(), home)
    if path is None:
        raise NotFoundError("no sb.yaml in this folder or above", "name the file")
    seen = ""
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError(f"needs a terminal, or --yes, to trust {path}", "read it, then pass --yes")
        data = path.read_bytes()
        seen = digest(data)
        output.line(data.decode(errors="replace"), one_line=False)
        for pack in named_packs(path, os.environ):
            output.line(f"rule pack {pack}:")
            output.line(
                pack.read_text(encoding="utf-8", errors="replace") if pack.is_file() else "(no file)",
                one_line=False,
            )
        if not typer.confirm(plain(f"trust {path} as shown?", one_line=True), err=True):
            raise SBError("nothing was changed")
    recorded = trust(home, path, env=os.environ, displayed=seen)
    if as_json:
        output.emit_json({"file": str(path), "sha256": recorded})
    else:
        output.line(f"trusted {path} (sha256 {recorded[:16]}…)")
        note("trust ends when the file changes")


@app.command(epilog="Example: sb config organization")
def organization(as_json: AsJson = False) -> None:
    """Show your organization's policy, if there is one."""
    from sb.config.organization import FOLDER, installed_policies

    policies = installed_policies()
    if as_json:
        output.emit_json(
            {
                "items": [
                    {
                        "file": str(policy.path),
                        "organization": policy.organization,
                        "version": policy.version,
                        "sha256": policy.sha256,
                        "settings": sorted(policy.settings),
                    }
                    for policy in policies
                ]
            }
        )
        return
    for policy in policies:
        output.line(str(policy))
        output.line(f"  {policy.path} sets {', '.join(sorted(policy.settings)) or 'nothing'}")
    if not policies:
        note(f"no organization manages this machine: {FOLDER} holds no policy")


@app.command(epilog="Example: sb config sign policy.yaml --as it-desk")
def sign(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy.")],
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Sign an organization's policy, as FILE.sig."""
    from sb.config.organization import sign_policy
    from sb.runtime.parts import open_authority, open_log

    config = configuration(ctx)
    by = decider(ctx, open_authority(config, open_log(config)), who)
    policy = sign_policy(file, by.sign)
    if as_json:
        output.emit_json(
            {"file": str(file), "signature": f"{file}.sig", "sha256": policy.sha256, "by": by.name}
        )
    else:
        output.line(f"signed {policy} by {by.name}: {file}.sig")
