"""Shipped tools over real folders, called as the executor calls them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sb.config.groups import Files, Http, Shell
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.kernel.registry.registry import ToolRegistry
from sb.store.snapshots import SnapshotStore
from sb.tools import register_builtin

Call = Callable[..., Any]
Refusal = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The one folder that tools may touch."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the root, with a secret."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file.txt").write_text("SECRET", encoding="utf-8")
    return folder


@pytest.fixture
def sb_home(root: Path) -> Path:
    """SB_HOME, inside the root, as when a user opens the whole home folder."""
    folder = root / ".sb"
    folder.mkdir()
    (folder / "brain.db").write_text("PROTECTED", encoding="utf-8")
    return folder


@pytest.fixture
def snapshots(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "kept", max_bytes=1000)


@pytest.fixture
def registry(root: Path, sb_home: Path, snapshots: SnapshotStore) -> ToolRegistry:
    registry = ToolRegistry()
    files = Files(roots=(root,), keep_max_bytes=1000, max_read_bytes=5000)
    register_builtin(registry, files, Http(), Shell(max_output_bytes=10_000), snapshots, [sb_home])
    return registry


@pytest.fixture
def call(registry: ToolRegistry) -> Call:
    """Call a tool by id with keyword arguments."""

    def call_tool(tool_id: str, **arguments: Any) -> Any:
        function = registry.get_callable(tool_id)
        assert function is not None
        return function(**arguments)

    return call_tool


@pytest.fixture
def refused(call: Call) -> Refusal:
    """Call a tool that must fail with a code and a single line, which is returned."""

    def call_refused(code: ToolErrorCode, tool_id: str, **arguments: Any) -> str:
        with pytest.raises(ToolError) as failure:
            call(tool_id, **arguments)
        message = str(failure.value)
        assert failure.value.code is code, message
        assert message
        assert "\n" not in message
        return message

    return call_refused
