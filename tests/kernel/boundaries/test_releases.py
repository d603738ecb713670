"""Releases: the id of seven parts, what differs, and what drift from the pinned one leads to."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb import __version__
from sb.config.groups import Release
from sb.errors import ContractError, DeniedError, NotFoundError
from sb.kernel.calls.narrative import describe
from sb.kernel.contracts import SafetyClass, ToolErrorCode
from sb.kernel.release_tuple import PARTS, ReleasePart, ReleaseTuple, diff
from sb.kernel.release_tuple.releases import Releases, files_part
from sb.log.kinds import RUN_STARTED
from sb.runtime import Runtime
from sb.runtime.parts import open_releases
from tests.conftest import approve_tools
from tests.kernel.boundaries.conftest import ADA, Office
from tests.rows import rows

CONTENTS = st.text(st.characters(codec="utf-8"), min_size=0, max_size=8)
NAMES = st.sampled_from(["a", "b", "c"])
PART = st.builds(ReleasePart.of, NAMES, CONTENTS)


def release(**changed: ReleasePart) -> ReleaseTuple:
    return ReleaseTuple(**{name: ReleasePart.of(name, name) for name in PARTS} | changed)


@given(st.sampled_from(PARTS), PART)
def test_each_part_alone_changes_the_id_and_the_diff_names_exactly_it(part: str, other: ReleasePart) -> None:
    before, after = release(), release(**{part: other})
    assert release().id == before.id
    changed = getattr(before, part) != other
    assert (before.id != after.id) == changed
    assert [change.part for change in diff(before, after)] == ([part] if changed else [])
    assert ReleaseTuple.from_document(after.document()) == after


@given(st.lists(PART, min_size=7, max_size=7), st.lists(PART, min_size=7, max_size=7))
def test_two_releases_have_one_id_only_if_no_part_differs(
    one: list[ReleasePart], other: list[ReleasePart]
) -> None:
    first, second = ReleaseTuple(*one), ReleaseTuple(*other)
    changes = diff(first, second)
    assert (first.id == second.id) == (not changes)
    assert {change.part for change in changes} == {change.part for change in diff(second, first)}


@rows("part", PARTS)
def test_a_missing_part_is_refused(part: str) -> None:
    document: dict[str, Any] = release().document()
    del document[part]
    with pytest.raises(ContractError):
        ReleaseTuple.from_document(document)
    gone: dict[str, Any] = {part: None}
    with pytest.raises(ContractError, match=f"no {part}"):
        replace(release(), **gone)


@pytest.mark.parametrize(
    ("name", "version", "content_hash"), [("", "1", "a" * 64), ("a", " ", "a" * 64), ("a", "1", "x")]
)
def test_a_part_without_name_version_or_hash_is_refused(name: str, version: str, content_hash: str) -> None:
    with pytest.raises(ContractError):
        ReleasePart(name, version, content_hash)


def test_the_diff_of_tools_names_the_contracts_that_changed() -> None:
    before, after = {"a": "1", "b": "2"}, {"b": "3", "c": "4"}
    changes = diff(
        release(tools=ReleasePart.of("2", before)), release(tools=ReleasePart.of("2", after)), before, after
    )
    assert changes[0].contracts == ("a", "b", "c")


def test_files_are_hashed_by_name_and_content(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    file = tmp_path / "prompts" / "a.md"
    file.write_text("be kind", encoding="utf-8")
    before = files_part((tmp_path / "prompts",))
    assert files_part((tmp_path / "prompts",)) == before
    file.write_text("be quick", encoding="utf-8")
    changed = files_part((tmp_path / "prompts",))
    file.rename(tmp_path / "prompts" / "b.md")
    renamed = files_part((tmp_path / "prompts",))
    missing = files_part((tmp_path / "gone.md",))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    looped = files_part((tmp_path / "loop",))
    os.mkfifo(tmp_path / "pipe")
    blocking = [files_part((Path(name),)) for name in ("/dev/zero", str(tmp_path / "pipe"))]
    every = (before, changed, renamed, missing, looped, *blocking)
    assert len({part.content_hash for part in every}) == len(every)
    assert missing.name == "gone.md (missing)"


class Pinned:
    """A home whose releases are checked, with one prompt."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.prompt = office.home.folder / "prompt.md"
        self.prompt.write_text("be kind", encoding="utf-8")

    def open(self, check: str = "enforce", **more: Any) -> Runtime:
        settings = {"release.check": check, "release.prompt": (self.prompt,), "agent_charters": "off"}
        return self.office.open(**settings | more)

    def pin(self, runtime: Runtime, agent: str = "clerk") -> Releases:
        releases = open_releases(runtime.config, runtime.log, runtime.approvals.authority)
        releases.pin(agent, releases.entry(agent).id, ADA, "evaluated")
        return releases


@pytest.fixture
def pinned(office: Office) -> Pinned:
    return Pinned(office)


def started(runtime: Runtime, run_id: str) -> dict[str, Any]:
    return next(runtime.log.events(run_id=run_id, kind=RUN_STARTED)).payload or {}


