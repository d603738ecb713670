"""A database is encrypted and decrypted whole or not at all, and opens with its key alone, on every way."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sb.config import Config, database_key, load_config
from sb.errors import ConfigError, StoreError, StoreLocked
from sb.kernel.review.log_verification import verify
from sb.log.event_log import EventLog
from sb.memory import Brain
from sb.store import keys
from sb.store.backup import back_up
from sb.store.database import open_database
from sb.store.encryption import decrypt, encrypt
from tests.conftest import CommandLine

TEXT = "Grace keeps the lighthouse of Zanzibar"


def config_of(home: Path, reference: str) -> Config:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f'database_key: "{reference}"\n', encoding="utf-8")
    return load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home, flags={})


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "database-key"
    file.write_text(secrets.token_hex(32) + "\n", encoding="utf-8")
    file.chmod(0o600)
    return file


@pytest.fixture
def reference(key_file: Path) -> str:
    return f"file:{key_file}"


def filled(config: Config) -> str:
    """A plain database with memories, vectors, gaps and a log; returns the id of a memory."""
    database_key.register(config.database, database_key.NONE)
    with Brain("ada", config=config) as brain:
        uids = [brain.remember(f"{TEXT} on day {number}", force=True) for number in range(30)]
        for uid in uids[5:25]:
            brain.forget(uid, "noise")
        with brain.database.write() as execute:
            for uid in uids[10:15]:
                row = brain.space.records.find(uid)
                assert row is not None
                brain.space.records.erase(execute, [row["id"]], actor="ada", reason="asked for it")
    database_key.register(config.database, config.database_key)
    return uids[0]


def rows(path: Path) -> list[object]:
    """All that a database holds in its own tables."""
    database = open_database(path, create=False)
    try:
        tables = database.query(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY 1"
        )
        return [(name, database.query(f'SELECT * FROM "{name}"')) for (name,) in tables]
    finally:
        database.close()


def encrypted(path: Path) -> bool:
    return not path.read_bytes().startswith(b"SQLite format 3")


def holds(config: Config, text: str) -> bool:
    folder = config.database.parent
    return any(text.encode() in file.read_bytes() for file in folder.glob(f"*{config.database.name}*"))


def test_an_encrypted_database_holds_the_same_and_shows_nothing(home: Path, reference: str) -> None:
    config = config_of(home, reference)
    uid = filled(config)
    before = rows(config.database)
    assert holds(config, "Zanzibar")
    encrypt(config.database, reference)
    assert encrypted(config.database)
    assert rows(config.database) == before
    with Brain("ada", config=config) as brain:
        assert brain.get(uid).content == f"{TEXT} on day 0"
        assert len(brain.search("who keeps the lighthouse", k=3)) == 3
        assert brain.vector_search_disabled_reason == ""
        brain.remember("and what is written since then says Madagascar")
        assert verify(EventLog(brain.database)).ok
        assert not holds(config, "Zanzibar")
        assert not holds(config, "Madagascar")


def test_an_encrypted_database_tells_what_agents_know_and_shows_nothing_of_it(
    home: Path, reference: str
) -> None:
    config = config_of(home, reference)
    uid = filled(config)
    encrypt(config.database, reference)
    with Brain("bob", config=config) as bob, Brain("ada", config=config) as ada:
        bob.get(uid)
        new = ada.correct(uid, "Grace left Zanzibar for Madagascar", "moved")
        ada.handoff("goal", "state", [], "next", recipient="bob")
        known = {item.id: item.knows for item in ada.knows("bob", "Grace in Zanzibar", k=50)}
        assert (known[uid], known[new]) == ("told", "unknown")
        packet = bob.resume()
        assert packet is not None
        assert [(item.id, item.now) for item in packet.outdated] == [(uid, new)]
        assert new in [item.id for item in packet.new]
        assert not holds(config, "Zanzibar")
        assert not holds(config, "Madagascar")


def test_decrypting_gives_back_what_was_encrypted(home: Path, reference: str) -> None:
    config = config_of(home, reference)
    filled(config)
    before = rows(config.database)
    encrypt(config.database, reference)
    decrypt(config.database, reference)
    assert not encrypted(config.database)
    assert rows(config.database) == before
    with pytest.raises(StoreError, match="is not encrypted"):
        decrypt(config.database, reference)


def test_a_new_database_is_encrypted_from_its_first_page(home: Path, reference: str) -> None:
    config = config_of(home, reference)
    with Brain("ada", config=config) as brain:
        brain.remember(TEXT)
        assert encrypted(config.database)
        with brain.database.snapshot() as connection:
            assert connection.execute("SELECT count(*) FROM records").fetchone() == (1,)
    assert not holds(config, "Zanzibar")


def test_a_backup_is_encrypted_as_its_database_is(home: Path, reference: str, tmp_path: Path) -> None:
    config = config_of(home, reference)
    with Brain("ada", config=config) as brain:
        brain.remember(TEXT)
        back_up(brain.database, tmp_path / "copy.db")
    assert encrypted(tmp_path / "copy.db")
    assert rows(tmp_path / "copy.db") == rows(config.database)


def test_a_plain_database_stays_plain_until_it_is_encrypted(
    home: Path, reference: str, tmp_path: Path
) -> None:
    config = config_of(home, reference)
    filled(config)
    database = open_database(config.database)
    back_up(database, tmp_path / "copy.db")
    database.close()
    assert not encrypted(config.database)
    assert not encrypted(tmp_path / "copy.db")


def test_another_key_opens_nothing_and_is_not_said(home: Path, reference: str, key_file: Path) -> None:
    config = config_of(home, reference)
    filled(config)
    encrypt(config.database, reference)
    key_file.write_text(secrets.token_hex(32), encoding="utf-8")
    with pytest.raises(StoreError, match="does not open with the key") as refused:
        open_database(config.database)
    assert key_file.read_text(encoding="utf-8") not in str(refused.value) + str(refused.value.hint)


@pytest.mark.parametrize("wrong", ["", "short", "g" * 64])
def test_what_is_no_key_is_refused_before_anything_is_opened(
    home: Path, key_file: Path, reference: str, wrong: str
) -> None:
    config = config_of(home, reference)
    filled(config)
    key_file.write_text(wrong, encoding="utf-8")
    with pytest.raises(StoreError, match=r"is empty|is not 64 hexadecimal digits") as refused:
        encrypt(config.database, reference)
    assert not wrong or wrong not in str(refused.value)
    assert not encrypted(config.database)


def test_a_key_comes_from_a_variable_a_file_or_a_command(
    monkeypatch: pytest.MonkeyPatch, key_file: Path
) -> None:
    key = key_file.read_text(encoding="utf-8").strip()
    monkeypatch.setenv("SB_TEST_KEY", key)
    assert {
        keys.read_key(item) for item in ("env:SB_TEST_KEY", f"file:{key_file}", f"command:cat {key_file}")
    } == {key}
    for missing in ("env:SB_TEST_NONE", "file:/nowhere/key", "command:false", "command:no-such-program"):
        with pytest.raises(StoreError, match=missing.partition(":")[0]):
            keys.read_key(missing)


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_key_that_others_may_read_is_refused(home: Path, key_file: Path, reference: str, mode: int) -> None:
    config = config_of(home, reference)
    filled(config)
    key_file.chmod(mode)
    with pytest.raises(StoreError, match="open to other users: chmod 600"):
        encrypt(config.database, reference)
    assert not encrypted(config.database)


def test_configuration_takes_a_reference_and_never_a_key(home: Path) -> None:
    for wrong in ("a" * 64, "file:relative", "env:", "https://keys"):
        with pytest.raises(ConfigError, match="database_key"):
            config_of(home, wrong)


def test_a_database_that_is_open_elsewhere_is_left_alone(home: Path, reference: str) -> None:
    config = config_of(home, reference)
    filled(config)
    other = open_database(config.database)
    other.query("SELECT count(*) FROM records")
    with pytest.raises(StoreLocked, match="open in another process"):
        encrypt(config.database, reference)
    assert not encrypted(config.database)
    with other.write() as execute:
        execute("UPDATE records SET strength = 0.5 WHERE state = 'active'")
    other.close()
    encrypt(config.database, reference)
    assert encrypted(config.database)


KILLED = """
import os, signal, sys
from pathlib import Path
from sb.store import encryption
moment, path, reference = sys.argv[1:]
name, when = moment.split()
own = getattr(os, name)
def killing(*arguments, **more):
    if when == "after":
        own(*arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, name, killing)
