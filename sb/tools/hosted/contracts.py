"""Contracts of the calls that hosts perform.

They are the same for every host, so that a policy says `host.shell.*` once; the native tool's name is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sb.kernel.contracts import (
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    SafetyClass,
    ToolArgSchema,
    ToolReturnSchema,
)
from sb.kernel.execution.admission import PERFORMED_BY_HOST
from sb.kernel.policy.standing_in import STANDS_IN, STOOD_FOR
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversibility.contracts import OVER
from sb.tools.hosted.files import DESTROYS, HostedFiles

READ, WRITE, WRITE_CONFIG = "host.read", "host.write", "host.write_config"
FETCH, MCP, AGENT, UNKNOWN = "host.fetch", "host.mcp", "host.agent", "host.unknown"
MCP_DESTRUCTIVE = "host.mcp.destructive"
RESTORE = "host.restore"
SHELL = {
    SafetyClass.READ_ONLY: "host.shell.read",
    SafetyClass.LOCAL_WRITE: "host.shell.write",
    SafetyClass.NETWORK: "host.shell.network",
    SafetyClass.DESTRUCTIVE: DESTROYS,
}
# Command lines of which a snapshot is taken first, and those that besides do what network commands do.
KEPT, KEPT_NETWORK = "host.shell.kept", "host.shell.kept_network"
# Destructive command lines of which a part can be stored first: a person is asked as without.
KEPT_IN_PART = "host.shell.kept_in_part"

_TOOL = ToolArgSchema("tool", description="The host's own name of the tool.")
_INPUT = ToolArgSchema(
    "input", "object", description="What the tool was given, or its digest where that is long."
)
_COMMAND = [
    _TOOL,
    ToolArgSchema("command", description="The command line, as the shell gets it."),
    ToolArgSchema("cwd", required=False, description="The folder that it is run in."),
    ToolArgSchema("why", required=False, description="What decided its class."),
    ToolArgSchema("input", "object", required=False, description="What else the tool was given."),
]
_KEPT = [
    *_COMMAND,
    ToolArgSchema("paths", "array", description="What it deletes or overwrites, and a snapshot holds."),
    ToolArgSchema(
        "let_go", "array", required=False, description="Scratch that it deletes without a snapshot."
    ),
    ToolArgSchema("stands_for", "array", description="The tools that it would be without a snapshot."),
    ToolArgSchema(
        "tree",
        required=False,
        description="The project whose tree is stored first, so that whatever it changes there is known afterwards.",
    ),
    ToolArgSchema(
        "partly",
        "boolean",
        required=False,
        description="true: other changes than those of the paths are not known, and not undone.",
    ),
]
_KEPT_IN_PART = [
    *_COMMAND,
    ToolArgSchema("lost", "array", description="path of what no snapshot may hold, and why."),
    ToolArgSchema("stands_for", "array", description="The tools that it would be without a snapshot."),
    ToolArgSchema("partly", "boolean", description="true: a part is stored; false: nothing."),
]
_PATHS = [
    _TOOL,
    ToolArgSchema("paths", "array", description="Absolute paths of the files that are changed."),
    _INPUT,
    ToolArgSchema(
        "keep", "boolean", required=False, description="false: too large to keep, so it cannot be undone."
    ),
]
_RESTORED = ReversalSpec(
    ReversalClass.REVERSIBLE,
    compensation_capability=RESTORE,
    recovery_approval_mode=RecoveryApprovalMode.HUMAN,
    reversal_args={"files": "result.files", "key": "call.idempotency_key"},
    irreversible_when={"keep": False},
    preview_capability="host.restorable",
    probe_capability="host.changed",
)
_RESTORED_OVER = replace(_RESTORED, irreversible_when={})
_RESTORED_IN_PART = replace(
    _RESTORED, reversal_class=ReversalClass.COMPENSABLE, irreversible_when={"partly": False}
)
_NO_WAY_BACK = ReversalSpec(ReversalClass.COMPENSABLE)  # ordinary work; nothing knows how to take it back


def register_hosted(registry: ToolRegistry, files: HostedFiles) -> None:
    """Register the contracts of hosts' calls and of restoring their files."""
    _register_looking(registry)
    for tool_id, safety_class, what in (
        (WRITE, SafetyClass.LOCAL_WRITE, "Change files."),
        (
            WRITE_CONFIG,
            SafetyClass.DESTRUCTIVE,
            "Change what decides about more than itself: a host's settings, a login, what git runs, the system.",
        ),
    ):
        _register(registry, tool_id, what, safety_class, files.keep, args_schema=_PATHS, reversal=_RESTORED)
    for safety_class, tool_id in SHELL.items():
        _register(
            registry,
            tool_id,
            f"Run a command line that is classed as {safety_class}.",
            safety_class,
            _nothing_to_keep,
            args_schema=_COMMAND,
            reversal=_reversal(safety_class),
        )
    _register_kept(registry, files)
    for tool_id, safety_class, what in (
        (FETCH, SafetyClass.NETWORK, "Get something from the network, or publish to it."),
        (MCP, SafetyClass.NETWORK, "Call a tool of an MCP server."),
        (
            MCP_DESTRUCTIVE,
            SafetyClass.DESTRUCTIVE,
            "Call a tool of an MCP server that deletes or runs something.",
        ),
        (AGENT, SafetyClass.LOCAL_WRITE, "Start another agent, now or later."),
        (UNKNOWN, SafetyClass.DESTRUCTIVE, "A tool of which nothing is known."),
    ):
        schema, reversal = [_TOOL, _INPUT], _reversal(safety_class)
        others = {MCP: SafetyClass.NETWORK} if tool_id == MCP_DESTRUCTIVE else None
        _register(
            registry,
            tool_id,
            what,
            safety_class,
            _nothing_to_keep,
            args_schema=schema,
            reversal=reversal,
            stood_for=others,
        )
    _register_restoring(registry, files)


