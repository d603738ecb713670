"""The first code of a hook comes from one compiled file, unless the sources have changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import sb
from sb.hosts.install import client_file, runtime
from sb.hosts.install.client_file import write_client
from sb.tools.hosted.guarding import interpreter

OWN = {"sb", "sb.__main__", "sb.resident", "sb.resident.client", "sb.resident.wire"}
SOURCES = [f"{name}.py" for name in ("__init__", "__main__")]
SOURCES += [f"resident/{name}.py" for name in ("__init__", "client", "wire", "compiled")]


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The folder of a runtime, and beside it a package with the client alone."""
    package, folder = tmp_path / "sb", tmp_path / "v-1"
    for name in SOURCES:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(sb.__path__[0], name), package / name)
    folder.mkdir()
    start = runtime._START.format(entries=[str(tmp_path)], client=client_file.NAME)
    (folder / "start.py").write_text(start, "utf-8")
    write_client(folder, package)
    return folder


def loaders(alone: Path) -> dict[str, str]:
    """The importer of each module of `sb` that a hook runs first."""
    done = subprocess.run(
        [interpreter(), "-I", "-S", "-v", "-B", str(alone / "start.py"), "hook", "claude-code"],
        input="{}",
        capture_output=True,
        text=True,
        env={"SB_HOME": str(alone)},
        check=False,
    )
    imported = re.findall(r"^import '(sb[\w.]*)' # <(?:\w+\.)*(\w+) object", done.stderr, re.MULTILINE)
    return {name: loader for name, loader in imported if name in OWN}


def test_client_is_imported_from_one_file(alone: Path) -> None:
    assert loaders(alone) == dict.fromkeys(OWN, "_Loader")


def changed_source(alone: Path) -> None:
    os.utime(alone.parent / "sb" / "resident" / "wire.py", ns=(1, 1))


def other_interpreter(alone: Path) -> None:
    file = alone / client_file.NAME
    file.write_bytes(b"\0\0\r\n" + file.read_bytes()[4:])


def cut_short(alone: Path) -> None:
    file = alone / client_file.NAME
    file.write_bytes(file.read_bytes()[:500])


def no_file(alone: Path) -> None:
    (alone / client_file.NAME).unlink()


@pytest.mark.parametrize("change", [changed_source, other_interpreter, cut_short, no_file])
def test_sources_are_imported_where_the_file_does_not_fit(
    change: Callable[[Path], None], alone: Path
) -> None:
    change(alone)
    assert loaders(alone) == dict.fromkeys(OWN, "SourceFileLoader")


def test_hook_that_judges_by_itself_imports_most_from_one_file(made: Path, tmp_path: Path) -> None:
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "transcript_path": "/t",
        "cwd": str(tmp_path),
    }
    call = {"tool_name": "Bash", "tool_use_id": "u", "tool_input": {"command": "rm -rf /data/build"}}
    done = subprocess.run(
        [interpreter(), "-I", "-S", "-v", "-B", str(made / "start.py"), "hook", "claude-code"],
        input=json.dumps(payload | call),
        capture_output=True,
        text=True,
        env={"SB_HOME": str(tmp_path / "home"), "SB_RESIDENT": "false", "HOME": str(tmp_path)},
        check=False,
    )
    assert "Needs approval" in done.stdout
    loaded = re.findall(r"^import 'sb\.[\w.]*' # <(?:\w+\.)*(\w+) object", done.stderr, re.MULTILINE)
    assert loaded.count("_Loader") > 4 * loaded.count("SourceFileLoader")
