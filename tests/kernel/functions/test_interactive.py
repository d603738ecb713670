"""A cell that runs again replaces its governed function; nothing else may take the place of a registered tool."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CommandLine

CELLS = {
    "first": '@governed(safety_class=SafetyClass.LOCAL_WRITE)\ndef keep(text: str) -> str:\n    "Keep."\n    return text\n',
    "docstring": '@governed(safety_class=SafetyClass.LOCAL_WRITE)\ndef keep(text: str) -> str:\n    "Keep it."\n    return "2"\n',
    "parameter": '@governed(safety_class=SafetyClass.LOCAL_WRITE)\ndef keep(text: str, n: int = 1) -> str:\n    "Keep."\n    return "3"\n',
    "body": '@governed(safety_class=SafetyClass.LOCAL_WRITE)\ndef keep(text: str) -> str:\n    "Keep."\n    return "4"\n',
    "weaker": '@governed\ndef keep(text: str) -> str:\n    "Keep."\n    return "5"\n',
    "taken": 'def other(text: str) -> str:\n    "Keep."\n    return text\nkeep = governed(tool_id="main.keep")(other)\n',
}
START = """
import sys
{marker}
from sb.kernel import SafetyClass, ToolCallRefused, governed
from sb.errors import ContractError
def cell(source):
    exec(compile(source, "cell", "exec"), globals())
def call():
    try: print("gave", keep("milk"))
    except ToolCallRefused as refused: print("refused", refused)
    except ContractError as error: print("error", error)
"""
INTERACTIVE = "sys.ps1 = '>>> '"
KERNEL = "import types; sys.modules['ipykernel'] = types.ModuleType('ipykernel')"


def session(marker: str, *cells: str) -> list[str]:
    """Output of the calls after each cell, in one process without a file."""
    body = "".join(f"cell({CELLS[name]!r})\ncall()\n" for name in cells)
    program = START.format(marker=marker) + body
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def approved(home: Path, sb: CommandLine) -> None:
    assert session(INTERACTIVE, "first")[0].startswith("refused")
    assert sb("runtime-guard", "approve-contract", "kernel", "main.keep", "--reason", "ours").code == 0
    assert "main.keep cannot be undone" in session(INTERACTIVE, "first")[0]
    (request,) = sb("approvals", "list", "--json").json["items"]
    assert sb("approvals", "approve", request["id"], "--reason", "notes stay").code == 0


@pytest.mark.parametrize("marker", [INTERACTIVE, KERNEL], ids=["shell", "notebook"])
def test_a_cell_that_runs_again_replaces_and_a_changed_contract_waits_for_approval(
    approved: None, sb: CommandLine, marker: str
) -> None:
    first, changed, widened, back, weaker = session(
        marker, "first", "docstring", "parameter", "body", "weaker"
    )
    assert (first, back) == ("gave milk", "gave 4")
    for refused in (changed, widened, weaker):
        assert refused.startswith("refused main.keep: the contract of main.keep is not the approved one")
    shown = sb("runtime-guard", "approve-contract", "kernel", "main.keep", "--reason", "reworded")
    assert shown.code == 0


def test_a_program_may_not_replace_a_tool(approved: None) -> None:
    first, second = session("", "first", "docstring")
    assert first == "gave milk"
    assert second.startswith("error tool main.keep is already registered")


def test_another_function_may_not_take_the_id_in_a_notebook(approved: None) -> None:
    first, second = session(INTERACTIVE, "first", "taken")
    assert first == "gave milk"
    assert second.startswith("error tool main.keep is already registered")
