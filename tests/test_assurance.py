"""Levels of assurance: each attempt to decide in an operator's place, at each level, and what becomes of it.

The attempts use what an attacker has: the same code on the same database, SQL, the files of the home, another user's rights.
docs/concepts/security.md, "What each level stops", names these tests.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pytest

from sb.base.sources import SteeredClock
from sb.errors import DeniedError, SBError
from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry, ToolResult
from sb.kernel.authority.authority import Assurance, Authority
from sb.kernel.authority.enrolment import Enrolment, decider
from sb.kernel.authority.keys import KeyFolder, make_key
from sb.kernel.authority.root_file import RootFile, Roster, new_entry
from sb.kernel.authority.signing import Decider, Label, Operator
from sb.log.event_log import EventLog
from sb.store import driver
from sb.store.database import open_database
from tests.conftest import CommandLine

PASSPHRASE = "correct horse"
AGENT = 65_534  # a user who owns nothing else


class House:
    """A home, and an agent who would like to pay without anybody's consent.

    Args:
        operators: the file that pins who may decide, where it is not in the home.
    """

    def __init__(self, folder: Path, clock: SteeredClock, operators: Path | None = None) -> None:
        self.folder, self.clock = folder, clock
        self.database = folder / "brain.db"
        self.keys = KeyFolder(folder / "keys")
        self.log = EventLog(open_database(self.database, clock=clock), clock=clock)
        self.authority = Authority(operators or folder / "operators.json", self.log)
        self.enrolment = Enrolment(self.authority, self.keys)
        self.paid: list[str] = []
        self.numbers = itertools.count(1)
        registry = ToolRegistry()
        registry.register_fn("bank.pay", "Pay", self.pay, SafetyClass.DESTRUCTIVE)
        self.executor = ToolExecutor(registry, event_log=self.log, authority=self.authority, clock=clock)

    def pay(self, to: str) -> str:
        self.paid.append(to)
        return to

    def call(self, to: str = "mallory") -> ToolResult:
        return self.executor.execute(RunContext.create("clerk"), "bank.pay", {"to": to})

    def ask(self, to: str = "mallory") -> str:
        return str(self.call(to).data["approval_id"])

    def level(self) -> Assurance:
        return self.authority.assurance(self.keys)

    def counts(self, decide: Callable[[str], object]) -> bool:
        """True if a call runs once this was done about its request."""
        to = f"mallory {next(self.numbers)}"
        decide(self.ask(to))
        return self.call(to).success

    # What an attacker does

    def by_sql(self, approval: str) -> None:
        """Only the row: no event, no signature."""
        connection = driver.connect(self.database)
        connection.execute("UPDATE approvals SET state = 'approved', decided_by = 'ada', reason = 'fine'")
        connection.commit()
        connection.close()

    def forged(self, by: Decider, operators: Path | None = None) -> Callable[[str], object]:
        """All that a decision leaves behind, with the kernel's own code, which is told of other operators."""

        def decide(approval: str) -> None:
            log = EventLog(open_database(self.database, clock=self.clock), clock=self.clock)
            mine = ToolExecutor(
                ToolRegistry(), event_log=log, authority=Authority(operators), clock=self.clock
            )
            mine.approvals.approve(approval, by, "forged")
            log.close()

        return decide

    def signed_by(self, by: Decider) -> Callable[[str], object]:
        return lambda approval: self.executor.approvals.approve(approval, by, "fine")


@pytest.fixture
def house(tmp_path: Path, clock: SteeredClock) -> House:
    return House(tmp_path, clock)


@pytest.fixture
def stranger(tmp_path: Path) -> tuple[Operator, Path]:
    """A key of the attacker's own, and an operators file that pins it."""
    _, by = make_key("ada", None)
    path = tmp_path / "elsewhere" / "operators.json"
    path.parent.mkdir()
    RootFile(path).write(Roster().extended(new_entry(Roster(), "root", "ada", by.public_key, "2026", by)))
    return by, path


class TestNobodyEnrolled:
    def test_whoever_can_write_the_database_decides_and_it_counts(self, house: House) -> None:
        assert house.level() is Assurance.NONE
        assert house.counts(house.forged(Label("ada")))
        assert house.paid == ["mallory 1"]

    def test_a_row_that_was_edited_without_its_event_decides_nothing(self, house: House) -> None:
        assert not house.counts(house.by_sql)
        assert not house.paid

    def test_the_agent_does_not_decide_under_its_own_name(self, house: House) -> None:
        with pytest.raises(DeniedError, match="asked for it"):
            house.counts(house.signed_by(Label("clerk")))
        assert not house.paid


class TestKeyWithoutPassphrase:
    @pytest.fixture
    def enrolled(self, house: House) -> House:
        house.enrolment.init("ada", None)
        assert house.level() is Assurance.SIGNED
        return house

    def test_whoever_can_read_the_key_file_decides_and_it_counts(self, enrolled: House) -> None:
        stolen = enrolled.keys.read("ada").unlock("")
        assert enrolled.counts(enrolled.forged(stolen, enrolled.folder / "operators.json"))
        assert enrolled.paid == ["mallory 1"]

    def test_whoever_has_only_the_database_decides_nothing(
        self, enrolled: House, stranger: tuple[Operator, Path]
    ) -> None:
        by, path = stranger
        assert not enrolled.counts(enrolled.by_sql)
        assert not enrolled.counts(enrolled.forged(Label("ada")))
        assert not enrolled.counts(enrolled.forged(by, path))
        assert not enrolled.paid


