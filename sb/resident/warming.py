"""The warm-up of the helper: its imports before it is asked, and its children's rehearsal."""

from __future__ import annotations

import contextlib
import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from sb.config import load_config
from sb.config.model import SETTINGS
from sb.hosts.confinement.credentials import credentials_of
from sb.hosts.confinement.sockets import control_sockets
from sb.hosts.hooks.event import HookEvent, Moment, NativeCall
from sb.hosts.hooks.main import settings_folder
from sb.hosts.hooks.opening import Opening
from sb.hosts.registry import WITH_HOOKS, adapter_for, events_module
from sb.tools.hosted.guarding import guarded

# As in the warm-up of a runtime: what a hook imports on its way to a verdict.
_MODULES = (
    *map(events_module, WITH_HOOKS),
    *("sb.hosts.server_files", "sb.hosts.servers", "sb.hosts.claude_code.transcripts", "sb.hosts.usage"),
    *("sb.hosts.hooks.judging", "sb.hosts.hooks.reporting"),
    "sb.hosts.hooks.guards.remembering",
    *(
        f"sb.hosts.hooks.{name}"
        for name in (
            "calls.arguments",
            "calls.mcp",
            "calls.searching",
            "guards.advising",
            "confined.loss",
            "snapshots.before_call",
            "snapshots.in_part",
            "snapshots.scratch",
        )
    ),
    # With all that these import.
    "sb.shell.destinations.landing",
    "sb.shell.inline.python",
    "sb.shell.parsing.derived",
    "sb.shell.programs.patterns",
    "sb.shell.snapshots.git",
    "sb.kernel.calls.narrative",
    "sb.memory.brain",
    "sb.memory.context_package",
    "sb.store.path_states",
    *("sb.store.trees.difference", "sb.store.trees.store", "sb.store.trees.watching"),
    *("sb.tools.file_changes", "sb.tools.pack_restoring"),
    *("sb.hosts.confinement.ports", "sb.hosts.confinement.undoable_settings"),
    "sb.resident.worker",
    "rfc8785",
    "yaml",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
)
# What sessions need that begin or end, and the commands that a helper runs.
_MORE = (
    *("sb.hosts.hooks.guards.claiming", "sb.kernel.claims.judge"),
    *("sb.cli", "sb.commands.memory", "sb.commands.approvals", "sb.memory.search", "sb.present.approvals"),
    *("sb.memory.operator_view", "sb.memory.highlights", "sb.kernel.approvals.disclosure"),
    *("numpy", "sqlite_vec", "Stemmer"),
)
_HOST = "claude-code"
_NO_HOME = "/nowhere"  # what confinement looks for in one is compiled all the same
_LARGEST = 8 << 20  # bytes of the rehearsals' database


class Hint(NamedTuple):
    """Where the next request probably comes from: from where the one before came.

    Args:
        environment: what settings are read from. cwd: of the event.
    """

    environment: dict[str, str]
    cwd: str

    @classmethod
    def here(cls, cwd: str) -> Hint:
        """Of the request that this process answers."""
        names = {row.env for row in SETTINGS if row.env} | {"HOME", "SB_HOME"}
        return cls({name: os.environ[name] for name in names if name in os.environ}, cwd)


def warm() -> None:
    """Import what hooks need, and compile its expressions."""
    for name in _MODULES:
        import_module(name)
    from sb.base.secrets.shapes import compile_all
    from sb.hosts.hooks.calls.credentials import PATTERNS
    from sb.shell.parsing.words import compiled

    for pattern in PATTERNS:
        compiled(pattern)
    compile_all()
    credentials_of(_NO_HOME)
    list(control_sockets(_NO_HOME, {}, os.getuid(), _NO_HOME))


def warm_more() -> None:
    """Import what memory and commands need, and load the model that makes vectors."""
    for name in _MORE:
        with contextlib.suppress(ImportError):  # the command says so, if it needs that
            import_module(name)
    from sb.kernel.claims.patterns import compile_all

    compile_all()
    from sb.cli import load, root_command
    from sb.config.memory import Memory
    from sb.store.embedding.selection import choose

    choose(Memory())
    root_command()
    for name in ("memory", "approvals"):
        load(name)


def rehearse(home: Path) -> Opening:
    """Judge a call and its report in a home that is for this alone; returns what was opened.

    A child shares the memory of its parent until it writes: whatever judging writes to is its own after this, which
    else costs more than judging.

    Args:
        home: its SB_HOME; it is made where it is missing.
    """
    from sb.hosts.hooks.judging import judge

    config = load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home.parent, flags={})
    if config.database.exists() and config.database.stat().st_size > _LARGEST:
        shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700, exist_ok=True)
    call = NativeCall("Bash", {"command": "cd build && make 2>&1 | tail -5"}, os.urandom(8).hex())
    event = HookEvent(_HOST, "PreToolUse", Moment.BEFORE, "rehearsal", str(home), (call,))
    reported = event._replace(moment=Moment.AFTER, calls=(call._replace(response="ok"),))
    opening = Opening()  # to the end of the process: closing would write, for nobody
    for item in (event, reported):
        judge(config, adapter_for(_HOST, {}), item, opening)
    return opening


def prepare(hint: Hint) -> Opening:
    """Open the runtime that the next request probably needs."""
    opening = Opening()
    config = load_config(env=hint.environment, cwd=settings_folder(hint.cwd), flags={})
    opening.prepare(config)
    _ = guarded(
        config.home, hint.environment
    ).places  # reads what says which these are; each is looked at again
    return opening
