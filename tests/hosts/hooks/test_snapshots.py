"""Command lines that delete or overwrite in the project: a snapshot is taken, nobody is asked, all of it comes back."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import product
from pathlib import Path
from zipfile import ZipFile

import pytest

from sb.config import Config
from sb.hosts.hooks.event import Decision, HookVerdict
from sb.hosts.hooks.snapshots.scratch import scratch
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Label
from sb.kernel.baselines.seeding import approved_contracts, carry_over, seed_added
from sb.kernel.baselines.seen import SURFACES
from sb.kernel.baselines.store import BaselineStatus, ContractBaselineStore
from sb.kernel.compensation.reversal_guard import NoReversalToken, guard
from sb.kernel.recovery_loop.settling import Settlement, Settling
from sb.present.recovery import NO_UNDO, state_word, why
from sb.present.undo import UNDO, undo_record
from sb.runtime.parts import open_authority, open_log, open_snapshots, shipped_registry
from sb.shell.snapshots.area import Area, Limits, plan
from sb.shell.snapshots.overwriting import Change
from sb.tools.hosted import contracts
from tests.hosts.hooks.conftest import UNWATCHED, Host
from tests.rows import rows

ADA = Label("ada")


def run(host: Host, command: str, use_id: str, **given: object) -> HookVerdict:
    """The agent runs a command line in bash, if it may."""
    verdict = host.before("Bash", use_id, command=command, **given)
    if verdict.decision is Decision.NONE:
        done = subprocess.run(
            ["bash", "-c", command], cwd=host.project, capture_output=True, text=True, check=False
        )
        event = "PostToolUse" if done.returncode == 0 else "PostToolUseFailure"
        fields = (
            {"tool_response": {"stdout": done.stdout}}
            if done.returncode == 0
            else {"error": done.stderr or "failed"}
        )
        host.tell(
            event, tool_name="Bash", tool_use_id=use_id, tool_input={"command": command, **given}, **fields
        )
    return verdict


def bash(command: str, folder: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": "/data/nobody", "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["bash", "-ec", command], cwd=folder, check=True, env=env, capture_output=True)


def tree(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.lstat().st_mode)
        for path in folder.rglob("*")
    }


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside of the temporary ones."""
    monkeypatch.setattr("sb.shell.snapshots.area.temporary_folders", tuple)
    return tmp_path


def undo_all(host: Host) -> list[str]:
    with host.open() as runtime:
        run_id = host.events(limit=1)[0].subject.run_id
        refs = runtime.recovery.mutations.of_run(run_id)
        return [str(undone.state) for undone in runtime.recovery.undo_all(refs, ADA, "not wanted")]


@rows("line", ["rm .env", "unlink .env", "rm -f ./.env"])
def test_file_of_which_no_snapshot_may_be_taken_is_not_deleted_unasked(host: Host, line: str) -> None:
    host.mode = UNWATCHED
    (host.project / ".env").unlink(missing_ok=True)
    assert host.before("Bash", command=line) == HookVerdict()
    (host.project / ".env").write_text("KEY=1\n", encoding="utf-8")
    verdict = host.before("Bash", command=line)
    assert verdict.decision is Decision.DENY
    assert "deletes a file for good (no snapshot: " in verdict.reason


def test_deleted_folder_comes_back_and_nobody_is_asked(host: Host) -> None:
    folder = host.project / "src" / "deep"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_bytes(b"#!/bin/sh\xff\n")
    (folder / "run.sh").chmod(0o750)
    (folder / "link").symlink_to("run.sh")
    (folder / "empty").mkdir()
    assert run(host, "rm -rf src", "t1") == HookVerdict()
    assert not folder.exists()
    assert undo_all(host) == ["reversed"]
    assert (folder / "run.sh").read_bytes() == b"#!/bin/sh\xff\n"
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o750
    assert (folder / "link").readlink().name == "run.sh"
    assert (folder / "empty").is_dir()