def test_a_run_has_its_release_on_record_and_without_a_pin_nothing_drifts(pinned: Pinned) -> None:
    with pinned.open() as runtime:
        with runtime.run("clerk") as ctx:
            assert runtime.executor.execute(ctx, "shop.read", {}).success
        facts = started(runtime, ctx.run_id)
        entry = open_releases(runtime.config, runtime.log, runtime.approvals.authority).entry("clerk")
    assert (facts["release"], facts["code_version"]) == (entry.id, __version__)
    assert "release_drift" not in facts
    assert entry.release.prompt.name == "prompt.md"


@pytest.mark.parametrize("part", ["prompt", "tools", "policy", "memory", "model", "context"])
def test_drift_is_named_under_observe_and_refused_under_enforce(pinned: Pinned, part: str) -> None:
    with pinned.open() as runtime, runtime.run("clerk"):
        pinned.pin(runtime)
    more: dict[str, Any] = {}
    if part == "prompt":
        pinned.prompt.write_text("be quick", encoding="utf-8")
    elif part == "policy":
        more = {"max_args_bytes": 10_000}
    elif part == "memory":
        more = {"memory.embedder": "none"}
    elif part == "model":
        more = {"release.model": "other-model"}
    elif part == "context":
        pinned.office.home.context_sources.write_text("{}\n", encoding="utf-8")
    ran = len(pinned.office.ran)
    for check in ("observe", "enforce"):
        with pinned.open(check, **more) as runtime:
            if part == "tools":
                runtime.registry.register_fn("shop.new", "New", lambda: 1, SafetyClass.READ_ONLY)
                approve_tools(runtime)
            ctx = runtime.context("clerk")
            result = runtime.executor.execute(ctx, "shop.read", {})
            assert started(runtime, ctx.run_id)["release_drift"] == [part]
            start = next(runtime.log.events(run_id=ctx.run_id, kind=RUN_STARTED))
            assert describe(start) == f"clerk started a run; differs from the pinned release: {part}"
            if check == "observe":
                assert result.success
                continue
            assert result.error_code == ToolErrorCode.PERMISSION_DENIED
            assert f"not the pinned one: {part} differ" in result.error_message
            with pytest.raises(DeniedError, match=part), runtime.run("clerk"):
                pass
            pinned.pin(runtime)
            assert runtime.executor.execute(runtime.context("clerk"), "shop.read", {}).success
    assert len(pinned.office.ran) == ran + 2


def test_the_model_of_a_run_counts_before_the_configured_one(pinned: Pinned) -> None:
    with pinned.open("observe") as runtime:
        with runtime.run("clerk", metadata={"model": "m-1"}):
            pinned.pin(runtime)
        with runtime.run("clerk", metadata={"model": "m-2"}) as ctx:
            assert started(runtime, ctx.run_id)["release_drift"] == ["model"]
        with runtime.run("scribe", metadata={"model": "m-2"}) as other:
            assert "release_drift" not in started(runtime, other.run_id)


def test_a_host_that_drifted_is_refused_each_call(pinned: Pinned) -> None:
    host = {"host": "claude-code", "intent_unstated": True}
    args = {"tool": "Read", "input": {}}
    with pinned.open() as runtime:
        ctx = runtime.context("claude-code", metadata=host)
        runtime.executor.external.join(ctx)
        first = runtime.executor.external.announce(ctx, "host.read", args, step="1")
        pinned.pin(runtime, "claude-code")
    pinned.prompt.write_text("be quick", encoding="utf-8")
    with pinned.open() as runtime:
        ctx = runtime.context("claude-code", metadata=host)
        second = runtime.executor.external.announce(ctx, "host.read", args, step="2")
    assert (first.success, second.rule) == (True, "release_drift")


def test_a_lifted_pin_is_no_pin_and_only_a_release_that_a_run_had_is_pinned(pinned: Pinned) -> None:
    with pinned.open() as runtime, runtime.run("clerk"):
        releases = pinned.pin(runtime)
        assert releases.pinned("clerk") is not None
        releases.pin("clerk", "", ADA, "over")
        assert releases.pinned("clerk") is None
        with pytest.raises(NotFoundError):
            releases.pin("clerk", "sha256:" + "0" * 64, ADA, "made up")
        with pytest.raises(NotFoundError):
            releases.entry("clerk", "ffff0000ffff")


def test_a_pinned_release_that_was_edited_in_the_database_refuses(pinned: Pinned) -> None:
    with pinned.open() as runtime:
        with runtime.run("clerk"):
            pinned.pin(runtime)
        pinned.prompt.write_text("be quick", encoding="utf-8")
        with runtime.database.write() as execute:
            execute("UPDATE contracts_seen SET document = '{}' WHERE surface = 'release'")
        result = runtime.executor.execute(runtime.context("clerk"), "shop.read", {})
    assert "is not what its id says" in result.error_message


def test_no_secret_of_the_configuration_is_in_a_release(pinned: Pinned) -> None:
    secret = "sk-" + "proj-Zx8q" * 6
    more = {"memory.ollama_url": f"http://u:{secret}@h", "release.model": secret}
    with pinned.open("observe", **more) as runtime:
        with runtime.run("clerk", metadata={"note": secret}):
            pass
        rows = runtime.database.query("SELECT document FROM contracts_seen") + runtime.database.query(
            "SELECT payload FROM events"
        )
    assert not any(secret in str(row[0]) for row in rows)


def test_releases_are_off_by_default() -> None:
    assert Release().check == "off"
