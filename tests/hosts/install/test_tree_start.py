"""The tree of a project is stored in the background by what hooks run from, which is in no interpreter's packages."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from sb.config import load_config
from sb.config.home import Home
from sb.hosts.install.wrapper import write_wrapper
from sb.runtime.parts import hosted_files
from tests.hosts.install.conftest import seed


def test_background_process_stores_the_tree(tmp_path: Path, made: Path) -> None:
    home, project = Home(tmp_path / ".sb"), tmp_path / "shop"
    seed(home, made)
    write_wrapper(home)
    subprocess.run(["git", "init", "-q", project], check=True)
    (project / "cart.py").write_text("total = 0\n")
    config = load_config(env={"SB_HOME": str(home.folder), "HOME": str(tmp_path)}, cwd=tmp_path, flags={})
    trees = hosted_files(config).trees
    assert trees is not None
    trees.prepare(str(project))
    until = time.monotonic() + 60
    while not trees.is_stored(str(project)):
        assert time.monotonic() < until
        time.sleep(0.05)