def test_what_a_line_overwrites_comes_back(host: Host) -> None:
    (host.project / "cart.py").write_text("total = 1\n")
    (host.project / "old").mkdir()
    (host.project / "old" / "a").write_text("a")
    before = tree(host.project)
    assert run(host, "cp old/a b && echo broken > cart.py && mv old new", "t1") == HookVerdict()
    assert tree(host.project) != before
    assert undo_all(host) == ["reversed"]
    assert tree(host.project) == before


def test_snapshot_has_the_listed_name_where_a_file_system_takes_others_for_it(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cart.py", "Cart.py", "cART.PY", "src", "SRC"):  # as a system that ignores case answers
        (elsewhere / name).mkdir() if "." not in name else (elsewhere / name).write_text("total = 1\n")
    listed = {str(elsewhere): ["cart.py", "src"]}
    names = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path=".": listed.get(str(path)) or names(path))
    changes = [
        Change(f"{elsewhere}/Cart.py"),
        Change(f"{elsewhere}/SRC/new.py"),
        Change(f"{elsewhere}/NEW.py"),
    ]
    paths = plan(changes, Area(str(elsewhere), "/data/nobody")).keep
    assert paths == tuple(f"{elsewhere}/{name}" for name in ("cart.py", "src/new.py", "NEW.py"))


def test_file_overwritten_by_a_name_of_other_case_comes_back(host: Host) -> None:
    (host.project / "cart.py").write_text("total = 1\n")
    if not (host.project / "CART.py").exists():
        pytest.skip("this file system tells names by case")
    assert run(host, "echo broken > CART.py", "t1") == HookVerdict()
    assert undo_all(host) == ["reversed"]
    assert (host.project / "cart.py").read_text() == "total = 1\n"


def test_line_that_fails_half_way_can_be_undone(host: Host) -> None:
    (host.project / "a").write_text("a")
    assert run(host, "rm a && false", "t1") == HookVerdict()
    assert undo_all(host) == ["reversed"]
    assert (host.project / "a").read_text() == "a"


def test_what_changed_since_is_not_overwritten(host: Host) -> None:
    (host.project / "a").write_text("a")
    run(host, "rm -f a", "t1")
    (host.project / "a").write_text("mine")
    assert undo_all(host) != ["reversed"]
    assert (host.project / "a").read_text() == "mine"


def test_undo_record_names_command_and_paths(host: Host) -> None:
    (host.project / "a").write_text("a")
    run(host, "rm -rf a", "t1")
    intent, outcome = host.events(kind="kernel.tool.dispatch")
    assert intent.subject.tool_id == "host.shell.kept"
    args = (intent.payload or {})["args"]
    assert (args["command"], args["paths"]) == ("rm -rf a", [f"{host.project}/a"])
    assert [file["path"] for file in (outcome.payload or {})["result"]["files"]] == [f"{host.project}/a"]


def test_line_that_runs_programs_afterwards_stays_a_network_call(host: Host) -> None:
    (host.project / "dist").mkdir()
    assert run(host, "rm -rf dist && nosuchprogram build", "t1") == HookVerdict()
    assert host.events(kind="kernel.tool.dispatch")[0].subject.tool_id == "host.shell.kept_network"
    host.configure("policy:\n  - deny: host.shell.network\n")
    assert host.before("Bash", "t2", command="rm -rf dist && nosuchprogram").decision is Decision.ASK
    assert host.before("Bash", "t3", command="rm -rf dist") == HookVerdict()


@pytest.mark.parametrize(
    "settings",
    [
        "hooks:\n  keep: false\n",
        "policy:\n  - deny: host.shell.destructive\n",
        "policy:\n  - approve: host.shell.destructive\n",
        "policy:\n  - {approve: 'host.*', classes: [destructive], args: {command: ['rm *']}}\n",
        "policy:\n  - deny: host.shell.kept\n",
        "undo:\n  call_max_files: 3\n",
        "undo:\n  call_max_bytes: 1024\n",
    ],
)
def test_what_binds_destructive_calls_binds_snapshots_too(settings: str, host: Host) -> None:
    host.mode = UNWATCHED
    folder = host.project / "d"
    folder.mkdir()
    for name in "abcd":
        (folder / name).write_text("x" * 1000)
    host.configure(settings)
    assert host.before("Bash", "t2", command="rm -rf d").decision is Decision.DENY


