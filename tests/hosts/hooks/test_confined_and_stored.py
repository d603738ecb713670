"""Lines that destroy, in confinement: what is stored first needs no question, and what is not still asks."""

from __future__ import annotations

import sys

import pytest

from sb.hosts.hooks.event import Decision, HookVerdict
from tests.hosts.hooks.conftest import Host
from tests.hosts.hooks.test_snapshots import bash, undo_all
from tests.rows import rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a program for Linux")

FILES = """rmdir .git; git init -q -b main; mkdir -p packages/a/dist packages/b/dist packages/a/src data scripts
for n in a b; do echo one > packages/$n/dist/x.js; echo one > packages/$n/index.js; echo one > packages/$n/t.tsbuildinfo; done
printf 'dist\\n*.db\\n.env\\n*.tsbuildinfo\\n' > .gitignore; echo KEY=1 > .env; echo KEY=1 > packages/a/.env; echo one > data/raw.csv
git add .; git commit -qm one"""


DATABASE = b"SQLite format 3\0 create table staging(a)"


@pytest.fixture
def monorepo(apart: Host) -> Host:
    """A repository with ignored output of builds, an ignored database and ignored credentials."""
    bash(FILES, apart.project)
    (apart.project / "data" / "shop.db").write_bytes(DATABASE)
    return apart


PYTHON = "python3 -c \"import sqlite3; db = sqlite3.connect('{}'); db.execute('drop table staging')\""
SILENT = (
    "npx rimraf packages/a/dist",
    'npx rimraf "packages/*/dist" --glob',
    "rimraf packages/a/dist packages/b/dist",
    "npx -y del-cli packages/a/dist",
    "npx shx rm -rf packages/a/dist",
    "git mv packages/b packages/c && rm -rf packages/*/dist packages/*/*.tsbuildinfo",
    "mv packages/b packages/c; rm -rf packages/*/dist && ls",
    "cd scripts && rm ../data/raw.csv; cd ..; python3 x.py",
    'cd scripts && kill "$(cat ../data/raw.csv)" && rm ../data/raw.csv; cd ..; ls',
    'sqlite3 data/shop.db "drop table if exists staging"',
    'cd data && sqlite3 -batch shop.db "DROP TABLE staging; select 1"',
    "sqlite3 :memory: 'create table t(a); drop table t'",
    PYTHON.format("data/shop.db"),
    PYTHON.format(":memory:"),
)


@rows("line", SILENT)
def test_line_whose_losses_are_stored_asks_nobody(line: str, monorepo: Host) -> None:
    assert monorepo.before("Bash", command=line).reason == ""


ASKING = (
    "npx rimraf .env",
    "npx rimraf packages/a/.env",
    "npx shx rm -rf .env",
    "npx del-cli packages/a/.env data/raw.csv",
    "npx rimraf /srv/other packages/a/dist",
    "npx rimraf /srv/x",
    'npx rimraf "$X"',
    "npx rimraf .git",
    'npx rimraf "packages/*" --glob',
    "npx rimraf --config x.json dist",
    "git mv packages/b packages/c && rm -rf packages/*",
    "git mv packages/b packages/c && rm -rf packages/*/.env",
    "git mv packages/b packages/c && rm -rf ~/*/dist",
    "git mv packages/b packages/c && rm -rf /srv/*/dist",
    "git mv packages/b packages/c && rm -rf packages/*/$X",
    "git mv packages/b packages/c && rm -rf packages/*/.git",
    'cd scripts && rm ../../x.csv "$X"/raw.csv',
    'sqlite3 ../shop.db "drop table staging"',
    'sqlite3 "$DB" "drop table staging"',
    'sqlite3 data/none.db "drop table staging"',
    "sqlite3 data/shop.db \"attach '/srv/x.db' as x; drop table x.staging\"",
    'sqlite3 data/shop.db ".shell rm -rf $X" "drop table staging"',
    'sqlite3 "file:/srv/x.db?mode=rw" "drop table staging"',
    'psql -c "drop table staging"',
    "ssh host 'git reset --hard'",
    "ssh host 'cd ~/work && git reset --hard && git pull'",
    "sshpass -p x ssh host 'cd data && rm -rf raw.csv; sqlite3 shop.db \"drop table staging\"'",
    "ssh host 'npx rimraf packages/a/dist'",
    'psql -h localhost shop -c "drop table staging"',
    PYTHON.format("/srv/shop.db"),
    "python3 -c \"import psycopg; db = psycopg.connect('data/shop.db'); db.execute('drop table staging')\"",
    "python3 -c \"import sqlite3, psycopg; db = sqlite3.connect('data/shop.db'); psycopg.connect('x').execute('drop table staging')\"",
    "python3 -c \"import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('drop table staging')\" x",
    "python3 -c \"import sqlite3 as q; from shop import db; q.connect('data/shop.db'); db.execute('drop table staging')\"",
)


@rows("line", ASKING)
def test_line_with_a_loss_that_is_not_stored_asks(line: str, monorepo: Host) -> None:
    assert monorepo.before("Bash", command=line).decision is not Decision.NONE


@rows("command", ["sqlite3 data/shop.db 'drop table staging'", PYTHON.format("data/shop.db")])
def test_dropped_table_of_an_ignored_database_comes_back(command: str, monorepo: Host) -> None:
    path = monorepo.project / "data" / "shop.db"
    assert monorepo.before("Bash", command, command=command).reason == ""
    path.write_bytes(DATABASE.replace(b"staging", b"readings"))
    monorepo.after("Bash", command, {"stdout": ""}, command=command)
    assert undo_all(monorepo)[-1] == "reversed"
    assert path.read_bytes() == DATABASE


def test_ignored_output_that_rimraf_deletes_comes_back(monorepo: Host) -> None:
    line = "npx rimraf packages/a/dist"
    assert monorepo.before("Bash", "t1", command=line).reason == ""
    bash("rm -rf packages/a/dist", monorepo.project)
    monorepo.after("Bash", "t1", {"stdout": ""}, command=line)
    undo_all(monorepo)
    assert (monorepo.project / "packages" / "a" / "dist" / "x.js").read_text() == "one\n"


@rows("command", ["yarn --version", "ldd ./x", "poetry show", "pytest --help", "python3 -m pytest --version"])
def test_code_of_the_project_that_runs_for_a_help_text_is_undone(command: str, monorepo: Host) -> None:
    path = monorepo.project / "packages" / "a" / "index.js"
    assert monorepo.before("Bash", command, command=command) == HookVerdict()
    path.write_text("two\n")
    monorepo.after("Bash", command, {"stdout": ""}, command=command)
    assert undo_all(monorepo)[-1] == "reversed"
    assert path.read_text() == "one\n"