class TestKeyWithPassphrase:
    @pytest.fixture
    def enrolled(self, house: House) -> House:
        house.enrolment.init("ada", PASSPHRASE)
        assert house.level() is Assurance.PASSPHRASE
        return house

    def test_the_key_file_is_worth_nothing_without_the_passphrase(self, enrolled: House) -> None:
        file = enrolled.keys.read("ada")
        assert file.locked
        for guess in ("", "correct", "horse correct"):
            with pytest.raises(DeniedError, match="not the passphrase"):
                file.unlock(guess)
        assert enrolled.counts(
            enrolled.signed_by(decider(enrolled.authority, enrolled.keys, "", lambda prompt: PASSPHRASE))
        )

    def test_another_operators_file_in_its_place_stops_every_decision(
        self, enrolled: House, stranger: tuple[Operator, Path]
    ) -> None:
        by, path = stranger
        shutil.copy(path, enrolled.folder / "operators.json")
        assert not enrolled.counts(enrolled.forged(by, path))
        approval = enrolled.ask("bob")
        enrolled.forged(by, path)(approval)
        assert "begins with another key" in enrolled.call("bob").error_message
        assert not enrolled.paid

    def test_without_the_operators_file_nobody_counts_as_enrolled_by_itself(self, enrolled: House) -> None:
        (enrolled.folder / "operators.json").unlink()
        assert not enrolled.counts(enrolled.forged(Label("ada")))
        assert not enrolled.paid

    def test_whoever_can_write_the_home_replaces_the_operators_and_the_log_says_so(
        self, enrolled: House
    ) -> None:
        before = enrolled.ask()
        ada = decider(enrolled.authority, enrolled.keys, "", lambda prompt: PASSPHRASE)
        enrolled.signed_by(ada)(before)
        mallory, _ = enrolled.enrolment.replace("mallory", None, "the key was lost")
        assert not enrolled.call().success  # what was signed before counts no more
        assert enrolled.counts(enrolled.forged(mallory, enrolled.folder / "operators.json"))
        payloads = [event.payload or {} for event in enrolled.log.events(kind="operator.changed")]
        assert (payloads[-1]["how"], payloads[-1]["name"]) == ("replaced", "mallory")
        assert enrolled.level() is Assurance.SIGNED


def test_doctor_names_an_operators_file_that_was_put_in_place(
    sb: CommandLine, home: Path, stranger: tuple[Operator, Path]
) -> None:
    sb("init")
    assert sb("operator", "init", "ada", "--no-passphrase").code == 0
    shutil.copy(stranger[1], home / "operators.json")
    done = sb("doctor")
    assert done.code != 0
    assert "is not the one on the log" in done.out + done.err


@contextmanager
def acting_as(user: int) -> Iterator[None]:
    """Have the rights of another user, as `os.access` sees them too."""
    os.setresuid(user, user, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become another user")
class TestAgentAsAnotherUser:
    @pytest.fixture
    def separate(self, clock: SteeredClock) -> Iterator[House]:
        """The home is the agent's own; the operators file is root's, in a folder that all can read."""
        top = Path(mkdtemp())
        top.chmod(0o755)
        shared, home = top / "etc", top / "home"
        shared.mkdir(mode=0o755)
        home.mkdir()
        house = House(home, clock, shared / "operators.json")
        keys = KeyFolder(top / "ada")  # the operator's own, who is not the agent
        Enrolment(house.authority, keys).init("ada", None)
        self.ada = decider(house.authority, keys, "ada", lambda prompt: "")
        (shared / "operators.json").chmod(0o644)
        for path in (home, *home.rglob("*")):
            os.chown(path, AGENT, AGENT)
        yield house
        house.log.close()
        shutil.rmtree(top)

    def test_the_operators_file_can_be_neither_written_nor_replaced(
        self, separate: House, stranger: tuple[Operator, Path]
    ) -> None:
        by, mine = stranger
        path = separate.folder.parent / "etc" / "operators.json"
        before, fake = path.read_bytes(), mine.read_bytes()
        own = separate.folder / "operators.json"
        attempts: list[Callable[[], object]] = [
            lambda: path.write_bytes(fake),
            path.unlink,
            lambda: own.rename(path),
            lambda: path.rename(own),
            lambda: path.parent.rename(separate.folder / "etc"),
            lambda: (path.parent / "x").symlink_to(own),
            lambda: path.chmod(0o666),
            lambda: separate.enrolment.replace("mallory", None, "the key was lost"),
        ]
        with acting_as(AGENT):
            assert separate.level() is Assurance.SEPARATE
            own.write_bytes(fake)
            for attempt in attempts:
                with pytest.raises((OSError, SBError)):
                    attempt()
            assert not separate.counts(separate.forged(Label("ada")))
            assert not separate.counts(separate.forged(by, own))
            assert not separate.counts(separate.by_sql)
        assert path.read_bytes() == before
        assert separate.counts(separate.signed_by(self.ada))

    def test_whoever_owns_the_database_can_hide_a_request_and_gains_nothing_by_it(
        self, separate: House
    ) -> None:
        approval = separate.ask()
        with acting_as(AGENT):
            connection = driver.connect(separate.database)
            connection.execute("DELETE FROM approvals")
            connection.commit()
            connection.close()
        with pytest.raises(SBError):
            separate.signed_by(self.ada)(approval)
        assert not separate.call().success
        assert not separate.paid