def test_rule_for_destructive_calls_leaves_ordinary_writes_alone(host: Host) -> None:
    host.configure("policy:\n  - deny: host.shell.destructive\n")
    assert run(host, "echo x > a", "t1") == HookVerdict()
    host.configure("policy:\n  - deny: host.shell.write\n")
    assert host.before("Bash", "t2", command="echo x > a").decision is Decision.DENY


def test_kill_of_destructive_calls_stops_snapshots_too(host: Host) -> None:
    with host.open() as runtime:
        runtime.kill.throw("tool", "host.shell.destructive", ADA, "stop", wait_s=0)
    assert "stop" in host.before("Bash", "t1", command="rm -rf d").reason


def test_denied_line_stays_denied_where_a_snapshot_could_be_taken_by_now(host: Host) -> None:
    host.mode = UNWATCHED
    host.configure("hooks:\n  keep: false\n")
    assert "Needs approval" in host.before("Bash", "t1", command="rm -rf d").reason
    with host.open() as runtime:
        (waiting,) = runtime.approvals.page()
        runtime.approvals.deny(waiting.id, ADA, "d stays")
    host.configure("")
    assert "d stays" in host.before("Bash", "t2", command="rm -rf d").reason
    assert host.before("Bash", "t3", command="rm -rf e") == HookVerdict()


def test_full_store_asks_and_says_so(host: Host) -> None:
    host.mode = UNWATCHED
    host.configure("undo:\n  store_max_bytes: 1048576\n")
    (host.project / "noise").write_bytes(os.urandom(400_000))
    verdict = host.before("Bash", "t1", command="rm -rf noise")
    assert verdict.decision is Decision.DENY
    assert "Needs approval" in verdict.reason
    assert "the session's share of the snapshot store is full" in verdict.reason
    for command in ("echo x > noise", "rm noise", "cp noise noise2 && rm noise"):
        assert "is full" in host.before("Bash", command, command=command).reason
    assert (
        host.before("Bash", "t3", command="pytest > noise") == HookVerdict()
    )  # not all of it could be undone anyway


def test_project_is_the_one_of_the_first_event(host: Host, elsewhere: Path) -> None:
    project = elsewhere / "work"
    (project / "sub").mkdir(parents=True)
    (project / "sub" / "a").write_text("a")
    host.project = project / "sub"
    host.tell("SessionStart", source="startup")
    assert host.before("Bash", "t1", command="rm -f a") == HookVerdict()
    assert host.before("Bash", "t2", command=f"rm -rf {project}/other").decision is Decision.ASK
    (project / ".git").mkdir()
    host.project = project
    assert host.before("Bash", "t3", command=f"rm -rf {project}/other").decision is Decision.ASK


def test_command_in_the_background_is_asked(host: Host) -> None:
    assert host.before("Bash", "t1", command="rm -rf d", run_in_background=True).decision is Decision.ASK


SCRATCH = """
git init -q . && printf 'node_modules/\\n' > .gitignore && echo x > a && git add -A && git commit -qm one
mkdir -p node_modules/x && for i in $(seq 30); do echo $i > node_modules/x/$i; done
"""


@pytest.mark.parametrize(
    ("prepared", "free"),
    [
        ("true", True),
        ("touch node_modules/.env", False),
        ("mkdir node_modules/x/.git", False),
        ("echo x >> .gitignore", False),
        ("git add -f node_modules/x/1", False),
        ("mv node_modules src; mkdir dist; mv src dist", False),
        ("printf 'node_modules/\\n!node_modules\\n' > .gitignore; git commit -qam two", False),
        ("printf '/dist\\n' > .gitignore; git commit -qam two", False),
    ],
)
def test_folder_that_a_build_makes_goes_without_snapshot(prepared: str, free: bool, tmp_path: Path) -> None:
    project = tmp_path / "work"
    project.mkdir()
    bash(SCRATCH + prepared, project)
    built = project / "node_modules"
    begun = built.lstat().st_ctime + 1 if built.exists() else 0.0
    area = Area(
        str(project), "/data/nobody", scratch=scratch(str(project), begun), limits=Limits(max_files=20)
    )
    changes = [Change(str(project / name), tree=True, removed=True) for name in ("node_modules", "dist")]
    found = plan(changes, area)
    assert (found.why == "") is free
    assert found.let_go == ((str(built),) if free else ())


