"""Transcripts of hosts: calls, folders, times and tokens, whatever else is in the files."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.errors import NotFoundError
from sb.hosts.hooks.event import NativeCall
from sb.hosts.install.host import Places
from sb.hosts.registry import WITH_HOOKS, WITH_TRANSCRIPTS, WITHOUT_TRANSCRIPTS, transcript_reader
from sb.hosts.transcripts import Item, RecordedCall, Session, Transcript, find_transcripts
from sb.kernel.review.session_usage import Used
from sb.kernel.review.usage import Tokens
from tests.hosts.transcripts import written

RM = {"command": "rm -rf build"}
NOTE = {"file_path": "/data/shop/note.md", "content": "x"}
Writer = Callable[[Path, str, Any], Path]


def transcript_files(host: str, home: Path) -> list[Path]:
    return list(transcript_reader(host).files(Places({"HOME": str(home)}, home)))


def calls_of(host: str, path: Path) -> tuple[Session, list[RecordedCall]]:
    transcript = Transcript(transcript_reader(host), path)
    calls = list(transcript.calls())
    return transcript.session, calls


@pytest.mark.parametrize(
    ("host", "write", "shell", "second", "timed"),
    [
        ("claude-code", written.claude_code, "Bash", ("Write", NOTE), True),
        ("codex", written.codex, "Bash", ("apply_patch", {"command": "*** Begin Patch"}), True),
        ("gemini-cli", written.gemini_cli, "run_shell_command", ("write_file", NOTE), True),
        ("copilot", written.copilot, "bash", ("create", {"path": "/data/shop/note.md"}), True),
        ("cursor", written.cursor, "Shell", ("Write", NOTE), False),
        ("windsurf", written.windsurf, "Shell", ("Write", {"file_path": "/data/shop/note.md"}), False),
    ],
)
def test_each_host_is_read_where_and_as_it_writes(
    host: str, write: Writer, shell: str, second: tuple[str, dict[str, Any]], *, timed: bool, tmp_path: Path
) -> None:
    path = write(tmp_path, "/data/shop", [(shell, RM), second])
    assert transcript_files(host, tmp_path) == [path]
    session, calls = calls_of(host, path)
    assert [(call.call.tool, call.call.args) for call in calls] == [(shell, RM), second]
    assert (session.host, session.id, session.skipped) == (host, written.SESSION, 0)
    folders = {call.call.cwd or call.cwd for call in calls[:1]}
    assert folders == {"/data/shop"}
    assert all((call.at is not None) == timed for call in calls)
    assert (session.started is not None) == timed
    assert all(call.ok is not False for call in calls)


def test_older_sessions_of_gemini_are_single_documents(tmp_path: Path) -> None:
    path = written.gemini_cli(tmp_path, "/data/shop", [("run_shell_command", RM)], document=True)
    assert transcript_files("gemini-cli", tmp_path) == [path]
    session, calls = calls_of("gemini-cli", path)
    assert [call.call.args for call in calls] == [RM]
    assert session.cwd == "/data/shop"


def test_every_host_with_hooks_is_read_or_says_why_not() -> None:
    assert {*WITH_TRANSCRIPTS, *WITHOUT_TRANSCRIPTS} == set(WITH_HOOKS)
    for host in WITHOUT_TRANSCRIPTS:
        with pytest.raises(NotFoundError, match="does not document"):
            transcript_reader(host)
    assert all(transcript_reader(host).source for host in WITH_TRANSCRIPTS)


def test_subagents_of_claude_code_are_found_and_belong_to_their_session(tmp_path: Path) -> None:
    main = written.claude_code(tmp_path, "/data/shop", [("Bash", RM)])
    sub = main.with_suffix("") / "subagents" / "agent-1.jsonl"
    written.lines(sub, [written.claude_response(1, "/data/shop")])
    assert set(transcript_files("claude-code", tmp_path)) == {main, sub}
    assert list(transcript_reader("claude-code").companions(main)) == [sub]
    assert calls_of("claude-code", sub)[0].id == written.SESSION


def test_failed_call_is_told_from_one_that_ran(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": RM}
    failed = {"type": "tool_result", "tool_use_id": "t1", "is_error": True}
    path = written.lines(
        tmp_path / "a.jsonl",
        [written.claude_response(1, "/w", use), {"type": "user", "message": {"content": [failed]}}],
    )
    assert [call.ok for call in calls_of("claude-code", path)[1]] == [False]


def test_copied_call_is_read_once(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": RM}
    path = written.lines(tmp_path / "a.jsonl", [written.claude_response(1, "/w", use)] * 3)
    assert len(calls_of("claude-code", path)[1]) == 1


def test_tokens_are_those_that_the_host_wrote(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 3,
        "output_tokens": 14,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 50,
    }
    path = written.lines(tmp_path / "a.jsonl", [written.claude_response(1, "/w", usage=usage)])
    (used,) = _used("claude-code", path)
    assert used[:3] == ("msg_1", "claude-x", Tokens(3, 14, 900, 50))
    created: dict[str, int] = {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30}
    for detail in (created, {}):
        both: dict[str, object] = {**usage, "cache_creation": detail}
        path = written.lines(tmp_path / "b.jsonl", [written.claude_response(1, "/w", usage=both)])
        hour = detail.get("ephemeral_1h_input_tokens", 0)
        assert _used("claude-code", path)[0].tokens == Tokens(3, 14, 900, 50 - hour, hour)
    total = {
        "input_tokens": 1000,
        "cached_input_tokens": 800,
        "output_tokens": 7,
        "reasoning_output_tokens": 2,
    }
    rollout = [
        {"type": "turn_context", "payload": {"model": "gpt-x"}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": total}}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
    ]
    path = written.lines(tmp_path / "rollout-1.jsonl", rollout)
    assert [used[:3] for used in _used("codex", path)] == [("", "gpt-x", Tokens(200, 7, 800))]
    counts = {"input": 100, "output": 5, "cached": 40, "thoughts": 6, "tool": 1, "total": 112}
    path = written.lines(tmp_path / "s.jsonl", [written.gemini_message(1, [], counts)])
    assert [used[:3] for used in _used("gemini-cli", path)] == [("m1", "gemini-x", Tokens(61, 11, 40))]


def _used(host: str, path: Path) -> list[Used]:
    return [item for item in Transcript(transcript_reader(host), path).items() if isinstance(item, Used)]


def test_lines_that_cannot_be_read_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = written.claude_code(tmp_path, "/data/shop", [("Bash", RM)])
    good = path.read_bytes()
    bad = b"\0\0\0\n[1]\n{not json\n" + b"[" * 100_000 + b"\n" + b'"\xff"\n' + b"{" + b"x" * 9_000 + b"}\n\n"
    path.write_bytes(bad + good + b'{"type": "assistant", "mess')
    transcript = Transcript(transcript_reader("claude-code"), path, longest=8_000)
    assert [call.call.args for call in transcript.calls()] == [RM]
    assert transcript.session.skipped == 7


@pytest.mark.prove
def test_memory_is_bounded_by_a_line_not_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": RM}
    line = json.dumps({**written.claude_response(1, "/w", use), "filler": "x" * 20_000}).encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(500):
            file.write(line)
        file.write(b"y" * (24 << 20) + b"\n" + line)
    tracemalloc.start()
    transcript = Transcript(transcript_reader("claude-code"), path)
    assert len(list(transcript.calls())) == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert transcript.session.skipped == 1
    assert peak < 16 << 20, f"{peak:,} bytes for a file of {path.stat().st_size:,}"


def test_line_that_is_too_long_is_passed_over_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 4_000_000 + b"\n" + b'{"sessionId": "s"}\n')
    tracemalloc.start()
    transcript = Transcript(transcript_reader("claude-code"), path, longest=1_000)
    list(transcript.items())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (transcript.session.id, transcript.session.skipped) == ("s", 1)
    assert transcript.offset == path.stat().st_size
    assert peak < 400_000


def test_only_regular_files_are_opened_and_links_lead_nowhere(tmp_path: Path) -> None:
    outside = written.lines(tmp_path / "outside" / "a.jsonl", [written.claude_response(1, "/w")])
    projects = tmp_path / ".claude" / "projects" / "p"
    projects.mkdir(parents=True)
    (projects / "link.jsonl").symlink_to(outside)
    (projects / "folder").symlink_to(outside.parent)
    os.mkfifo(projects / "pipe.jsonl")
    assert transcript_files("claude-code", tmp_path) == []
    for name in ("link.jsonl", "pipe.jsonl", "folder"):
        with pytest.raises(OSError):  # noqa: PT011 (which one depends on what it is)
            list(Transcript(transcript_reader("claude-code"), projects / name).items())


def test_search_for_transcripts_ends_and_skips_what_it_cannot_enter(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (deep / "x.jsonl").touch()
    (tmp_path / "a" / "y.jsonl").touch()
    assert list(find_transcripts(tmp_path, 2, lambda path: True)) == [tmp_path / "a" / "y.jsonl"]
    assert list(find_transcripts(tmp_path / "missing", 2, lambda path: True)) == []


_KEYS = (
    "type timestamp payload message content usage id name input arguments call_id command data toolName toolCalls "
    "tokens messages $set model info"
).split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=6),
    max_leaves=12,
)
KINDS = st.sampled_from(
    "assistant tool_use tool_result response_item function_call local_shell_call event_msg token_count gemini "
    "tool.execution_start session_meta code_action".split()
)


@settings(max_examples=40)
@given(record=st.dictionaries(st.sampled_from(_KEYS), JSON | KINDS, max_size=8), inner=JSON, kind=KINDS)
def test_nothing_that_a_record_holds_stops_a_reader(record: dict[str, Any], inner: Any, kind: str) -> None:
    nested = {
        "type": kind,
        "payload": record,
        "message": {"content": [record], "usage": inner},
        "data": record,
    }
    for host in WITH_TRANSCRIPTS:
        session = Session(host, "/nowhere/chats/x.jsonl")
        for entry in (
            record,
            {**nested, kind: inner},
            {"messages": [record], "toolCalls": inner, "type": "gemini"},
        ):
            for item in transcript_reader(host).read(entry, session):
                assert _well_formed(item)


def _well_formed(item: Item) -> bool:
    match item:
        case RecordedCall(NativeCall() as call, cwd):
            return isinstance(call.tool, str) and isinstance(call.args, dict) and isinstance(cwd, str)
        case Used(str(), str(), Tokens() as tokens):
            return all(isinstance(count, int) and count >= 0 for count in vars(tokens).values())
        case _:
            return True
