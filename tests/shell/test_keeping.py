"""Lines whose deletions and overwriting are known: bash runs them, and all of it comes back."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from sb.kernel.contracts import SafetyClass
from sb.shell import classify
from sb.shell.snapshots.area import Area, Limits, Plan, plan, project_of_area
from sb.store.packs import PackStore
from sb.store.path_states import rows_after
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots
from tests.rows import rows

MADE = """
mkdir -p d/e f .hid; echo 1 > a; echo 2 > b.t; echo 3 > c.t; echo 4 > d/a; echo 5 > d/e/b.t; echo 6 > d/e/.dot; echo 7 > f/g
tar cf old.tar a d f/g; python3 -m zipfile -c old.zip a d; echo 11 > a; echo 12 > d/a
printf -- '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-11\n+patched\n' > a.patch
ln -s d l; ln -s a m; ln -s nowhere n; chmod 750 d/a; echo 8 > '-rf'; echo 9 > 'w s'
"""
ODD = """
mkdir -p ../other .git repository/.git settings/.claude pipes '~' many; echo x > .env; echo {} > settings/.claude/settings.json
echo x > hard1; ln hard1 hard; mkfifo pipes/p; ln -s /proc/self/cwd p; ln -s ../other l2; ln -s ../other/x out
for i in $(seq 30); do echo x > many/$i; done; head -c 5000 /dev/zero > big
"""
WORDS = st.sampled_from(
    "a b.t c.t d d/ d/a d/e d/e/ d/e/b.t f f/g f/new l l/ l/a l/e m n new new/x *.t d/* */b.t ? [ab]* {a,b.t} d/{a,e} ./a d/../a "
    "'w s' -- -rf $X \"$X\" $X/a ~ .. . .hid l/../a nothere".split(" ")
)
COMMANDS = st.one_of(
    st.tuples(
        st.sampled_from(
            ["rm", "rm -f", "rm -rf", "rm -r", "unlink", "rmdir", "tee", "sed -i s/[0-9]/z/", "truncate -s 1"]
        ),
        WORDS,
    ).map(" ".join),
    st.tuples(
        st.sampled_from(["mv", "mv -f", "cp", "cp -r", "cp -a", "mv -T", "cp -rT", "mv -t"]), WORDS, WORDS
    ).map(" ".join),
    st.tuples(st.sampled_from(["echo x >", "echo y >>", "cat a >|", "echo z &>"]), WORDS).map(" ".join),
    WORDS.map(lambda word: f"cd {word}"),
    st.tuples(
        st.sampled_from(["find", "find .", "find d f", "find d l", "find d/e/.."]),
        st.sampled_from(
            ["", "-name '*.t'", "-type f", "-type d -name 'e*'", "! -name a -type l", "-maxdepth 1 -name '?'"]
        ),
        st.sampled_from(["-delete", "-exec rm {} +", "-exec rm -rf {} \\;", "-exec sed -i s/[0-9]/z/ {} +"]),
    ).map(" ".join),
    st.sampled_from(
        [
            "X=d",
            "X=a",
            "mkdir new",
            "mkdir -p d/new",
            "true",
            "false",
            "ls",
            "cd ..",
            "dd of=a",
            "echo hi | tee a b.t",
            'rm -rf "$PWD/d"',
            "rm -r $PWD/f",
            "[ -f a ] || echo x > a",
            "if [ ! -f b.t ]; then echo x > b.t; fi",
            "! true",
            "! rm a",
            "cp -n a b.t",
            "tar cf x.tar a d; tar xf x.tar",
            "tar xf old.tar",
            "tar xf old.tar -C d",
            "unzip -qo old.zip",
            "patch -sp1 < a.patch",
        ]
    ),
)
LOOPS = st.tuples(
    st.lists(WORDS, min_size=1, max_size=3).map(" ".join),
    st.sampled_from(
        [
            "rm -rf $v",
            "sed -i.bak s/[0-9]/z/ $v",
            'rm "$v"',
            "[ -f $v ] && rm -f $v",
            "if ls $v; then rm -r $v/a; fi",
            "v=d; rm -rf $v",
            "mv $v f",
            "rm -f *",
        ]
    ),
    st.sampled_from(["", "cd d", "v=f", "echo x > $v", "cp -r f new", "break"]),
).map(lambda parts: f"for v in {parts[0]}; do {parts[1]}; {parts[2] or 'true'}; done")
LINES = st.lists(
    st.tuples(st.one_of(COMMANDS, COMMANDS, COMMANDS, LOOPS), st.sampled_from(["; ", " && ", " || ", "\n"])),
    min_size=1,
    max_size=4,
).map(lambda parts: "".join(command + joint for command, joint in parts) + "true")


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that lines are to change copies of."""
    folder = tmp_path_factory.mktemp("unchanged") / "shop"
    folder.mkdir()
    run(MADE, folder)
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is only looked at."""
    folder = tmp_path_factory.mktemp("keeping") / "shop"
    folder.mkdir()
    run(f"{MADE}{ODD}", folder)
    return folder


def run(line: str, folder: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": "/data/nobody"}
    subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, check=False, env=env, stdin=subprocess.DEVNULL
    )


def tree(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (content, path.lstat().st_mode)
    return found


def planned(line: str, folder: Path, *, area: Area | None = None, env: dict[str, str] | None = None) -> Plan:
    """The plan for a line's changes; a reason if not all of them are known."""
    verdict = classify(line, cwd=folder, home=Path("/data/nobody"), protected=[], env=env or {})
    found = verdict.changes
    if (
        verdict.refused
        or found.changes is None
        or found.others
        or verdict.safety_class is SafetyClass.NETWORK
    ):
        return Plan(why=found.why or "other parts are not followed")
    return plan(found.changes, area or Area(str(folder), "/data/nobody"))


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(LINES)
@example("mv a b.t; rm -rf d/../a; true")
@example("cp -a l new && rm -rf new/a; true")
@example("mkdir new && mv a new; rm -r new; true")
@example("false && cd d; rm *.t; true")
@example("rm -rf l d; true")
@example("rm -r d || X=f; rm -rf $X; true")
@example("rm -rf d && cp -r f d; true")
@example("cd d/{a,e}; rm a; true")
@example("find d -name e -exec rm -rf {} +; true")
@example("find . -name '*.t' -exec sed -i s/[0-9]/z/ {} +; rm a; true")
@example("find d -delete; true")
@example("find . -type f -delete; true")
@example("for v in a d/e; do rm -rf $v; done; rm *.t; true")
@example("for v in a b.t; do v=d; rm -rf $v; done; true")
def test_all_that_a_line_changes_comes_back_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, unchanged: Path, line: str
) -> None:
    base = tmp_path_factory.mktemp("line")
    folder = base / "shop"
    shutil.copytree(unchanged, folder, symlinks=True)
    found = planned(line, folder)
    event("asked" if found.why else "snapshot")
    if found.why:
        return
    before, packs = tree(folder), PackStore(base / "packs", durable=False)
    pack = packs.take("key", found.keep, session="one")
    run(line, folder)
    changed = tree(folder) != before
    PackRestoring(Roots([Path("/")], []), packs).restore(rows_after(pack), "key")
    after = tree(folder)
    assert before.items() <= after.items(), f"changed={changed}"
    if "mkdir" not in line:
        assert after == before


