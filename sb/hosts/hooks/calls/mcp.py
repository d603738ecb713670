"""Calls of MCP servers' tools: which go on, which are asked for each time, and which once per server.

Verbs are compared as whole tokens of the tool's own name; what destroys beats what reads. A server's own annotations
do not count, since the server writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from sb.hosts.hooks.calls.arguments import bare, command_lines, tokens, word_set
from sb.hosts.hooks.calls.reading import CallReading
from sb.hosts.hooks.event import GovernedCall
from sb.kernel.calls.call import AnsweredBy, Ask
from sb.kernel.calls.servers import Server
from sb.kernel.contracts import SafetyClass
from sb.shell.programs.rules import DESTROY, QUIET, READ
from sb.tools.hosted.contracts import MCP, MCP_DESTRUCTIVE

PASSES, ONCE, ALWAYS = "read", "server", "ask"  # what hooks.mcp says of a tool
_STRICTEST = (ALWAYS, ONCE, PASSES)
_MOST_TEXTS = 200  # of one call that are looked at for verbs and addresses
_LONGEST_VERB = 40  # characters of an argument that names an action


DESTROYING = word_set(
    "delete del drop remove rm rmdir destroy purge execute exec run shell bash sh zsh powershell sudo transfer pay "
    "erase wipe truncate unlink trash nuke flush flushall flushdb terminate kill shutdown reboot uninstall revoke "
    "deprovision decommission payout refund charge withdraw purchase buy wire donate eval"
)
_RUNNING = word_set("execute exec run shell bash sh zsh powershell eval")
READING = word_set(
    "get list ls search find read view show describe query fetch stat info tree grep glob count diff status lookup "
    "inspect explain retrieve resolve preview compare analyze whoami help head tail log blame"
)
_CHANGING = word_set(
    "write create update edit modify overwrite insert append replace apply upsert upload extract unpack rename send "
    "reply publish deploy add save make mkdir touch chmod chown enable disable approve reject accept cancel"
)
# Words that are verbs only where nothing that reads stands before them: `get_commit`, `get_workflow_run`.
_OFTEN_NOUNS = word_set(
    "run shell transfer pay drop charge refund purchase trash wire move mv copy cp set put post patch store download "
    "start stop push commit merge import export sync install build clear reset forward record format clean clone "
    "archive restore assign invite share grant close lock unlock ban block click type fill press navigate open select "
    "submit schedule trigger invoke call book order subscribe mark toggle draft comment register rotate tag release"
)
_JOINING = word_set("and or then to")
_ACTIONS = ("action", "operation", "op", "method", "verb", "subcommand", "mutation", "command")
_KINDS = (*_ACTIONS, "type", "mode")  # which may name an action too
_STATEMENTS = word_set("sql statement statements")
_QUERIES = word_set("query queries q")
_DATABASES = word_set(
    "sql database db postgres postgresql pg mysql mariadb sqlite bigquery snowflake duckdb clickhouse supabase neon "
    "redshift oracle mssql cockroach databricks"
)
_SQL = re.compile(
    r"\s*(?:select\b|with\s+\w+|insert\s+into|update\s+\S+\s+set|delete\s+from|drop\s+(?:table|database|schema|index|"
    r"view|user|role|function|trigger|column|materialized|type|extension)|truncate\b|alter\s+\w+|create\s+(?:or|table|"
    r"temp|unique|index|view|user|role|function|database|schema|trigger)|grant\s|revoke\s|merge\s+into|replace\s+into|"
    r"call\s+\w|exec(?:ute)?\s+\w|do\s+\$|copy\s+\w|explain\b|pragma\b|vacuum\b|attach\b)",
    re.IGNORECASE,
)
_SQL_RUNS = re.compile(
    r"\b(?:delete|exec|execute|call|do|xp_\w+|pg_terminate_backend|pg_read_\w+|lo_(?:im|ex)port|dblink\w*|"
    r"load_extension|load_file|outfile|dumpfile)\b"
)
_GRAPHQL = re.compile(r"\s*mutation\b", re.IGNORECASE)
_CYPHER_DELETES = re.compile(r"\b(?:detach\s+delete|delete\s+\w+\s*(?:$|,|return))", re.IGNORECASE)


def govern_mcp(call: CallReading, governed: GovernedCall) -> GovernedCall:
    """The call under the contract and with the reasons that its name and arguments ask for.

    Args:
        governed: the call after a look at its paths and command lines; a stricter contract than that of MCP stays.
    """
    if governed.refused or governed.tool_id != MCP:
        return governed
    kind, why = judged(call.tool, call.args, call.context.mcp)
    if kind == ALWAYS:
        return governed._replace(tool_id=MCP_DESTRUCTIVE, safety_class=SafetyClass.DESTRUCTIVE, why=why)
    if kind == PASSES:
        return governed
    server = call.context.server(call.native)
    return governed._replace(asks=(*governed.asks, _first_use(call.tool, server)))


def judged(tool: str, args: dict[str, Any], settings: Mapping[str, str]) -> tuple[str, str]:
    """The treatment of a tool, PASSES, ONCE or ALWAYS, and for ALWAYS why.

    Args:
        settings: patterns of tools' names, with how they are treated; of several the strictest counts.
    """
    given = {kind for pattern, kind in settings.items() if fnmatchcase(tool, pattern)}
    name = bare(tool)
    destroys = _data_verb(tool, args)
    if destroys:
        return ALWAYS, f"{name}: {destroys}"
    if given:
        kind = next(kind for kind in _STRICTEST if kind in given)
        return kind, f"{name}: hooks.mcp asks for each use" if kind == ALWAYS else ""
    named = tokens(name)
    destroying = _verbs(named, DESTROYING) or [
        verb for words in _actions(args, _KINDS) for verb in _verbs(words, DESTROYING)
    ]
    if _RUNNING.issuperset(destroying) and destroying and _runs_what_was_judged(tool, args):
        return ONCE, ""
    if destroying:
        return ALWAYS, f"{name}: a tool that may {destroying[0]}"
    changes = _verbs(named, _CHANGING | _OFTEN_NOUNS) or any(
        _verbs(words, _CHANGING | _OFTEN_NOUNS) for words in _actions(args, _ACTIONS)
    )
    # Letters that look like others, and those that are not seen, may hide a verb.
    reads = name.isascii() and READING & set(named) and not changes and not _changes_data(tool, args)
    return (PASSES if reads else ONCE), ""


def _runs_what_was_judged(tool: str, args: dict[str, Any]) -> bool:
    """True if what a tool runs is among its arguments, where it was judged as a command line or as SQL."""
    return any(command_lines(args, True)) or any(_statements(tool, args))


def _verbs(words: list[str], verbs: frozenset[str]) -> list[str]:
    """The verbs among these that a name has; a word that is often a noun is one behind a word that reads."""
    named, reads = [], False
    for word in words:
        if word in verbs and not (reads and word in _OFTEN_NOUNS):
            named.append(word)
        reads = word in READING or (reads and word not in _JOINING)
    return named


def _actions(args: dict[str, Any], names: tuple[str, ...]) -> Iterator[list[str]]:
    """The tokens of arguments that name an action, such as `{"action": "delete"}`."""
    for name, text in _leaves(args):
        if name in names and len(text) < _LONGEST_VERB and len(text.split()) == 1:
            yield tokens(text)


def _leaves(value: Any, name: str = "", *, whole: bool = False) -> Iterator[tuple[str, str]]:
    """Texts among arguments with their names; `whole`: with the names that they stand under, as in "query text"."""
    waiting = [(name, value)]
    for _ in range(_MOST_TEXTS):
        if not waiting:
            return
        name, item = waiting.pop(0)
        if isinstance(item, str):
            yield name.lower(), item
        elif isinstance(item, dict):
            above = f"{name} " if whole and name else ""
            waiting += [(f"{above}{key}", inner) for key, inner in item.items()]
        elif isinstance(item, list):
            waiting += [(name, inner) for inner in item[:_MOST_TEXTS]]


# --- statements of query languages


def _statements(tool: str, args: dict[str, Any]) -> Iterator[str]:
    """The arguments that are SQL: by their name, or as a query of a tool that does not search texts."""
    of_tool = set(tokens(tool))
    database = bool(of_tool & _DATABASES)
    for name, text in _leaves(args, whole=True):
        words = set(tokens(name))
        asked = words & _QUERIES and (database or not of_tool & {"search", "find"}) and _SQL.match(text)
        if words & _STATEMENTS or asked:
            yield text


def _data_verb(tool: str, args: dict[str, Any]) -> str:
    """The effect of a statement among the arguments that would destroy or run something, or ""."""
    from sb.shell.handlers.sql import sql

    for text in _statements(tool, args):
        text = text.replace("/*!", " ")  # MySQL runs what such a comment holds
        finding = sql(text, "SQL", QUIET)
        if finding.rank == DESTROY:
            return finding.reason
        if hit := _SQL_RUNS.search(_without_texts(text)):
            return f"SQL {hit[0].upper()}"
    for name, text in _leaves(args, whole=True):
        if set(tokens(name)) & _QUERIES:
            if _GRAPHQL.match(text) and (verbs := _verbs(tokens(text[:1000]), DESTROYING)):
                return f"a mutation that may {verbs[0]}"
            if "(" in text and _CYPHER_DELETES.search(text):
                return "Cypher DELETE"
    return ""


def _without_texts(statement: str) -> str:
    return re.sub(
        r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|\"[^\"]*(?:\"|\Z)", " ", statement.lower()
    )


def _changes_data(tool: str, args: dict[str, Any]) -> bool:
    """True if a statement among the arguments changes data."""
    from sb.shell.handlers.sql import sql

    mutates = any(_GRAPHQL.match(text) for name, text in _leaves(args) if set(tokens(name)) & _QUERIES)
    return mutates or any(sql(text, "SQL", QUIET).rank > READ for text in _statements(tool, args))


# --- servers


def _first_use(tool: str, server: Server) -> Ask:
    """The question about the use of a server; the answer counts for later uses where the server is known."""
    if not server.digest:
        where = f"server {server.name}" if server.name else "a server that the host does not name"
        why = f"{bare(tool)} of {where}, whose configuration is not known"
        each = f"{why}, so a person must approve each use"
        return Ask("mcp_server", each, AnsweredBy.BY_HOST, in_place=f"{why}, so each use asks")
    first = f"first use of MCP server {server.name} ({server.configured}): "
    lets = "lets the agent use its tools, except those that delete or run something, until "
    approved, permitted = "approving {lets}its configuration changes", "your yes {lets}this session ends"
    return Ask(
        "mcp_server",
        first + approved.format(lets=lets),
        AnsweredBy.BY_HOST,
        server.grant_key,
        first + permitted.format(lets=lets),
    )