def test_folder_renamed_in_the_session_is_no_scratch(host: Host, elsewhere: Path) -> None:
    host.project = elsewhere / "work"
    host.project.mkdir()
    bash(SCRATCH + "mv node_modules src", host.project)
    host.configure("undo:\n  call_max_files: 20\n")
    bash(
        "mkdir build && for i in $(seq 30); do echo $i > build/$i; done; printf 'node_modules\\nbuild\\n' > .gitignore",
        host.project,
    )
    bash("git add .gitignore && git commit -qm two", host.project)
    host.tell("SessionStart", source="startup")
    run(host, "rm -rf build", "t0")
    assert undo_all(host) == []  # nothing of it was stored
    with host.open() as runtime:
        [ref] = runtime.recovery.mutations.of_run(host.events(limit=1)[0].subject.run_id)
        assert (state_word(ref, 0), why(ref, 0)) == (NO_UNDO, "it changed nothing that was stored")
        with pytest.raises(NoReversalToken, match="changed nothing that was stored"):
            guard(runtime.recovery.mutations, ref.call_id, 0)
    run(host, "mv src node_modules", "t1")
    assert host.before("Bash", "t2", command="rm -rf node_modules").decision is Decision.ASK


def test_upgrade_approves_new_contracts_in_homes_that_exist(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(host.home)  # the earlier version makes it
    host.configure("contract_enforcement: enforce\n")
    register, config = contracts._register_kept, host.config()
    with monkeypatch.context() as earlier:
        earlier.setattr(contracts, "_register_kept", lambda registry, files: None)
        host.tell("SessionStart", source="startup")
        assert _status(config) is BaselineStatus.NEW
    assert contracts._register_kept is register
    assert run(host, "rm -rf d", "t1") == HookVerdict()
    assert _status(config) is not BaselineStatus.NEW


def test_upgrade_needs_a_signature_where_an_operator_is_enrolled(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(host.home)  # the earlier version makes it
    host.configure("contract_enforcement: enforce\n")
    config = host.config()
    with monkeypatch.context() as earlier:
        earlier.setattr(contracts, "_register_kept", lambda registry, files: None)
        host.tell("SessionStart", source="startup")
        log = open_log(config)
        authority = open_authority(config, log)
        stores = [ContractBaselineStore(log, authority, surface) for surface in SURFACES]
        approved = [approved_contracts(store) for store in stores]
        ada = Enrolment(authority, KeyFolder(config.home.keys)).init("ada", None)
        assert ada is not None
        for store, fingerprints in zip(stores, approved, strict=True):
            carry_over(store, fingerprints, ada)
    assert "Needs approval" in host.before("Bash", "t1", command="rm -rf d").reason
    for store in stores:
        seed_added(store, ada, lambda: shipped_registry(config))
    assert host.before("Bash", "t2", command="rm -rf d") == HookVerdict()


def _status(config: Config) -> BaselineStatus:
    log = open_log(config)
    return ContractBaselineStore(log, open_authority(config, log)).status("host.shell.kept", "")[0]


NAMED = [
    "sort a -o b",
    "gzip a",
    "ln -sf a b",
    "rm a & wait",
    "mv a b && mv b 'c d'",
    "for f in a b; do mv $f d; done",
    "for f in a b; do cp $f d/x; done",
    "true && rm a; no-such-program",
    "cp a /no-such-folder/x; rm a",
    "sed -i '1w b' a",
    "python3 -c \"import os; os.replace('a', 'b')\"",
    "no-such-program > a",
    "mv -b a b",
]


@pytest.mark.parametrize("command", NAMED)
def test_files_that_a_line_names_come_back_where_its_other_changes_are_not_known(
    host: Host, command: str
) -> None:
    bash("echo 1 > a; echo 2 > b; echo 3 > 'c d'; mkdir d; echo x > d/x; chmod 640 a", host.project)
    before = tree(host.project)
    assert run(host, command, "t1") == HookVerdict()
    assert tree(host.project) != before
    assert undo_all(host) == ["reversed"]
    assert before.items() <= tree(host.project).items()


@pytest.mark.parametrize(
    "command", ["cp -r d/. o", "cp -a d/. o/d", "cp -r ./d/. ./o/.", "cp -r o/d .", "mv o/d/y ."]
)
def test_folder_copied_over_another_comes_back_and_what_was_added_goes(host: Host, command: str) -> None:
    bash(
        "mkdir -p d/e o/d; echo 1 > d/x; echo 2 > o/d/x; echo 3 > o/x; echo 4 > o/d/y; echo 5 > y",
        host.project,
    )
    before = tree(host.project)
    assert run(host, command, "t1") == HookVerdict()
    assert tree(host.project) != before
    assert undo_all(host) == ["reversed"]
    assert tree(host.project) == before


def test_line_that_changed_none_of_the_files_that_it_names_has_no_undo(host: Host) -> None:
    bash("echo 1 > a", host.project)
    run(host, "tar czf new.tgz a", "t1")
    run(host, "sort a -o a", "t2")
    run(host, "sort /dev/null -o a", "t3")
    assert undo_states(host) == ["in part", "no", "no"]


def undo_states(host: Host) -> list[str]:
    with host.open() as runtime:
        store, snapshots = runtime.recovery.mutations, open_snapshots(runtime.config)
        shown = [undo_record(ref, runtime.log, snapshots) for ref in store.newest(limit=9)]
        return [UNDO.text(record, store.now(), "undo") for record in shown]


@pytest.mark.parametrize(
    "command", ["rm .git/index", "mv .git x", "echo x > .git/HEAD", "cp a .git/refs/heads/main"]
)
def test_repositorys_own_files_are_changed_by_git_alone(host: Host, command: str) -> None:
    bash("echo 1 > a; rmdir .git; git init -q; git add a; git commit -qm one", host.project)
    assert host.before("Bash", "t1", command=command).decision is Decision.ASK
    assert host.before("Bash", "t2", command="rm -f .git/index.lock") == HookVerdict()


def test_line_whose_report_was_lost_is_settled_by_its_snapshot_and_undone(host: Host) -> None:
    bash("mkdir d; echo 1 > d/x", host.project)
    before = tree(host.project)
    assert host.before("Bash", "t1", command="rm -rf d") == HookVerdict()
    bash("rm -rf d", host.project)
    host.tell("Stop")  # the host was killed before it could report
    with host.open() as runtime:
        (doubtful,) = runtime.executor.in_doubt()
        assert Settling(runtime.recovery).probe(doubtful.call_id) is Settlement.DONE
    assert undo_all(host) == ["reversed"]
    assert tree(host.project) == before


REPLACING = [
    "tar xf ../old.tar",
    "tar -xf ../old.tar --strip-components=1 -C d",
    "unzip -qo ../old.zip",
    "patch -p1 < ../a.patch",
    "patch -p1 -i ../a.patch",
    "git apply ../a.patch",
    "cp ../new/a a; tar xf ../old.tar",
]


@pytest.mark.parametrize("command", REPLACING)
def test_files_that_an_archive_or_a_patch_replaces_come_back(host: Host, command: str) -> None:
    with ZipFile(host.project.parent / "old.zip", "w") as archive:
        archive.writestr("a", "5\n")
        archive.writestr("d/x", "6\n")
    bash(
        "rmdir .git; git init -q; mkdir d; echo 1 > a; echo 2 > d/x; echo 3 > x; mkdir ../new; echo new > ../new/a;"
        "echo 5 > a; echo 6 > d/x; tar cf ../old.tar a d; "
        "echo 1 > a; echo 2 > d/x; printf -- '--- a/a\\n+++ b/a\\n@@ -1 +1 @@\\n-1\\n+patched\\n' > ../a.patch",
        host.project,
    )
    before = tree(host.project)
    assert run(host, command, "t1") == HookVerdict()
    assert tree(host.project) != before
    assert undo_all(host) == ["reversed"]
    assert before.items() <= tree(host.project).items()


def test_archive_that_replaces_more_than_a_snapshot_holds_asks_nobody(host: Host) -> None:
    bash("head -c 40000000 /dev/zero > big; tar cf ../old.tar big", host.project)
    assert host.before("Bash", command="tar xf ../old.tar") == HookVerdict()


OUTSIDE = [
    "echo x > {}",
    "cp a {}",
    "mv a {}",
    "tee {} < a",
    "truncate -s 0 {}",
    "sed -i d {}",
    "sed -i 's/abc/x/;d' {}",
    "perl -pi -e '$_=1' {} 's/abc/x/'",
    "cp a {}*",
    "for f in {}; do echo > $f; done",
    "curl -so {} https://c.example.net/x",
    "make > {}",
    "rm -rf old && curl -so {} https://c.example.net/x",
    "rsync -a a {}",
    "ln -sf a {}",
    "[ -f {} ] && cp a {}",
    "! [ ! -f {} ] && cp a {}",
    "[ -f {} ] || true && cp a {}",
    "if [ ! -f {} ]; true; then cp a {}; fi",
    "if [ ! -f {} ]; then true; else cp a {}; fi",
    "python3 -c \"open('{}', 'w').write('x')\"",
]


@rows("command, target", product(OUTSIDE, [".env", "config/server.pem", "../mine.txt"]))
def test_content_of_which_no_snapshot_may_be_taken_is_not_overwritten_unasked(
    host: Host, elsewhere: Path, command: str, target: str
) -> None:
    (host.project / "config").mkdir(exist_ok=True)
    (host.project / "a").write_text("1\n", encoding="utf-8")
    (host.project / target).unlink(missing_ok=True)
    line = command.replace("{}", target)
    fresh = host.before("Bash", command=line)
    assert "(no snapshot: " not in fresh.reason  # there is nothing to lose yet
    (host.project / target).write_text("KEY=1\n", encoding="utf-8")
    verdict = host.before("Bash", command=line)
    assert verdict.decision is not Decision.NONE
    assert any(why in verdict.reason for why in ("overwrites ", "reads ", "(no snapshot: "))


@rows(
    "command",
    [
        "echo B=2 >> .env",
        "printf 'B=2' | tee -a .env",
        "sed -i 's/^PORT=.*/PORT=4000/' .env",
        "touch .env",
        "sed -i '$a A=1' .env",
        "perl -pi -e 's/PORT=1/PORT=2/g' .env",
        "ssh c.example.net 'echo x > .env'",
        "docker exec web sh -c 'echo x > .env'",
        "mv .env .env.local",
        "echo x >> ../mine.txt",
        "echo x > ../new.txt",
        "python3 -c \"open('../mine.txt', 'a').write('x')\"",
        "cat a >> a.log",
        "echo x > a",
        "[ -f .env ] || cp a .env",
        "[ ! -e .env ] && cp a .env",
        "test -f ../mine.txt || echo x > ../mine.txt",
        "if [[ ! -f .env ]]; then cp a .env; fi",
        "cp -n a .env",
    ],
)
def test_line_that_adds_to_a_file_or_replaces_a_text_that_it_names_asks_nobody(
    host: Host, elsewhere: Path, command: str
) -> None:
    bash("echo 1 > a; echo x > a.log; echo PORT=1 > .env; echo 1 > ../mine.txt", host.project)
    assert host.before("Bash", command=command) == HookVerdict()