@rows(
    "line",
    [
        "git pull && rm -rf d",
        "npm run build; rm -rf d",
        "mv a f && rm -rf f",
        "ln -s ~/Docs x && rm -rf x/",
        "rm -rf l/",
        'rm -rf "$UNSET/"*',
        "rm -rf $UNSET",
        "rm -rf .",
        "rm -rf ../shop",
        "rm -rf ~",
        "rm -rf /",
        "rm -rf ../other",
        "IFS=a; rm -rf d",
        "CDPATH=/; cd etc; rm -rf x",
        "shopt -s dotglob; rm -rf d/*",
        "set -f; rm *.t",
        "rm -rf **/b.t",
        "rm -rf [a-z]*",
        "rm -rf /proc/self/cwd/d",
        "rm -rf p/d",
        "true || cd d; rm -rf e",
        "cd $(pwd); rm -rf d",
        "rm -rf $(cat a)",
        "rm -rf d | git pull",
        "sleep 1 & rm -rf d & wait",
        "for x in d f; do rm -rf $x; git pull; done",
        "for x in d f; do cd $x; rm -rf a; cd ..; done",
        "while read x; do rm -rf $x; done < a",
        "go() { mv d x; }; go; rm -rf d",
        "alias ls='mv d x'; ls; rm -rf d",
        "trap 'mv d x' DEBUG; rm -rf d",
        "bash -c 'rm -rf d'",
        "sudo rm -rf d",
        "find . -delete",
        "find . -name a -o -name b.t -delete",
        "find . -name a -delete -name b.t",
        "find -L d -name a -delete",
        "find l/ -name a -delete",
        "find .. -name a -delete",
        "find . -name '[a-z]' -delete",
        "find . -name a -execdir rm {} +",
        "find . -name a -exec rm -rf {} f +",
        "find $UNSET -name a -delete",
        "npm run build; find . -name a -delete",
        "read X <<< d; rm -rf $X",
        "X=d; unset X; rm -rf $X/*",
        "X='*'; rm -rf $X",
        "X='d f'; rm -rf $X",
        "rm -rf '~'/../../x",
        "rm -rf =ls",
        "rm -rf .git",
        "rm -rf .GIT",
        "rm -rf repository",
        "rm -rf .env",
        "rm -rf settings",
        "rm hard",
        "rm -rf pipes",
        "echo x > out",
        "echo x > l2/x",
        "dd of=/dev/sda",
        "git -c alias.x='!rm -rf d' x",
        "./rm -rf d",
    ],
)
def test_line_that_could_destroy_something_else_gets_no_snapshot(line: str, project: Path) -> None:
    # A project elsewhere than in a temporary folder, so that what lies beside it is outside.
    assert _elsewhere(line, project).why


