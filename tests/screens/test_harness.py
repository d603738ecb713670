"""The console's harness audit: the scorecard, its filter, and the process that grades."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from sb.screens.document_view import DocumentView
from sb.screens.harness import HarnessScreen
from sb.screens.signing_agent import SOCKET_VARIABLE
from sb.screens.state import harness_child
from sb.screens.state.document import layout
from sb.screens.state.harness_child import audit_document
from sb.screens.state.scorecard import Scorecard, control_document, scorecard
from textual.pilot import Pilot
from textual.widgets import Input

from sb.errors import CheckFailed
from sb.harness.running import audit
from sb.harness.scorecard import verdict
from sb.kernel.harness_audit import load_catalogue
from tests.screens.conftest import HOSTILE, SIZES, Agents, Console
from tests.screens.graded import document
from tests.screens.legible import check_legible
from tests.screens.test_safety import FORBIDDEN
from tests.screens.test_screens import name


class Child:
    """A program in the place of the audit, which notes that it was started and may wait to be let go on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started = folder / "started"
        self.ended = folder / "ended"
        self.go_on = folder / "go-on"
        self.printed = folder / "printed.json"
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(harness_child, "GRACE_S", 30.0)  # on a busy machine it may not run for a second
        self.prints(document())

    def prints(
        self, shown: Any, *, code: int = 2, says: str = "", begins: str = "", waits: bool = False
    ) -> None:
        """Set the output from now on."""
        text = shown if isinstance(shown, str) else json.dumps(shown)
        self.printed.write_text(text, encoding="utf-8")
        script = (
            "import os, signal, sys, time\n"
            "def ended(*_):\n"
            f"    open({str(self.ended)!r}, 'w').close()\n"
            "    raise SystemExit(130)\n"
            "signal.signal(signal.SIGINT, ended)\n"
            f"with open({str(self.started)!r}, 'a') as started: started.write(f'{{os.getpid()}} ')\n"
            f"print({begins!r}, file=sys.stderr, flush=True)\n"
            f"for _ in range(3_000 * {waits}):\n"  # at most half a minute, whoever forgets it
            f"    if os.path.exists({str(self.go_on)!r}): break\n"
            "    time.sleep(0.01)\n"
            f"print(open({str(self.printed)!r}).read())\n"
            f"print({says!r}, file=sys.stderr)\n"
            f"if {code} < 0: os.kill(os.getpid(), -({code}))\n"
            f"raise SystemExit({code})\n"
        )
        self._monkeypatch.setattr(harness_child, "COMMAND", (sys.executable, "-I", "-S", "-c", script))

    @property
    def pids(self) -> list[int]:
        """Of all that were started."""
        return [int(pid) for pid in self.started.read_text().split()] if self.started.exists() else []


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Child:
    return Child(tmp_path, monkeypatch)


@pytest.fixture
def card() -> Scorecard:
    return scorecard(json.dumps(document()))


async def open_audit(console: Console, pilot: Pilot[None], shown: str = "Harness 15") -> None:
    """Go to the screen, run the audit, and wait until this is on it."""
    await console.press(pilot, "5", *["left_square_bracket"] * 3, "r")
    await console.shows(pilot, shown)


async def type_filter(console: Console, pilot: Pilot[None], text: str) -> None:
    await console.press(pilot, "slash")
    console.app.screen.query_one(Input).value = text
    await console.shows(pilot, " · filter: ")


