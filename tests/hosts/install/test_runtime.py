"""Runtimes of hooks: planted code is not run, an unfinished one is not used."""

from __future__ import annotations

import copy
import json
import os
import shutil
from pathlib import Path

from sb.config.home import Home
from sb.hosts.install.runtime import Runtimes, is_whole
from sb.hosts.install.wrapper import write_wrapper
from sb.tools.hosted.guarding import current_runtime
from tests.conftest import CommandLine
from tests.hosts.install.environments import Installed
from tests.rows import rows

EVIL = "raise SystemExit('planted')\n"


def planted(path: Path, text: str = EVIL) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def judges(installed: Installed, cwd: Path | None = None, **env: str) -> bool:
    """True if the hook still tells what destroys from what does not."""
    refused = installed.asked("Bash", cwd, env, command="rm -rf /data/build")
    return "Needs approval" in refused and not installed.asked("Bash", cwd, env, command="ls")


@rows(
    "name", ["evil.pth", "sitecustomize.py", "usercustomize.py", "json.py", "sb/json.py", "__pycache__/x.pyc"]
)
def test_code_planted_among_the_packages_is_not_run(isolated: Installed, name: str) -> None:
    path = planted(isolated.site / name, "import os; os._exit(0)\n" if name.endswith(".pth") else EVIL)
    try:
        assert judges(isolated)
    finally:
        path.unlink()


def test_interpreter_of_the_environment_is_not_run(isolated: Installed) -> None:
    python, config = isolated.venv / "bin" / "python", isolated.venv / "pyvenv.cfg"
    former, link = config.read_text("utf-8"), os.readlink(python)
    python.unlink()
    planted(python, "#!/bin/sh\nexit 0\n").chmod(0o755)
    config.write_text("home = /nonexistent\n", "utf-8")
    try:
        assert judges(isolated)
    finally:
        python.unlink()
        python.symlink_to(link)
        config.write_text(former, "utf-8")


def test_variables_and_the_current_folder_are_ignored(isolated: Installed) -> None:
    folder = isolated.project
    for name in ("json.py", "sb/__init__.py", "sitecustomize.py", "typing.py", "encodings/__init__.py"):
        planted(folder / name)
    startup = str(planted(folder / "startup.py"))
    assert judges(isolated, folder, PYTHONPATH=str(folder), PYTHONSTARTUP=startup)
    assert judges(isolated, folder, PYTHONHOME=str(folder), PYTHONUSERBASE=str(folder), PYTHONPLATLIBDIR=".")
    assert judges(isolated, folder, PYTHONPYCACHEPREFIX=str(folder), PYTHONEXECUTABLE="/bin/true")
    assert judges(isolated, folder, PYTHONINSPECT="1", PYTHONBREAKPOINT="json.x", PYTHONWARNINGS="error")


def test_compiled_code_comes_from_the_home_alone(isolated: Installed, made: Path) -> None:
    """A cache beside the source, as old as the source, would be run in its place."""
    home = isolated.user / ".sb"
    assert [path.parent.name for path in home.rglob("translation*.pyc")] == ["calls"]
    source = isolated.site / "sb" / "hosts" / "hooks" / "calls" / "translation.py"
    cached = source.parent / "__pycache__"
    shutil.copytree(next(home.rglob("calls/translation*.pyc")).parent, cached, dirs_exist_ok=True)
    for path in cached.iterdir():
        path.write_bytes(path.read_bytes()[:16] + b"nothing that could be run")
    assert judges(isolated)
    shutil.rmtree(cached)


def test_an_installation_that_is_edited_or_in_a_project_is_copied(made: Path) -> None:
    record = json.loads((made / "record.json").read_bytes())
    assert record["kind"] == "project"
    start = (made / "start.py").read_text("utf-8")
    assert f"sys.path += ['{made}/lib']" in start
    assert (made / "lib" / "sb" / "commands" / "install.py").is_file()
    assert not list((made / "lib").rglob("*.pth"))


def test_runtime_is_made_once_and_again_if_it_was_changed(home: Path, made: Path, tmp_path: Path) -> None:
    runtimes = Runtimes(Home(home))
    assert runtimes.make()[0].resolve() == made
    assert is_whole(made)
    half = tmp_path / made.name
    shutil.copytree(made, half, ignore=shutil.ignore_patterns("lib", "pycache"))
    assert not is_whole(half)
    assert not is_whole(tmp_path / "nothing")


def test_changed_runtime_is_replaced_and_the_wrapper_switches(
    isolated: Installed,
) -> None:
    home = Home(isolated.user / ".sb")
    former = current_runtime(home)
    assert former is not None
    with (former / "start.py").open("a") as file:
        file.write("# touched\n")
    assert not is_whole(former)
    assert isolated.run("install", "claude-code", "--yes").returncode == 0
    current = current_runtime(home)
    assert current is not None
    assert [path.name for path in (home.folder / "runtime").iterdir()] == [current.name] != [former.name]
    assert judges(isolated)


def test_unfinished_runtime_is_not_used_and_is_removed_by_the_next_install(home: Path, made: Path) -> None:
    runtimes = home / "runtime"
    half = runtimes / made.name.replace("-1", "-0")
    shutil.copytree(made / "lib" / "sb", half / "lib" / "sb")
    write_wrapper(Home(home))
    assert current_runtime(Home(home)) == runtimes / made.name
    assert [path.name for path in runtimes.iterdir()] == [made.name]


def test_uninstalling_the_last_host_removes_the_runtime(person: Path, home: Path, sb: CommandLine) -> None:
    sb("install", "claude-code", "--yes")
    sb("install", "codex", "--yes")
    sb("uninstall", "claude-code", "--yes")
    assert any((home / "runtime").iterdir())
    sb("uninstall", "codex", "--yes")
    assert not (home / "runtime").exists()
    assert (home / "bin" / "sb-hook").exists()  # a session that is open still calls it


# As an earlier version wrote it, without what follows when the interpreter is gone.
EARLIER = """\
#!/bin/sh
python={python}
package={package}
SB_HOME={home}
export SB_HOME
if [ -x "$python" ]; then
    if [ -e "$package/__main__.py" ]; then
        exec "$python" -P -E -m sb hook "$1"
    fi
fi
"""


def test_a_home_that_an_earlier_version_made_answers_as_before(isolated: Installed, person: Path) -> None:
    home = person / ".sb"
    hook = home / "bin" / "sb-hook"
    python, package = isolated.venv / "bin" / "python", isolated.site / "sb"
    planted(hook, EARLIER.format(python=python, package=package, home=home)).chmod(0o700)
    assert current_runtime(Home(home)) is None
    other = copy.copy(isolated)
    other.hook = hook
    assert judges(other)
    assert "decides how calls are judged" in other.asked(
        "Write", file_path=str(package / "hooks" / "main.py"), content=""
    )
