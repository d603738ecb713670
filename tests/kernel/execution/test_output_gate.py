"""The output gate: what may not leave a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sb.config.home import Home
from sb.config.model import assemble
from sb.kernel.contracts import ToolErrorCode
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