def _elsewhere(line: str, project: Path) -> Plan:
    from sb.shell.snapshots import area as keep_area

    folders = keep_area.temporary_folders
    keep_area.temporary_folders = lambda: ()
    try:
        return planned(line, project)
    finally:
        keep_area.temporary_folders = folders


@rows(
    "line, kept",
    [
        ("rm -rf d f", ["d", "f"]),
        ("rm -rf d && mkdir d && ls", ["d"]),
        ("rm *.t", ["b.t", "c.t"]),
        ("cd d && rm -rf *", ["d/a", "d/e"]),
        ("(cd d && rm a); rm a", ["d/a", "a"]),
        ("X=d; rm -rf $X/e", ["d/e"]),
        ("rm -rf l", ["l"]),
        ("rm l/a", ["d/a"]),
        ("echo x > m", ["m", "a"]),
        ("sed -i.bak s/1/2/ a", ["a", "a.bak"]),
        ("echo x | tee -a a >/dev/null 2>&1", ["a"]),
        ("set -euo pipefail; rm -rf {d,f}", ["d", "f"]),
        ("mkdir -p new && mv a new/", ["a", "new"]),
        ("ls; grep x a; rm d/a", ["d/a"]),
        ("rm -f *.none", ["*.none"]),
        ("find . -name '*.t' -delete", ["b.t", "c.t", "d/e/b.t"]),
        ("find d f -type d -name 'e*' -exec rm -rf {} +", ["d/e"]),
        ("find d -name '*.none' -delete", ["d/*.none"]),
        ("for x in d *.t; do rm -rf $x; done", ["d", "b.t", "c.t"]),
        ('for x in *.t; do sed -i s/2/3/ "$x"; done', ["b.t", "c.t"]),
        ("if [ -d d ]; then rm -rf d; fi", ["d"]),
    ],
)
def test_snapshot_holds_what_a_line_changes(line: str, kept: list[str], project: Path) -> None:
    found = planned(line, project)
    assert (found.why, sorted(found.keep)) == ("", sorted(f"{project}/{name}" for name in kept))


