"""Modules that Python finds in the folder of a line before its own: a line that runs one does not only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.kernel.contracts import SafetyClass
from sb.shell import classify
from tests.rows import rows


def class_of(command: str, project: Path) -> SafetyClass:
    return classify(command, cwd=project, home=project.parent, protected=[], env={}).safety_class


@rows(
    "made, command, only_reads",
    [
        ("json/__init__.py", "python3 -m json.tool x", False),
        ("json.py", "python3 -m json.tool x", False),
        ("argparse.py", "python3 -m json.tool x", False),
        ("argparse.cpython-311-x86_64-linux-gnu.so", "python3 -m json.tool x", False),
        ("pip/__main__.py", "python3 -m pip --version", False),
        ("pip.pyc", "cd . && python -m pip list", False),
        ("sub/json.py", "cd sub && python3 -m json.tool x", False),
        ("sub/json.py", "python3 -m json.tool x", True),
        ("cart.py", "python3 -m json.tool x", True),
        ("tests/__init__.py", "python3 -m json.tool x", True),
        ("test/__init__.py", "python3 -m json.tool x", True),
        ("json/data.json", "python3 -m pip --version", True),
    ],
)
def test_module_of_the_folder_runs_instead(
    made: str, command: str, only_reads: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = tmp_path_factory.mktemp("shop")
    (project / made).parent.mkdir(exist_ok=True)
    (project / made).write_text("")
    assert (class_of(command, project) is SafetyClass.READ_ONLY) is only_reads
    assert class_of(command, project) is not SafetyClass.DESTRUCTIVE