encryption.encrypt(Path(path), reference)
"""


@pytest.mark.parametrize("moment", ["open before", "fsync before", "replace before", "replace after"])
def test_a_process_that_is_killed_leaves_a_whole_database(home: Path, reference: str, moment: str) -> None:
    config = config_of(home, reference)
    filled(config)
    before = rows(config.database)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, moment, str(config.database), reference],
        check=False,
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert encrypted(config.database) == (moment == "replace after")
    assert rows(config.database) == before
    if moment != "replace after":
        encrypt(config.database, reference)
    assert rows(config.database) == before
    assert sorted(file.name for file in config.database.parent.glob(".*")) == []


def test_a_process_that_waited_for_the_former_file_loses_nothing(home: Path, reference: str) -> None:
    config = config_of(home, reference)
    filled(config)
    descriptor = os.open(config.database, os.O_RDWR)  # the file that a waiting process has opened
    encrypt(config.database, reference)
    assert (
        int.from_bytes(os.pread(descriptor, 4, 60)) > 1_000_000
    )  # its schema's version, which nothing here can use
    os.close(descriptor)


def test_without_the_driver_one_line_says_what_to_install(home: Path, reference: str) -> None:
    config = config_of(home, reference)
    filled(config)
    encrypt(config.database, reference)
    program = (
        "import sys; sys.modules['sqlcipher3'] = None\n"
        "from sb.__main__ import main\nsys.argv = ['sb', 'memory', 'stats']\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env={**os.environ, "SB_HOME": str(home)},
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        f"sb: error: database {config.database} is encrypted, or none; no driver that encrypts is installed",
        "hint: pip install 'secondbrain-sb[sqlcipher]'",
    ]


def test_who_has_no_encrypted_database_never_loads_the_driver(home: Path) -> None:
    program = (
        "import sys; from sb.memory import Brain; b = Brain('ada'); b.remember('the lamp is lit'); b.close();"
        "print('sqlcipher3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_commands_encrypt_and_decrypt_and_doctor_says_which(
    sb: CommandLine, home: Path, reference: str
) -> None:
    config = config_of(home, reference)
    filled(config)

    def finding() -> str:
        [check] = [item for item in sb("doctor", "--json").json["items"] if item["name"] == "encryption"]
        return str(check["detail"])

    assert "is not encrypted, though database_key is set" in finding()
    done = sb("store", "encrypt", "--yes", "--json")
    assert (done.code, done.json["encrypted"]) == (0, True), done.err
    assert finding().startswith("SQLCipher 4")
    assert sb("memory", "search", "lighthouse", "--json").json["items"]
    assert sb("store", "encrypt", "--yes").code != 0
    done = sb("store", "decrypt", "--yes")
    assert (done.code, "take database_key out" in done.err) == (0, True)
    database = open_database(config.database)
    rows = database.query("SELECT kind, payload FROM events WHERE kind LIKE 'store.%' ORDER BY id")
    database.close()
    assert [kind for kind, _ in rows] == ["store.encrypted", "store.decrypted"]
    assert all(reference in payload for _, payload in rows)
    assert sb("store", "encrypt").code == 2
