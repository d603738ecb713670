"""Write the generated parts of the documentation, and the table of rule packs: `make docs`; a test fails when they are out of date."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
from sb.commands.topics import TOPICS
from sb.screens.actions import key_table

from evals.constants import TABLES, compiled
from evals.output_schemas import output_schemas
from evals.packs import PROGRAM_TABLE, TABLE, program_table, table
from evals.secret_table import TABLE as SECRETS
from evals.secret_table import secret_table
from sb.cli import COMMANDS, HELP, load, root_command
from sb.config import render_example, render_table, settings_schema
from sb.harness.running import audit
from sb.harness.scorecard import scorecard

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CLI_PAGE = DOCS / "reference" / "cli.md"
SCHEMAS = DOCS / "reference" / "output.schema.json"
CONFIG_SCHEMA = DOCS / "reference" / "config.schema.json"
COMMANDS_PAGE = DOCS / "reference" / "commands.md"


def commands() -> Iterator[tuple[str, Any]]:
    """Every command and group, with the words that call it."""
    for name in COMMANDS:
        yield from _with_verbs(f"sb {name}", load(name))


def _with_verbs(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield words, command
    for verb, inner in getattr(command, "commands", {}).items():
        yield from _with_verbs(f"{words} {verb}", inner)


def help_text(words: str, command: Any) -> str:
    """The output of `--help`, in a terminal of 100 columns."""
    context = typer.Context(
        command, info_name=words, terminal_width=100, max_content_width=100, help_option_names=list(HELP)
    )
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def conventions() -> str:
    """The page of what holds for every command: the topics of `sb help`."""
    about = (
        "What holds for every command: output, exit codes, files, ids. `sb help TOPIC` prints the same in a terminal. "
        "[Commands](commands.md) lists each command with its options. What each prints with `--json` is described in "
        "[output.schema.json](output.schema.json): that of `sb approvals list` is `output.schema.json#/$defs/approvals.list`."
    )
    sections = "\n".join(topic.markdown() for topic in TOPICS.values())
    return f"# Conventions of the command line\n\n{textwrap.fill(about, 120, break_on_hyphens=False)}\n\n{sections}"


def cli_reference() -> str:
    root = root_command()
    parts = [
        "# Command reference\n\nLook up commands and options. `make docs` writes this from their help.\n"
    ]
    parts.append(f"```text\n{help_text('sb', root)}\n```\n")
    for words, command in commands():
        parts.append(f"## `{words}`\n\n```text\n{help_text(words, command)}\n```\n")
    return "\n".join(parts)


def between(path: Path, mark: str, text: str, document: str = "") -> str:
    """The document with `text` between its marks of that name; by default the document is what the file holds."""
    marks = re.compile(rf"(<!-- {mark}: [^>]*-->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    return marks.sub(lambda match: match[1] + text + match[2], document or path.read_text(encoding="utf-8"))


@cache
def scored() -> tuple[str, ...]:
    """The lines of `sb harness audit`."""
    return tuple(scorecard(audit()))


def console_of_audit(lines: Iterable[str]) -> str:
    """These lines of `sb harness audit`, as a console shows them."""
    shown = "\n".join(lines)
    return f"```console\n$ sb harness audit\n{shown}\n…\n```\n"


def files() -> dict[Path, str]:
    """Every generated file and the text that it should have."""
    console = DOCS / "guides" / "console.md"
    configuration = DOCS / "reference" / "configuration.md"
    grades = DOCS / "reference" / "harness-audit.md"
    readme = ROOT / "README.md"
    blocking = [line for line in scored() if " P0 fail " in line]
    return {
        CLI_PAGE: conventions(),
        COMMANDS_PAGE: cli_reference(),
        SCHEMAS: json.dumps(output_schemas(), indent=1) + "\n",
        CONFIG_SCHEMA: json.dumps(settings_schema(), indent=1) + "\n",
        ROOT / "config.example.yaml": render_example(),
        TABLE: table(),
        PROGRAM_TABLE: program_table(),
        SECRETS: secret_table(),
        **{source.with_suffix(".py"): compiled(source) for source in TABLES},
        console: between(console, "keys", key_table()),
        configuration: between(
            configuration,
            "settings",
            render_table(),
            between(configuration, "files", TOPICS["files"].table()),
        ),
        grades: between(grades, "score", console_of_audit(scored()[:10])),
        readme: between(readme, "score", console_of_audit((scored()[0], "…", *blocking))),
    }


def main() -> None:
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
