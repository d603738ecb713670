"""The source type of what a tool gave, by the tool that a call was of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sb.kernel.contracts import SafetyClass
from sb.log.references import tools_of_calls
from sb.store.database import Database

CALL = "call_"  # before the random part of the id of a call
# An agent's own reading of what it was given is a document; whatever else a tool gives is its output.
_BY_TOOL = {
    "host.mcp": "mcp-result",
    "host.mcp.destructive": "mcp-result",
    "host.fetch": "web-page",
    "http.get": "web-page",
    "host.read": "ingested-document",
    "files.read": "ingested-document",
    "files.list": "ingested-document",
    "files.search": "ingested-document",
}
_OTHER = "tool-output"


def sources_of_calls(database: Database, calls: Collection[str]) -> Mapping[str, str]:
    """The source types of what these calls gave, by call; a call that is not in the log has none."""
    tools = tools_of_calls(database, calls)
    network = set(_of_the_network(database, set(tools.values()) - _BY_TOOL.keys()))
    return {
        call: _BY_TOOL.get(tool) or ("web-page" if tool in network else _OTHER)
        for call, tool in tools.items()
    }


def _of_the_network(database: Database, tools: Collection[str]) -> Iterator[str]:
    """Those of these tools that some contract let reach the network."""
    marks = ", ".join("?" * len(tools)) or "NULL"
    rows = database.query(
        f"SELECT DISTINCT tool_id FROM contracts_seen WHERE tool_id IN ({marks})"
        " AND json_extract(document, '$.safety_class') = ?",
        (*tools, SafetyClass.NETWORK.value),
    )
    return (tool for (tool,) in rows)
