"""The output gate: what may not leave a run."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sb.config.home import Home
from sb.config.model import assemble
from sb.kernel.contracts import ToolErrorCode
from sb.kernel.execution.output_guard import OutputGate
from sb.kernel.results import Effect
from sb.kernel.run_context import RunContext
from sb.log.kinds import OUTPUT_GATED
from sb.runtime import Runtime, open_runtime

MAIL, OWN = "quixote@posteo.de", "sancho@posteo.de"
KEY = "AKIA" + "Q4X7TPLM2WZRD5NY"


def opened(folder: Path, settings: Mapping[str, Any]) -> Runtime:
    settings = {"output_gate.results": ("report.*",), **settings}
    runtime = open_runtime(assemble(Home(folder / "home"), settings, {}, ()))
    runtime.brain("ada", scope="project:other").remember(f"Quixote reads his letters at {MAIL}.")
    runtime.brain("ada", scope="project:own").remember(f"Sancho reads his letters at {OWN}.")
    for name in ("report.all", "free.all"):
        runtime.registry.register_fn(
            name, name, lambda: {"text": f"{MAIL}, {OWN}, new@posteo.de", "keys": [KEY]}
        )
    return runtime


def context() -> RunContext:
    return RunContext.create("agent", metadata={"scope": "project:own"})


def test_secrets_and_personal_data_of_another_scope_are_redacted(tmp_path: Path) -> None:
    with opened(tmp_path, {}) as runtime:
        result = runtime.executor.execute(context(), "report.all")
        assert result.data["text"] == f"[redacted:email], {OWN}, new@posteo.de"
        assert KEY not in str(result.data)
        (event,) = runtime.log.events(kind=OUTPUT_GATED)
        assert (event.payload or {})["labels"][0] == "email"
        assert MAIL not in str(event.payload)


@pytest.mark.parametrize("unseen", "\u200b\u3164\ufe00\U000e0041\U000e0101")
def test_values_split_by_characters_that_nobody_sees_are_redacted(tmp_path: Path, unseen: str) -> None:
    text = f"key {KEY[:9]}{unseen}{KEY[9:]}\u00ad, mail {MAIL[:4]}\u2060{MAIL[4:]}, caf\u00e9 \u200bopen"
    with opened(tmp_path, {}) as runtime:
        runtime.registry.register_fn("report.split", "split", lambda: text)
        result = runtime.executor.execute(context(), "report.split")
    assert KEY[9:] not in result.data
    assert result.data.endswith(", mail [redacted:email], caf\u00e9 \u200bopen")


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutputGate]:
    with opened(tmp_path_factory.mktemp("gate"), {}) as runtime:
        yield OutputGate(runtime.log, lambda value, ctx: value == MAIL)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        f"the key is {KEY[:9]}\n{KEY[9:]} as you see",
        f"> the key is {KEY[:9]}\n> {KEY[9:]} as you see",
        f'key = "{KEY[:9]}" +\n    "{KEY[9:]}" as you see',
        f"the key is {KEY[:4]}**{KEY[4:9]}**{KEY[9:]} as you see",
        f"the key is {KEY[:9]}<br>{KEY[9:]} as you see",
        f"the key is `{KEY[:9]}``{KEY[9:]}` as you see",
        f"the key is {''.join(chr(ord(char) + 0xFEE0) for char in KEY)} as you see",
        f"the key is {encoded(KEY)} as you see",
        f"the key is {encoded('key: ' + encoded(KEY))} as you see",
        f"the key is {encoded('password: hunter-Zwei-91')} as you see",
        f"the address is {encoded(MAIL)} as you see",
    ],
)
def test_disguised_values_are_redacted_and_nothing_else_is(gate: OutputGate, text: str) -> None:
    clean, labels = gate.gated(text, context())
    assert len(labels) == 1
    before, _, after = clean.partition(f"[redacted:{labels[0]}]")
    assert text.startswith(before)
    assert text.endswith(after)
    assert (before[:4] + after).strip('"`').endswith(" as you see")
    assert KEY[9:] not in clean
    assert encoded(KEY) not in clean


@pytest.mark.parametrize(
    "text",
    [
        "# Tokens\n\nA token is read\nfrom the environment, and\npassword\nhints are off.",
        "It uses basic blocks\ncontaining no jumps.",
        "sha256 of the **file**: " + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        encoded("A text of several words, with no value that anybody has to hide from others."),
        encoded(OWN),
        "internationalization_of_configuration_names\nand_of_their_values",
        base64.b64encode(bytes(range(256)) * 4).decode(),
    ],
)
def test_ordinary_texts_and_encoded_ones_leave_as_they_are(gate: OutputGate, text: str) -> None:
    assert gate.gated(text, context()) == (text, [])


@pytest.mark.parametrize("piece", ["aaaa\n", "QUtJ", "a**", "ghp_\n", "`\n>"])
def test_a_long_repetition_is_searched_in_linear_time(gate: OutputGate, piece: str) -> None:
    gate.findings(piece * (200_000 // len(piece)), context())  # quadratic would be minutes


def test_a_result_is_refused_where_that_is_set(tmp_path: Path) -> None:
    with opened(tmp_path, {"output_gate.action": "refuse"}) as runtime:
        result = runtime.executor.execute(context(), "report.all")
        assert (result.data, result.error_code, result.effect) == (
            None,
            ToolErrorCode.PERMISSION_DENIED,
            Effect.DONE,
        )


def test_tools_that_are_not_named_are_not_searched(tmp_path: Path) -> None:
    with opened(tmp_path, {}) as runtime:
        assert MAIL in runtime.executor.execute(context(), "free.all").data["text"]
        assert list(runtime.log.events(kind=OUTPUT_GATED)) == []


def test_what_cannot_be_checked_is_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path, {}) as runtime:
        runtime.database.query("SELECT 1")
        monkeypatch.setattr("sb.memory.scoped_values._HOLDING", "SELECT scope FROM nowhere WHERE ? = ?")
        result = runtime.executor.execute(context(), "report.all")
        assert (result.success, result.data) == (False, None)
        assert "could not be checked" in result.error_message
