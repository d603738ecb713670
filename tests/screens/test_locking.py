"""The lock of the operator's key: by a command, and by itself once nobody is there."""

from __future__ import annotations

import pytest
from sb.screens.dialogs import PassphraseScreen
from textual.pilot import Pilot
from textual.widgets import Input

from sb.config import current_config
from sb.kernel.authority.authority import Authority
from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from tests.screens.conftest import Agents, Console
from tests.screens.steps import ask, give

PASSPHRASE = "correct horse battery"
MINUTES = 15


def enrol(agents: Agents, passphrase: str | None = PASSPHRASE) -> None:
    config = current_config()
    authority = Authority(config.operators.file, agents.runtime.log)
    ada = Enrolment(authority, KeyFolder(config.home.keys)).init("ada", passphrase)
    assert ada is not None
    agents.runtime.baselines.approve(agents.contracts(), ada)


async def deny(console: Console, pilot: Pilot[None], *, passphrase: bool) -> None:
    """Deny the request under the cursor; fails unless the passphrase is asked for when it should be."""
    await ask(console, pilot, "d")
    await give(console, pilot, "no")
    console.app.simulate_key("y")
    if passphrase:
        await console.asks(pilot)
        console.app.screen.query_one(Input).value = PASSPHRASE
        console.app.simulate_key("enter")
    await console.says(pilot, "Denied: ")
    assert not isinstance(console.app.screen, PassphraseScreen)


async def lock(console: Console, pilot: Pilot[None]) -> None:
    await console.press(pilot, "colon", *"lock the key", "enter")


def test_a_locked_key_asks_for_its_passphrase_again(agents: Agents, console: Console) -> None:
    enrol(agents)
    for to in ("ann", "bob", "eve"):
        agents.pay(to, agent=to)

    async def script(pilot: Pilot[None]) -> None:
        await lock(console, pilot)
        await console.says(pilot, "nothing to lock")
        await deny(console, pilot, passphrase=True)
        await deny(console, pilot, passphrase=False)
        assert "locked" not in console.text().split("\n")[0]
        await lock(console, pilot)
        await console.says(pilot, "locked")
        assert "ada locked" in console.text().split("\n")[0]
        await deny(console, pilot, passphrase=True)
        await console.until(pilot, lambda: "locked" not in console.text().split("\n")[0])

    console(script, (120, 36))


@pytest.mark.parametrize("minutes", [MINUTES, 0])
def test_the_key_locks_by_itself_once_nobody_is_there(agents: Agents, console: Console, minutes: int) -> None:
    enrol(agents)
    for to in ("ann", "bob"):
        agents.pay(to, agent=to)
    if minutes != MINUTES:
        console.records.config.home.folder.joinpath("config.yaml").write_text(
            f"database: brain.db\nfiles: {{roots: []}}\nconsole: {{lock_after_min: {minutes}}}\n",
            encoding="utf-8",
        )
        console.records.config = current_config()

    async def script(pilot: Pilot[None]) -> None:
        await deny(console, pilot, passphrase=True)
        agents.clock.time += 60 * MINUTES - 5
        await console.press(pilot, "j")
        agents.clock.time += 60 * MINUTES - 5
        console.app._tick()
        assert "locked" not in console.text().split("\n")[0], "a key was pressed meanwhile"
        agents.clock.time += 10
        console.app._tick()
        await console.until(pilot, lambda: ("ada locked" in console.text()) == bool(minutes))
        await deny(console, pilot, passphrase=bool(minutes))

    console(script, (120, 36))


def test_a_key_without_a_passphrase_has_nothing_to_lock(agents: Agents, console: Console) -> None:
    enrol(agents, None)
    agents.pay()

    async def script(pilot: Pilot[None]) -> None:
        await deny(console, pilot, passphrase=False)
        await lock(console, pilot)
        await console.says(pilot, "nothing to lock")
        assert "locked" not in console.text().split("\n")[0]

    console(script, (120, 36))