@rows("folder", ["/", "/home", "/data/ada", "/data", "/etc/nginx", "/tmp", "/usr/src/x", "/root", ""])
def test_folder_that_is_too_wide_is_no_project(folder: str) -> None:
    assert project_of_area(folder, "/data/ada") == ""


def test_more_than_a_snapshot_holds_is_asked(project: Path) -> None:
    area = Area(str(project), "/data/nobody", limits=Limits(4096, 20))
    assert "limit of one snapshot" in planned("rm -rf many", project, area=area).why
    assert "limit of one snapshot" in planned("rm big", project, area=area).why
    assert planned("rm -rf d", project, area=area).why == ""


def test_files_of_others_in_a_temporary_folder_are_asked_about(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    area = Area("/data/elsewhere", "/data/nobody")
    assert planned(f"rm -rf {project}/d", project, area=area).why == ""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert "another user" in planned(f"rm -rf {project}/d", project, area=area).why


def test_files_that_a_copy_to_a_folder_replaces_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    run(
        "mkdir -p shop/new/d shop/d; echo 1 > shop/new/d/x; echo 2 > shop/d/x; echo 3 > shop/y; echo 4 > shop/new/z",
        tmp_path,
    )
    for line, named in (
        ("rsync -a new/ .", {"d/x"}),
        ("rsync -a new/d/x y", {"y"}),
        ("curl -so y https://c.example.net/y", {"y"}),
        ("wget -q https://c.example.net/y", {"y"}),
        ("rsync -a --ignore-existing new/ .", set()),
    ):
        verdict = classify(line, cwd=folder, home=Path("/data/nobody"), protected=[], env={})
        found = {os.path.relpath(path, folder) for path in verdict.changes.named}
        assert named == {path for path in found if (folder / path).is_file()}, line


def test_rename_by_case_alone_changes_nothing_where_case_is_ignored(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"mv a A && mv b.t {project}/B.T"
    assert len(planned(line, project).keep) == 4  # two files, and two that they may replace
    there = os.path.lexists

    def ignoring_case(path: str) -> bool:
        folder, name = os.path.split(path)
        return there(path) or (
            os.path.isdir(folder) and name.casefold() in map(str.casefold, os.listdir(folder))
        )

    monkeypatch.setattr(os.path, "lexists", ignoring_case)
    found = planned(line, project)
    assert (found.why, found.keep) == ("", ())
    assert planned("mv a A && rm A", project).why  # the path names something else by then
    assert f"{project}/b.t" in planned("rm B.T", project).keep


BUILT = (
    ("npm run build; rm -rf packages/*/dist packages/*/*.none", ["packages/a/dist", "packages/b/dist"]),
    ("make && rm -rf packages/?/dist", ["packages/a/dist", "packages/b/dist"]),
    ("git pull && rm -rf packages/*/dist", None),
    ("make; rm -rf packages/*", None),  # all of a folder, whatever the build has put there
    ("make; rm -rf packages/a*", None),
    ("make; mv packages/a packages/c; rm -rf packages/*/dist", None),
    ("npm run build && rm -rf packages/*/", None),  # a link may stand there by then
    ("for d in packages/*; do npm run build; rm -rf $d/dist; done", None),
)


@rows("line, deleted", BUILT)
def test_pattern_behind_a_build_stands_for_what_is_there(
    line: str, deleted: list[str] | None, tmp_path: Path
) -> None:
    for name in "ab":
        (tmp_path / "packages" / name / "dist").mkdir(parents=True, exist_ok=True)
        (tmp_path / "packages" / name / "x").touch()
    changes = classify(line, cwd=tmp_path, home=Path("/data"), protected=[]).changes.changes
    if deleted is None:
        assert changes is None
        return
    named = [os.path.relpath(change.path, tmp_path) for change in changes or ()]
    assert [name for name in named if "*" not in name] == deleted
