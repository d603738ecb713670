"""The topics of `sb help`, which docs/reference/cli.md shows too."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sb.base.values.frozen import frozen


@frozen
class Topic:
    """One page of help.

    Args:
        title: its heading in the documentation. summary: its line in the list of topics.
        before, after: paragraphs around the rows, with a blank line between two.
        columns: headings of the rows.
    """

    title: str
    summary: str
    before: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[tuple[str, str]] = ()
    after: str = ""

    def lines(self, width: int) -> Iterator[str]:
        """The topic for a terminal of that width."""
        yield self.title
        for paragraph in paragraphs(self.before):
            yield from ("", *textwrap.wrap(paragraph, width))
        if self.rows:
            yield ""
        first = max((len(name) for name, _ in self.rows), default=0)
        for name, meaning in self.rows:
            indent = " " * (first + 4)
            yield from textwrap.wrap(
                f"{name:<{first}}  {meaning}", width, initial_indent="  ", subsequent_indent=indent
            )
        for paragraph in paragraphs(self.after):
            yield from ("", *textwrap.wrap(paragraph, width))

    def table(self) -> str:
        """The rows as a Markdown table."""
        rows = [self.columns, ["---"] * len(self.columns), *([f"`{name}`", text] for name, text in self.rows)]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def markdown(self) -> str:
        """The topic as a section of a page."""
        parts = [f"## {self.title}\n", *map(_wrapped, paragraphs(self.before))]
        parts += [self.table()] if self.rows else []
        return "\n".join([*parts, *map(_wrapped, paragraphs(self.after))])


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each on one line."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_on_hyphens=False) + "\n"


TOPICS = {
    "output": Topic(
        "Output",
        "Where results, notes, errors and prompts go; --json.",
        before="""
Results go to stdout, everything else to stderr. A failure is one line that says what is wrong, and a hint
that says what to do.

Every command that prints data takes `--json`: one document, lists as `{"items": […]}`, times in UTC, fields
only ever added. `sb log tail`, `sb approvals watch` and `sb recovery watch` print one object a line. With
`--json` a failure is `{"error": {"kind", "message", "hint"}}` on stdout. Commands whose answer may be bad
news say it in their own document instead: `kernel run` has `success` and `error_code`; `log verify`,
`doctor` and `config check` have `ok`.

The documentation has a JSON Schema of every document, `reference/output.schema.json`; `sb commands --json` lists every
command with its options, its exit codes, whether it writes, and the name of its schema.

Text from tools and files is stripped of control characters, escape sequences and bidirectional marks before
it reaches a terminal; JSON is not, its escapes are safe.

Nothing asks in a script: without a terminal, a command that would ask fails and names `--yes` (`sb
runtime-guard snapshot` and `approve-contract` do what they were called for). A passphrase is only ever
asked for on the terminal.

`-` is stdin where an option takes text: `sb kernel run TOOL --args -`. `--args @FILE` reads a file.
""",
    ),
    "terminal": Topic(
        "On a terminal",
        "How tables, ages and colour adapt to a terminal or a pipe.",
        before="""
Tables fit the width of the terminal: a command loses its middle, a path its left, prose its end. Ids come last, and
may be shortened to a beginning that commands take. Times are ages (`now`, `9m`, `3h`, `6d`, then `12 Nov`). A column
that has one value in all rows stands in the line above them; one that has no room is left out. Long lines are wrapped
between words.

In a pipe nothing is cut, wrapped, left out or coloured. `sb --plain COMMAND` prints the same on a terminal, for screen
readers and logs; so does `TERM=dumb`. `sb console --plain SCREEN` prints a screen of the console as lines.

Colour says nothing that a word does not say. It is off in a pipe, with `NO_COLOR=1` and with `sb --no-color COMMAND`;
`FORCE_COLOR=1` turns it on in a pipe.
""",
    ),
    "exit-codes": Topic(
        "Exit codes",
        "What each exit code means, for scripts.",
        columns=("code", "meaning"),
        rows=(
            ("0", "done"),
            (
                "1",
                "a check failed, or the thing itself did: `sb log verify` found a changed row; a tool failed",
            ),
            (
                "2",
                "usage or configuration: an unknown command, arguments that are not JSON, a wrong key in `config.yaml`",
            ),
            ("3", "the database cannot be used: locked for 30 s, missing, damaged, of another version"),
            ("4", "denied, or a person has to decide first (`apr_… waits for a decision`)"),
            ("5", "`sb agent eval`: the agent could not be run"),
            (
                "6",
                "`sb undo`: some paths were restored, others not and are named; where it says `in part`, repeat it to try them",
            ),
            (
                "64",
                "`sb harness audit` was called wrongly; there 1 is a score below the threshold, and 2 a P0 control that blocks",
            ),
            ("70", "an internal error; the traceback is in `SB_HOME/last-error.log`"),
            ("130", "interrupted with Ctrl-C"),
        ),
        after="""