def graded(console: Console) -> str:
    """The control under the cursor, with its status."""
    screen = console.app.screen
    control = screen.current if isinstance(screen, HarnessScreen) else None
    return f"{control.status}: {control.id}" if control else ""


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("size", SIZES)
def test_the_scorecard_looks_as_it_did(
    agents: Agents, console: Console, child: Child, size: tuple[int, int]
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await open_audit(console, pilot)
        console.snapshot(name("harness", size))
        await console.press(pilot, "G", "k")
        await console.until(pilot, lambda: graded(console) == "partial: HA-14")
        console.snapshot(name("harness-partial", size))

    console(script, size)


def test_every_line_fits_at_every_width_and_every_text_can_be_read_in_both_themes(
    agents: Agents, console: Console, child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)

    async def script(pilot: Pilot[None]) -> None:
        await open_audit(console, pilot)
        await check_legible(console, pilot)

    console(script)


def test_it_is_a_view_of_log_that_opens_it_the_footer_and_the_palette_name_it_and_escape_leaves_it(
    agents: Agents, console: Console, child: Child
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        console.app.go("servers")  # the view before it
        await console.settle(pilot)
        assert "] view" in console.text().splitlines()[-1]
        await pilot.press("colon")
        console.app.screen.query_one(Input).value = "next view"
        await console.shows(pilot, "Go to")
        await pilot.press("enter")
        await console.until(pilot, lambda: console.at("harness"))
        await console.press(pilot, "r")
        await console.shows(pilot, "56.7 %  7 pass · 3 partial · 5 fail · BLOCKED by 3 P0")
        await console.press(pilot, "enter", "j", "escape", "escape")
        assert console.at("contracts")
        assert not isinstance(console.app.screen, HarnessScreen)

    console(script)


def test_the_control_under_the_cursor_is_shown_with_its_evidence_and_what_would_change_it(
    agents: Agents, console: Console, child: Child
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await open_audit(console, pilot)
        await console.press(pilot, "j", "j")
        await console.until(pilot, lambda: graded(console) == "partial: HA-03")
        shown = console.detail()
        for item in (
            "ok, allow unchanged: An unchanged contract executes.",
            "not built, also",
            "waits for sb.kernel.replay",
            "To be fixed number 7 of the queue",
            "OWASP ASI04, ASI02",
            "NIST GV 6.1, MG 3.1",
        ):
            assert item in shown

    console(script, (160, 45))


def test_a_pass_says_what_would_end_it_and_a_failure_what_would_make_it_pass(card: Scorecard) -> None:
    headings = {
        control.id: [field.name for field in control_document(control) if field.value is None]
        for control in card.controls
    }
    assert "It passes once these hold" in headings["HA-01"]
    assert "It stays passed while each holds" in headings["HA-05"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status:fail", "HA-01 HA-02 HA-04 HA-06 HA-08"),
        ("status:FAIL severity:p0", "HA-01 HA-04 HA-06"),
        ("outcome:tool* status:partial", "HA-14"),
        ("outcome:policy-governed severity:P2", "HA-10"),
        ("charter", "HA-06"),
        ("gateway FINGERPRINT", "HA-12"),
        ("ha-13", "HA-13"),
        ("asi04 outcome:tool* severity:P1", "HA-13"),
        ("callable severity:P2", "HA-10"),
        ('"nothing:at all"', ""),
        ("outcome:tool-controlled -status:pass", "HA-14"),
    ],
)
def test_a_filter_finds_words_anywhere_and_terms_in_their_column(
    card: Scorecard, text: str, expected: str
) -> None:
    rows = card.rows(text)
    assert [card.controls[key - 1].id for key in rows if key > 0] == expected.split()
    headings = {row.texts[0].split(" ·")[0] for key, row in rows.items() if key < 0}
    assert len(headings) == len({control.outcome for control in card.controls if control.id in expected})


def test_the_filter_is_live_says_how_much_fits_and_escape_clears_it(
    agents: Agents, console: Console, child: Child
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await open_audit(console, pilot)
        await type_filter(console, pilot, "charter")
        assert "1 of 15 · filter: " in console.text()
        await console.until(pilot, lambda: graded(console) == "fail: HA-06")
        await type_filter(console, pilot, "status:partial")
        await console.shows(pilot, "3 of 15 · filter: ")
        assert graded(console) == "partial: HA-03"
        await type_filter(console, pilot, "nowhere")
        await console.shows(pilot, "No controls match.")
        assert console.app.screen.query_one(DocumentView).fields == []
        await type_filter(console, pilot, "outcome:policy-governed")
        await console.shows(pilot, "5 of 15 · filter: ")
        await console.press(pilot, "enter", "j")
        assert graded(console) == "pass: HA-07"
        await console.press(pilot, "escape")
        assert graded(console) == "pass: HA-07", "what was found stays under the cursor"
        await console.shows(pilot, "graded 08:00:00")
        assert len(child.pids) == 1, "a filter asks nobody again"

    console(script)


def test_the_control_that_is_audited_is_named_while_it_lasts(
    agents: Agents, console: Console, child: Child
) -> None:
    child.prints(document(), begins="a library says hello\n3/15 Freshness of what is read", waits=True)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", *["left_square_bracket"] * 3)
        console.app.simulate_key("r")
        await console.comes(lambda: "auditing… 3 of 15: Freshness of what is read" in console.text())
        child.go_on.touch()
        await console.shows(pilot, "56.7 %")
        assert "auditing" not in console.text()

    console(script)


def test_nothing_waits_for_the_audit_and_r_runs_it_again_with_the_grades_in_view(
    agents: Agents, console: Console, child: Child
) -> None:
    child.prints(document(), waits=True)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", *["left_square_bracket"] * 3)
        console.app.simulate_key("r")
        await console.comes(lambda: "auditing…" in console.text() and child.pids)
        await pilot.press("question_mark")
        await console.comes(lambda: "Run the audit, again too." in console.text())
        await pilot.press("escape")
        child.go_on.touch()
        await console.shows(pilot, "56.7 %")
        assert "auditing" not in console.text()
        await console.press(pilot, "j", "j")
        child.go_on.unlink()
        console.app.simulate_key("r")
        await console.comes(lambda: "BLOCKED by 3 P0 · auditing…" in console.text() and len(child.pids) == 2)
        assert graded(console) == "partial: HA-03"
        better = document() | {"score": 0.9, "blockers": []}
        child.printed.write_text(json.dumps(better), encoding="utf-8")
        child.go_on.touch()
        await console.shows(pilot, "90.0 %")
        assert "BLOCKED" not in console.text()
        assert graded(console) == "partial: HA-03", "the cursor stays on its control"

    console(script)


@pytest.mark.parametrize("leave", [("escape",), ("1",), ("q",)], ids=["back", "another section", "quit"])
def test_leaving_the_screen_ends_the_audit(
    agents: Agents, console: Console, child: Child, leave: tuple[str]
) -> None:
    child.prints(document(), waits=True)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", *["left_square_bracket"] * 3)
        console.app.simulate_key("r")
        await console.comes(lambda: child.pids)
        await pilot.press(*leave)
        await console.comes(lambda: gone(child.pids[0]))
        assert child.ended.exists(), "it was asked to end first, so that it could remove what it made"

    console(script)


def test_an_audit_that_was_ended_can_be_run_again(agents: Agents, console: Console, child: Child) -> None:
    child.prints(document(), waits=True)

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", *["left_square_bracket"] * 3)
        console.app.simulate_key("r")
        await console.comes(lambda: child.pids)
        await pilot.press("1")
        await console.comes(lambda: gone(child.pids[0]))
        child.go_on.touch()
        await open_audit(console, pilot, "56.7 %")

    console(script)


def test_to_go_through_the_views_starts_no_audit_and_the_newest_grades_stay(
    agents: Agents, console: Console, child: Child
) -> None:
    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", *["right_square_bracket"] * 5)
        assert console.at("harness")
        assert "r runs the audit" in console.text()
        await console.press(pilot, *["right_square_bracket"] * 8)
        await console.settle(pilot)
        assert child.pids == []
        await console.press(pilot, "r")
        await console.shows(pilot, "56.7 %")
        await console.press(pilot, "1", "5", *["right_square_bracket"] * 5)
        assert "56.7 %" in console.text()
        assert len(child.pids) == 1

    console(script)


FAILURES: list[tuple[Any, int, str, str]] = [
    ("", 70, "Traceback\n\x1b[31mboom [bold]", "ended with 70: boom [bold]"),
    (document(), 64, "usage", "ended with 64: usage"),
    ("", 1, "", "the audit gave no grades and ended with 1"),
    ("", -9, "", "the audit gave no grades and was ended by signal 9 (Killed)"),
    ("{", 0, "", "the audit's document cannot be read"),
    ({"format": 1}, 0, "", "the audit's document cannot be read: KeyError"),
    (document() | {"format": 2}, 0, "", "has format 2, not 1"),
    ("[]", 0, "", "the audit's document cannot be read"),
]


def test_an_audit_that_gives_no_grades_is_said_on_the_screen_and_r_tries_again(
    agents: Agents, console: Console, child: Child
) -> None:
    (first, code, says, expected), *_ = FAILURES
    child.prints(first, code=code, says=says)

    async def script(pilot: Pilot[None]) -> None:
        await open_audit(console, pilot, expected)
        assert "No grades." in console.text()
        for shown, ended, written, wanted in FAILURES:
            child.prints(document(), code=0)
            await console.press(pilot, "r")
            await console.shows(pilot, "56.7 %")
            assert wanted not in console.text(), "a success takes the failure before away"
            child.prints(shown, code=ended, says=written)
            await console.press(pilot, "r")
            await console.shows(pilot, wanted)
            assert "HA-01" in console.text(), "the former grades stay"

    console(script, (120, 36))


def test_the_real_audit_is_shown_whatever_this_home_says(
    agents: Agents, console: Console, home: Path
) -> None:
    (home / "config.yaml").write_text("nonsense: [", encoding="utf-8")
    before = sorted(home.rglob("*"))

    async def script(pilot: Pilot[None]) -> None:
        await console.press(pilot, "5", *["left_square_bracket"] * 3)
        console.app.simulate_key("r")
        await console.comes(lambda: isinstance(console.app.screen, HarnessScreen))
        screen = console.app.screen
        assert isinstance(screen, HarnessScreen)
        await console.comes(lambda: screen.card or screen.trouble, within_s=240)  # five of a core of its own
        await console.shows(pilot, "HA-01")
        assert screen.card is not None
        assert screen.card.line in console.text()
        assert [control.id for control in screen.card.controls] == [
            control.id for control in load_catalogue().controls
        ]
        assert len([key for key in screen.rows.listing.keys if key > 0]) == 40

    console(script)
    assert sorted(home.rglob("*")) == before


def test_the_score_reads_as_the_command_says_it() -> None:
    report = audit([control for control in load_catalogue().controls if control.id in ("HA-01", "HA-12")])
    assert scorecard(json.dumps(report.to_dict())).line == verdict(report)


def test_an_interpreter_that_is_gone_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(harness_child, "COMMAND", (str(tmp_path / "python"),))
    with pytest.raises(CheckFailed, match="could not be started: No such file"):
        audit_document(lambda: False)


def test_an_audit_that_hangs_is_ended(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    child.prints(document(), waits=True)
    monkeypatch.setattr(harness_child, "LONGEST_S", 0.5)
    with pytest.raises(CheckFailed, match="did not finish within"):
        audit_document(lambda: False)
    assert all(gone(pid) for pid in child.pids)


def test_the_audit_can_reach_nobody_who_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SOCKET_VARIABLE, "/run/signer")
    monkeypatch.setenv("SB_HOME", "/nowhere")
    script = f"import os; print({SOCKET_VARIABLE!r} in os.environ, os.environ['SB_HOME'])"
    monkeypatch.setattr(harness_child, "COMMAND", (sys.executable, "-c", script))
    assert audit_document(lambda: False).split() == ["False", "/nowhere"]


def test_hostile_text_in_a_document_is_shown_and_does_nothing(
    agents: Agents, console: Console, child: Child
) -> None:
    graded = document()
    control = graded["controls"][0]
    for key in ("title", "reason", "question"):
        control[key] = HOSTILE
    control["checks"][1] |= {"name": HOSTILE, "says": HOSTILE, "observed": HOSTILE}
    control |= {"flip": [HOSTILE], "modules": [HOSTILE], "owasp": [HOSTILE], "nist": [HOSTILE]}
    graded["outcomes"][0]["title"] = HOSTILE
    child.prints(graded)
    painted: list[str] = []

    async def script(pilot: Pilot[None]) -> None:
        await open_audit(console, pilot)
        painted.append(console.text())
        await console.press(pilot, "enter", "z", "G")
        painted.append(console.text())

    console(script, (120, 36))
    shown = scorecard(json.dumps(graded)).controls[0]
    painted += [line.text for line in layout(control_document(shown), 80, unfolded=False)]
    assert "HA-01" in painted[0]
    assert not any(FORBIDDEN.search(text.replace("\n", "")) for text in painted)