def _register_kept(registry: ToolRegistry, files: HostedFiles) -> None:
    for tool_id, safety_class, what in (
        (
            KEPT,
            SafetyClass.LOCAL_WRITE,
            "Run a command line after a snapshot of all that it deletes and overwrites, or of the project's tree.",
        ),
        (
            KEPT_NETWORK,
            SafetyClass.NETWORK,
            "Run a command line after a snapshot as for host.shell.kept, with parts that use the network or run programs.",
        ),
    ):
        _register(
            registry,
            tool_id,
            what,
            safety_class,
            files.keep_line,
            args_schema=_KEPT,
            reversal=_RESTORED_OVER,
            stood_for={name: of for of, name in SHELL.items()},
        )
    _register(
        registry,
        KEPT_IN_PART,
        "Run a destructive command line after a snapshot of the part of its changes that one may hold.",
        SafetyClass.DESTRUCTIVE,
        files.keep_part,
        args_schema=_KEPT_IN_PART,
        reversal=_RESTORED_IN_PART,
        stood_for={name: of for of, name in SHELL.items()},
    )


def _reversal(safety_class: SafetyClass) -> ReversalSpec | None:
    """The reversal of a class; local writes have none of their own here."""
    return _NO_WAY_BACK if safety_class is SafetyClass.LOCAL_WRITE else None


def _register(
    registry: ToolRegistry,
    tool_id: str,
    description: str,
    safety_class: SafetyClass,
    prepare: Callable[..., Any],
    *,
    stood_for: Mapping[str, SafetyClass] | None = None,
    **contract: Any,
) -> None:
    metadata: dict[str, Any] = {PERFORMED_BY_HOST: True}
    if stood_for:
        metadata |= {STANDS_IN: "stands_for", STOOD_FOR: dict(stood_for)}
    registry.register_fn(tool_id, tool_id, prepare, safety_class, description, metadata=metadata, **contract)


def _nothing_to_keep(**_: Any) -> None:
    """Take no snapshot: the effect of such a call cannot be reversed."""


def _register_looking(registry: ToolRegistry) -> None:
    what = "Read files, search, keep lists, ask the person."
    _register(registry, READ, what, SafetyClass.READ_ONLY, _nothing_to_keep, args_schema=[_TOOL, _INPUT])


def _register_restoring(registry: ToolRegistry, files: HostedFiles) -> None:
    args = [
        ToolArgSchema("files", "array", description="path, sha256 and mode of each, as the call left it."),
        ToolArgSchema("key", description="Under which the former contents are kept."),
    ]
    registry.register_fn(
        RESTORE,
        "Restore what a host changed",
        files.restore,
        SafetyClass.LOCAL_WRITE,
        "Put files back to what they were before a host changed them, unless one changed since.",
        idempotent=True,
        args_schema=args,
        allowlisted_agents=["recovery"],
        returns_schema=ToolReturnSchema("object", "files: path, existed (before), sha256 and mode each"),
        timeout_ms=30_000,
    )
    registry.register_fn(
        f"{RESTORE}{OVER}",
        "Restore what a host changed, over later changes",
        files.restore_over,
        SafetyClass.LOCAL_WRITE,
        "Put files back to what they were before a host changed them, also where they changed since. What is there now "
        "is kept first.",
        idempotent=True,
        args_schema=args,
        allowlisted_agents=["recovery"],
        returns_schema=ToolReturnSchema(
            "object", "files: as this call left them; restored: path, existed (before) each"
        ),
        timeout_ms=30_000,
        reversal=_RESTORED_OVER,
    )
    registry.register_fn(
        "host.restorable",
        "Can what a host changed be restored?",
        files.restorable,
        description="Say whether host.restore would work now, and what it would do.",
        args_schema=args,
        allowlisted_agents=["recovery"],
        returns_schema=ToolReturnSchema("object", "ok, detail"),
        timeout_ms=30_000,
    )
    registry.register_fn(
        "host.changed",
        "Did a call change files whose report was lost?",
        files.changed,
        description="Say whether the paths of a call's snapshot differ from it, and what is there now.",
        args_schema=[ToolArgSchema("key", description="Under which the former contents are kept.")],
        allowlisted_agents=["recovery"],
        returns_schema=ToolReturnSchema("object", "done, result, detail"),
        timeout_ms=30_000,
    )