`sb commands --json` lists the codes of each command.
""",
    ),
    "environment": Topic(
        "Environment",
        "The environment variables that sb reads.",
        columns=("variable", "meaning"),
        rows=(
            ("SB_HOME", "the folder of one installation: an absolute path; by default `~/.sb`"),
            ("SB_DB", "the database file, instead of `SB_HOME/brain.db`; `--db` counts before it"),
            ("SB_RESIDENT", "`false`: hooks judge without the resident helper"),
            ("SB_PLUGIN_FAIL_FAST", "`true`: a plugin that fails stops its entity"),
            ("NO_COLOR", "with any value: no colour"),
            ("FORCE_COLOR", "with any value: colour in a pipe too, unless `NO_COLOR` is set"),
            ("COLUMNS", "the width of tables, where the terminal does not say it"),
        ),
    ),
    "files": Topic(
        "Files",
        "What lies in SB_HOME, and in a project.",
        columns=("in SB_HOME", "holds"),
        rows=(
            ("config.yaml", "your configuration"),
            ("brain.db", "the database"),
            ("anchors.jsonl", "the log's anchors"),
            ("statements.jsonl", "kills and lifts"),
            ("workflows/", "how many steps workflows announced"),
            ("kept/", "snapshots of files; `kept/packs`, one file for each call"),
            ("trusted.json", "trusted projects"),
            ("charters/", "agents' charters, one file each"),
            ("sources.yaml", "registered sources of context"),
            ("operators.json", "operators' public keys"),
            ("keys/", "private keys of this home"),
            ("digest.key", "the secret of keyed digests"),
            ("open/", "what redaction took out of open requests"),
            ("bin/, runtime/, install/", "what hooks run, and what `sb install` changed"),
            ("resident/", "the socket and the secret of the resident helper, while it runs"),
            ("helper/", "the same for confined commands, which reach it only where their line uses sb"),
            ("checkpoints/", "compositions of cores"),
            ("backups/", "copies made by `sb backup` and `sb migrate`"),
            ("last-error.log", "the traceback of the last internal error"),
        ),
        after="""
A project's `sb.yaml` may make settings stricter; what it loosens counts once `sb config trust` trusts the
file as it is. `sb config show` says where each value comes from. A policy of the organization, in
`/etc/sb`, limits all of them.
""",
    ),
    "policy": Topic(
        "Policy",
        "Which calls run, which are denied, which need a person.",
        before="""
Rules stand under `policy:` in `config.yaml`, such as `- deny: http.*` or `- approve: files.delete`. They
make calls stricter, never looser. Their order does not count:
""",
        columns=("rule", "effect"),
        rows=(
            ("deny", "a call that any deny rule fits is denied"),
            ("allow", "as soon as there is one, a call that neither allow nor approve fits is denied"),
            ("approve", "a call that any approve rule fits needs a person; a destructive tool always does"),
        ),
        after="""
`sb kernel policy check` prints the rules in words, `sb kernel policy explain TOOL` says why a call gets its
verdict, `sb kernel policy replay` tries rules on past calls, `sb explain 'COMMAND'` judges a command line.
""",
    ),
    "decisions": Topic(
        "Decisions",
        "How a call that needs a person is decided.",
        before="""
An agent's call that needs a person is not run and becomes a request. A decision needs a reason, which the
log keeps. An approved call runs once, when the agent repeats exactly that call.
""",
        columns=("command", "does"),
        rows=(
            ("sb status", "counts what waits"),
            ("sb approvals list", "lists requests; `sb console` decides them full screen"),
            ("sb approvals show ID", "shows everything that would run"),
            (
                "sb approvals approve ID",
                "approves, with `--reason`; `--for-run` and `--until` also approve further calls",
            ),
            ("sb approvals deny ID", "denies; the agent reads the reason"),
            ("sb recovery list", "lists reversals and calls with unknown outcomes, which wait too"),
            ("sb operator init", "makes your key; from then on decisions are signed"),
        ),
    ),
    "times": Topic(
        "Times",
        "How durations and times are written.",
        before="""
A duration is a number and a unit, such as `--since 30d`:
""",
        columns=("duration", "is"),
        rows=(
            ("30s", "30 seconds"),
            ("15m", "15 minutes"),
            ("2h", "2 hours"),
            ("90d", "90 days"),
            ("4w", "4 weeks"),
        ),
        after="""
Times are in UTC; in JSON they end in `Z`. How long ago something was is given in its largest unit.
""",
    ),
    "ids": Topic(
        "Ids",
        "What the beginning of an id says, and how to shorten it.",
        before="""
An id may be shortened to any beginning that fits no other: `sb approvals show apr_82`.
""",
        columns=("id", "names"),
        rows=(
            ("apr_", "an approval request: `sb approvals show`"),
            ("grant_", "a grant: `sb approvals grants`"),
            ("call_", "a call: `sb log show`"),
            ("run_", "a run, or a session of a coding agent: `sb log show`"),
            ("mut_", "an undo record: `sb undo show`"),
            ("esc_", "a reversal that waits: `sb recovery show`"),
            ("inc_", "an incident: `sb incident show`"),
            ("mem_", "a memory: `sb memory show`"),
        ),
    ),
    "completion": Topic(
        "Completion",
        "How the shell completes commands and options.",
        before="""
`sb --install-completion` installs completion for bash, zsh or fish; `sb --show-completion` prints it.
""",
    ),
}
