"""Tokens and cost of sessions: read once, priced by the configuration, capped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.config import load_config
from sb.config.kinds import ModelPrice
from sb.errors import ConfigError
from sb.hosts.claude_code.events import ADAPTER
from sb.hosts.hooks.event import Decision, HookEvent, HookVerdict, Moment
from sb.hosts.hooks.judging import judge
from sb.hosts.usage import advance
from sb.kernel.review.session_usage import (
    SessionUsage,
    TranscriptState,
    Used,
    load_usage,
    save_usage,
)
from sb.kernel.review.usage import Tokens, cost_usd, least_cost_usd, price_of, total
from tests.hosts.transcripts import written

RUN = "run_0123456789abcdef"
PRICES = {"claude-*": ModelPrice(3, 15, 0.3, 3.75)}
USAGE = {
    "input_tokens": 1_000,
    "output_tokens": 100,
    "cache_read_input_tokens": 10_000,
    "cache_creation_input_tokens": 0,
}


def event(path: Path, host: str = "claude-code") -> HookEvent:
    return HookEvent(host, "Stop", Moment.STOP, "s", "/", transcript=str(path))


def append(path: Path, *records: object) -> None:
    more = written.lines(path.with_name("more"), records).read_bytes()
    with path.open("ab") as file:
        file.write(more)


def response(number: int, **usage: int) -> dict[str, Any]:
    return written.claude_response(number, "/data/shop", usage=USAGE | usage)


def test_response_of_several_lines_counts_once(tmp_path: Path) -> None:
    lines = [response(1, output_tokens=1), response(1, output_tokens=100), response(2)]
    path = written.lines(tmp_path / "a.jsonl", lines)
    session = advance(tmp_path / "usage", RUN, event(path))
    assert session is not None
    assert session.usage == {"claude-x": Tokens(2_000, 200, 20_000)}


def test_transcript_is_read_on_not_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = written.lines(tmp_path / "a.jsonl", [response(1)]), tmp_path / "usage"
    advance(folder, RUN, event(path))
    append(path, response(1, output_tokens=150), response(2))
    with path.open("ab") as file:
        file.write(b'{"type": "assistant", "message"')  # is being written
    # What was read before is gone: whoever reads it again finds nothing.
    content, inode = path.read_bytes(), path.stat().st_ino
    start = content.index(b"\n") + 1
    with path.open("r+b") as file:
        file.write(b" " * (start - 1))
    assert path.stat().st_ino == inode
    session = advance(folder, RUN, event(path))
    assert session is not None
    assert session.usage == {"claude-x": Tokens(2_000, 250, 20_000)}
    assert advance(folder, RUN, event(path)) == session == load_usage(folder, RUN)


def test_large_transcript_is_read_in_pieces(tmp_path: Path) -> None:
    path = written.lines(tmp_path / "a.jsonl", [response(number) for number in range(50)])
    folder, behind = tmp_path / "usage", []
    for _ in range(20):
        session = advance(folder, RUN, event(path), most=2_000)
        assert session is not None
        behind.append(session.behind)
    assert session is not None
    assert behind[0] is True
    assert behind[-1] is False
    assert total(session.usage) == Tokens(50_000, 5_000, 500_000)


def test_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path, folder = written.lines(tmp_path / "a.jsonl", [response(1), response(2)]), tmp_path / "usage"
    advance(folder, RUN, event(path))
    os.replace(written.lines(tmp_path / "b.jsonl", [response(9)]), path)
    session = advance(folder, RUN, event(path))
    assert session is not None
    assert total(session.usage).output == 100


def test_subagents_are_part_of_the_cost(tmp_path: Path) -> None:
    path = written.lines(tmp_path / "s.jsonl", [response(1)])
    written.lines(tmp_path / "s" / "subagents" / "agent-1.jsonl", [response(7)])
    session = advance(tmp_path / "usage", RUN, event(path))
    assert session is not None
    assert total(session.usage).output == 200


def test_hosts_without_tokens_and_paths_that_are_none_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(written.lines(tmp_path / "a.jsonl", [response(1)]))
    for item in (event(tmp_path / "a.jsonl", "cursor"), event(Path("a.jsonl")), event(tmp_path / "\0")):
        assert advance(tmp_path / "usage", RUN, item) is None
    session = advance(tmp_path / "usage", RUN, event(tmp_path / "link.jsonl"))
    assert session is not None
    assert session.usage == {}


@settings(max_examples=40, deadline=None)
@given(
    content=st.binary(max_size=60)
    | st.sampled_from([b'{"files": {"a": 1}}', b"[]", b'{"files": [], "behind": 0}'])
)
def test_remembered_file_that_is_damaged_counts_as_none(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / f"{RUN}.json").write_bytes(content)
    found = load_usage(folder, RUN)
    assert found is None or found.usage == {}


@given(
    counts=st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("xy"), st.integers(0, 9)), max_size=30
    ),
)
def test_the_last_record_of_each_response_counts(counts: list[tuple[str, str, int]]) -> None:
    state = TranscriptState()
    for key, model, count in counts:
        state.add(Used(key, model, Tokens(count)))
    last = {key: (model, count) for key, model, count in counts}
    for model in "xy":
        wanted = sum(count for item, count in last.values() if item == model)
        assert SessionUsage({"file": state}).usage.get(model, Tokens()).input == wanted


def test_sums_of_a_session_count_once_and_by_the_model_of_their_turn() -> None:
    state = TranscriptState()
    for model, count in (("a", 10), ("a", 10), ("b", 25), ("b", 5)):  # the last one began anew
        state.add(Used("", model, Tokens(count)))
    assert SessionUsage({"file": state}).usage == {"a": Tokens(10), "b": Tokens(20)}


def test_what_is_not_priced_is_unknown_and_never_nothing() -> None:
    usage = {"claude-x": Tokens(1_000_000, 100_000, 2_000_000)}
    assert cost_usd(usage, PRICES) == pytest.approx(3 + 1.5 + 0.6)
    assert cost_usd(usage | {"gpt-x": Tokens(1)}, PRICES) is None
    assert cost_usd(usage, {"claude-x": ModelPrice(3, 15)}) is None
    assert cost_usd({"claude-x": Tokens(1_000_000)}, {"claude-x": ModelPrice(3)}) == 3
    assert cost_usd({}, {}) == 0
    hour = {"claude-x": Tokens(cache_write=1_000_000, cache_write_1h=1_000_000)}
    assert cost_usd(hour, PRICES) is None
    assert cost_usd(hour, {"claude-x": ModelPrice(cache_write=3.75, cache_write_1h=6)}) == 9.75
    assert least_cost_usd(hour | {"gpt-x": Tokens(9)}, PRICES) == 7.5
    assert least_cost_usd(hour, {}) == 0
    both = {"claude-*": ModelPrice(1), "claude-opus-*": ModelPrice(2), "claude-opus-5": ModelPrice(3)}
    assert [price_of(name, both) for name in ("claude-opus-5", "claude-opus-6", "claude-x", "o")] == [
        ModelPrice(3),
        ModelPrice(2),
        ModelPrice(1),
        None,
    ]


def test_wrong_prices_are_named(user: Path) -> None:
    (user / ".sb").mkdir(mode=0o700)
    for text, item in (
        ("prices: 3", "must be a mapping of models"),
        ("prices: {m: 3}", "must be a mapping, not"),
        ("prices: {m: {inptu: 3}}", "unknown key"),
        ("prices: {m: {input: -3}}", "must be a number"),
    ):
        (user / ".sb" / "config.yaml").write_text(text + "\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=item):
            load_config(env={"HOME": str(user)}, cwd=user, flags={})


def session_of(user: Path, cap: str, transcript: Path) -> HookVerdict:
    (user / ".sb").mkdir(mode=0o700, exist_ok=True)
    price = 'prices: {"claude-*": {input: 3, output: 15, cache_read: 0.3}}\n'
    (user / ".sb" / "config.yaml").write_text(price + cap, encoding="utf-8")
    config = load_config(env={"HOME": str(user)}, cwd=user, flags={})
    payload = {
        "session_id": "s",
        "transcript_path": str(transcript),
        "cwd": str(user / "shop"),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "t1",
    }
    return judge(config, ADAPTER, ADAPTER.read(payload))


def test_cap_stops_new_calls_and_says_why(user: Path) -> None:
    transcript = written.lines(user / "s.jsonl", [response(1, input_tokens=1_000_000)])
    verdict = session_of(user, "budget: {session_cost_usd: 3}\n", transcript)
    assert verdict.decision is Decision.DENY
    assert "this session has cost at least $3.00" in verdict.reason
    assert "budget.session_cost_usd is $3.00" in verdict.reason
    assert session_of(user, "budget: {session_cost_usd: 4}\n", transcript) == HookVerdict()
    assert session_of(user, "", transcript) == HookVerdict()


def test_cap_lets_calls_run_whose_cost_is_unknown(user: Path) -> None:
    lines = [written.claude_response(1, "/", usage=USAGE | {"input_tokens": 10**9}, model="unpriced")]
    transcript = written.lines(user / "s.jsonl", lines)
    assert session_of(user, "budget: {session_cost_usd: 3}\n", transcript) == HookVerdict()
    assert session_of(user, "budget: {session_cost_usd: 3}\n", user / "missing.jsonl") == HookVerdict()


def test_tokens_of_old_sessions_are_forgotten_when_a_new_one_begins(tmp_path: Path) -> None:
    path, folder = written.lines(tmp_path / "a.jsonl", [response(1)]), tmp_path / "usage"
    for number in range(3):
        advance(folder, f"run_{number:016x}", event(path))
    os.utime(folder / f"run_{0:016x}.json", (0, 0))
    advance(folder, RUN, event(path))
    assert sorted(item.name for item in folder.iterdir()) == [
        f"run_{1:016x}.json",
        f"run_{2:016x}.json",
        f"{RUN}.json",
    ]


def test_only_runs_have_a_file(tmp_path: Path) -> None:
    session = advance(tmp_path / "usage", RUN, event(written.lines(tmp_path / "a.jsonl", [response(1)])))
    assert session is not None
    save_usage(tmp_path / "usage", "../evil", session)
    assert [path.name for path in (tmp_path / "usage").iterdir()] == [f"{RUN}.json"]
    assert load_usage(tmp_path / "usage", "../evil") is None


def test_usage_is_kept_by_hour_and_size_of_the_prompt_and_as_the_host_priced_it(tmp_path: Path) -> None:
    def at(number: int, moment: str, *, usd: object = None, **usage: int) -> dict[str, Any]:
        record = response(number, cache_read_input_tokens=0, **usage)
        return record | {"timestamp": moment} | ({"costUSD": usd} if usd is not None else {})

    lines = [
        at(1, "2026-03-01T10:59:59Z", input_tokens=200_000),
        at(2, "2026-03-01T10:00:00Z", input_tokens=200_001),
        at(3, "2026-03-01T11:00:00Z", input_tokens=200_000),
        at(4, "2026-03-01T11:00:00Z", usd=0.25),
        at(4, "2026-03-01T11:00:00Z", usd=0.5),  # a later record of the same response
        at(5, "2026-03-01T11:00:00Z", usd=1.0),
        at(6, "2026-03-01T11:00:00Z", usd=-1.0),
        at(7, "2026-03-01T11:00:00Z", usd=float("nan")),
    ]
    advance(tmp_path / "usage", RUN, event(written.lines(tmp_path / "a.jsonl", lines)))
    session = load_usage(tmp_path / "usage", RUN)
    assert session is not None
    found = {(part.at, part.band, part.usd): part.tokens.input for part in session.parts}
    ten, eleven = 1_772_359_200, 1_772_362_800
    assert found == {
        (ten, 4, None): 200_000,
        (ten, 5, None): 200_001,
        (eleven, 4, None): 200_000,
        (eleven, None, 1.5): 2_000,
        (eleven, 0, None): 2_000,
    }


def test_usage_of_older_versions_is_still_read(tmp_path: Path) -> None:
    old = {"input": 5, "output": 1, "cache_read": 0, "cache_write": 7}
    state = {
        "offset": 9,
        "inode": 1,
        "model": "m",
        "sum": old,
        "recent": {"k": ["m", old]},
        "models": {"m": old},
    }
    document = json.dumps({"files": {"/a": state}, "behind": False})
    (tmp_path / f"{RUN}.json").write_text(document, encoding="utf-8")
    session = load_usage(tmp_path, RUN)
    assert session is not None
    assert session.usage == {"m": Tokens(5, 1, 0, 7)}
    (part,) = session.parts
    assert (part.model, part.at, part.band, part.usd) == ("m", None, None, None)
    session.files["/a"].add(Used("k", "m", Tokens(6, 1)))
    assert session.usage == {"m": Tokens(6, 1)}
