"""Recorded runs as answers: which calls, arguments and verdicts they have, whatever the format."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sb.config import load_config
from sb.errors import NotFoundError, UsageError
from sb.evals.answer import Answer
from sb.evals.exchange.messages import UNREADABLE, write_conversation
from sb.evals.exchange.recording import Recording, recording_document
from sb.evals.recorded import answer_to, recorded_answer, recorded_file
from sb.kernel.contracts import SafetyClass
from sb.kernel.trajectory_eval.model import RecordedCall
from sb.operator.demo.story import Demo, demo_config, play
from sb.runtime.parts import open_packets
from tests.hosts.transcripts import written

CONFIG = load_config(
    env={"SB_HOME": "/nowhere", "HOME": "/nowhere"}, cwd=Path("/"), flags={}, with_project=False
)
CALLS = (
    RecordedCall("orders.read", {"order": 1002}, True, SafetyClass.READ_ONLY, 0.5, "c1"),
    RecordedCall("payments.issue_refund", {"order": 1002, "note": "ä", "deep": {"x": [1, None]}}, False),
    RecordedCall("mail.send"),
)


@pytest.fixture
def story(tmp_path: Path) -> Demo:
    (tmp_path / "demo").mkdir()
    return play(tmp_path / "demo")


def test_run_of_the_log_has_every_call_with_its_verdict_and_class(story: Demo) -> None:
    answer = recorded_answer(story.run_id, demo_config(story.home))
    assert [(call.tool, call.success) for call in answer.calls] == [
        ("orders.read", True),
        ("payments.issue_refund", True),
        ("payments.issue_refund", False),
        ("files.write", True),
        ("http.get", False),
        ("shop.label", False),
        ("shop.mail", False),
        ("shell.run", False),
        ("files.read", True),
        ("files.write", False),
    ]
    refund = answer.calls[1]
    assert (refund.args, refund.safety_class) == ({"order": 1002, "amount": 4900}, SafetyClass.NETWORK)
    assert answer.calls[4].safety_class is SafetyClass.NETWORK  # of a refused call, from its contract
    assert answer.calls[5].safety_class is None  # a tool that this home does not load any more
    assert not answer.output


def test_beginning_of_an_id_names_the_run(story: Demo) -> None:
    config = demo_config(story.home)
    assert recorded_answer(story.run_id[:10], config) == recorded_answer(story.run_id, config)


def test_run_that_is_not_on_record_is_an_error(story: Demo) -> None:
    with pytest.raises(NotFoundError, match="no run run_000000"):
        recorded_answer("run_000000", demo_config(story.home))


def test_packet_gives_the_arguments_that_the_log_clips(tmp_path: Path) -> None:
    from sb.kernel.run_context import RunContext
    from sb.operator.demo.story import AGENT, prepare
    from sb.runtime import open_runtime

    (tmp_path / "demo").mkdir()
    home, _ = prepare(tmp_path / "demo")
    open_packets(demo_config(home)).capture(AGENT, on=True)
    content = "a long line\n" * 5_000
    with open_runtime(demo_config(home)) as runtime:
        ctx = RunContext.create(AGENT, intent="write")
        with runtime.executor.run(ctx):
            runtime.executor.execute(ctx, "files.write", {"path": "long.md", "content": content})
    config = demo_config(home)
    [call] = recorded_answer(ctx.run_id, config).calls
    assert call.args == {"path": "long.md", "content": content}
    open_packets(config).delete(ctx.run_id)
    [logged] = recorded_answer(ctx.run_id, config).calls
    assert logged.args != call.args
    assert (logged.success, logged.safety_class) == (True, SafetyClass.LOCAL_WRITE)


def saved(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_recordings_come_back_as_they_were_written(tmp_path: Path) -> None:
    recordings = [
        Recording(Answer("done", CALLS, cost_cents=1.5, seconds=2.0), "one", "refund it"),
        Recording(Answer(error="it died"), "two", [{"role": "user", "content": "hi"}]),
    ]
    file = saved(tmp_path / "runs.jsonl", *map(recording_document, recordings))
    assert recorded_file(file) == recordings
    assert answer_to("two", recordings).error == "it died"
    assert answer_to("three", recordings).error == "no recorded answer to three"


def test_openai_messages_round_trip_calls_and_success(tmp_path: Path) -> None:
    first = Recording(Answer("done", CALLS), "one", "refund it")
    messages = write_conversation(first)
    for name, value in (("list.json", messages), ("object.json", {"id": "one", "messages": messages})):
        [found] = recorded_file(saved(tmp_path / name, value))
        assert [(call.tool, call.args, call.success) for call in found.answer.calls] == [
            (call.tool, call.args, call.success) for call in CALLS
        ]
        assert (found.answer.output, found.input) == ("done", "refund it")
    [by_line] = recorded_file(saved(tmp_path / "lines.jsonl", *messages))
    assert len(by_line.answer.calls) == 3


@pytest.mark.parametrize(
    ("result", "ok"),
    [
        ("fine", True),
        ("Error: user not found", False),
        ('{"error": "no such order"}', False),
        ('{"error": null, "refund": 1}', True),
        ('{"ok": false}', False),
        ('{"success": false}', False),
        ("", True),
    ],
)
def test_result_that_says_so_makes_a_call_failed(tmp_path: Path, result: str, ok: bool) -> None:
    wanted = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [wanted]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]
    [found] = recorded_file(saved(tmp_path / "m.json", messages))
    assert found.answer.calls[0].success is ok


def test_parallel_calls_responses_and_content_blocks_are_read(tmp_path: Path) -> None:
    function = {"name": "f", "arguments": '{"n": 1}'}
    parallel = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [{"id": i, "function": function} for i in "ab"]},
        {"role": "tool", "tool_call_id": "b", "content": "Error"},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
    ]
    responses = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "f", "arguments": '{"n": 1}', "call_id": "a"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    blocks = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"n": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": True}]},
    ]
    found = recorded_file(saved(tmp_path / "m.json", [parallel, responses, blocks]))
    assert [[call.success for call in recording.answer.calls] for recording in found] == [
        [True, False],
        [True],
        [False],
    ]
    assert all(call.args == {"n": 1} for recording in found for call in recording.answer.calls)
    assert found[1].answer.output == "done"


def test_arguments_that_are_no_object_fit_no_step(tmp_path: Path) -> None:
    wanted = {"id": "c", "function": {"name": "f", "arguments": '{"n": 1'}}
    [found] = recorded_file(saved(tmp_path / "m.json", [{"role": "assistant", "tool_calls": [wanted]}]))
    assert found.answer.calls[0].args == {UNREADABLE: '{"n": 1'}


def span(number: int, name: str, trace: str = "t1", **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **more}
    return {
        "traceId": trace,
        "spanId": f"s{number}",
        "startTimeUnixNano": str(number * 10**9),
        "endTimeUnixNano": str(number * 10**9 + 5 * 10**6),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        "status": {"code": 2} if "error.type" in more else {},
    }


def test_spans_of_a_trace_are_one_run_in_the_order_of_their_starts(tmp_path: Path) -> None:
    chat = span(0, "") | {
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {
                "key": "gen_ai.output.messages",
                "value": {
                    "stringValue": json.dumps(
                        [{"role": "assistant", "parts": [{"type": "text", "content": "refunded"}]}]
                    )
                },
            },
        ]
    }
    spans = [
        span(2, "payments.issue_refund", **{"error.type": "TIMEOUT", "sb.tool.safety_class": "network"}),
        chat,
        span(1, "orders.read", **{"gen_ai.tool.call.arguments": '{"order": 1002}', "sb.run.id": "run_1"}),
        span(3, "other", "t2"),
    ]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    first, second = recorded_file(saved(tmp_path / "spans.jsonl", document))
    assert first.case_id == "run_1"
    assert first.answer.output == "refunded"
    assert first.answer.calls == (
        RecordedCall("orders.read", {"order": 1002}, True, None, 5.0, "s1"),
        RecordedCall("payments.issue_refund", {}, False, SafetyClass.NETWORK, 5.0, "s2"),
    )
    assert [call.tool for call in second.answer.calls] == ["other"]


@pytest.mark.parametrize("write", [written.claude_code, written.codex, written.cursor, written.windsurf])
def test_transcript_has_the_calls_under_the_contracts_of_hooks(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    shell = "Shell" if write is written.cursor else "Bash"
    calls = [(shell, {"command": "ls"}), (shell, {"command": "rm -rf build"})]
    file = write(tmp_path, str(tmp_path), calls)
    [found] = recorded_file(file)
    assert [call.tool for call in found.answer.calls] == ["host.shell.read", "host.shell.destructive"]
    assert found.answer.calls[1].args["command"] == "rm -rf build"
    assert found.answer.calls[0].safety_class is SafetyClass.READ_ONLY
    assert answer_to("any", [found]) == found.answer


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"calls": [{"tool": "f"}]}\n{"calls": [{"args": {}}]}\n', "runs.jsonl:2: call: tool is missing"),
        (b'{"calls": [{"tool": "f", "args": []}]}', "runs.jsonl:1: call: args: must be a mapping"),
        (b'{"calls": [{"tool": "f", "success": "yes"}]}', "success: must be true or false"),
        (b'{"calls": []}\n{"calls"', "runs.jsonl:2: not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"a": 1}', "neither recordings"),
        (b"[" * 100_000, "not JSON"),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "x"}]}]}]}', "not a time"),
    ],
)
def test_file_that_cannot_be_read_says_where_and_why(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        recorded_file(file)


NAMES = st.sampled_from(
    "role content type tool_calls function name arguments id call_id messages output calls tool args resourceSpans"
    " scopeSpans spans attributes key value stringValue intValue traceId startTimeUnixNano events status input".split()
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(("assistant", "function_call", "execute_tool", "{", "")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(("user", "assistant", "tool", "function"))},
        optional=dict.fromkeys(
            ("content", "tool_calls", "function_call", "tool_call_id", "name", "type"), ANYTHING
        ),
    ),
    min_size=1,
    max_size=4,
)
SPANS = st.fixed_dictionaries(
    {},
    optional={
        "attributes": st.lists(
            st.fixed_dictionaries(
                {
                    "key": st.sampled_from(
                        (
                            "gen_ai.tool.name",
                            "gen_ai.tool.call.arguments",
                            "gen_ai.output.messages",
                            "gen_ai.input.messages",
                            "sb.tool.safety_class",
                            "sb.run.id",
                            "error.type",
                        )
                    ),
                    "value": ANYTHING | st.fixed_dictionaries({"stringValue": ANYTHING}),
                }
            ),
            max_size=4,
        ),
        **dict.fromkeys(
            ("startTimeUnixNano", "endTimeUnixNano", "status", "events", "name", "traceId"), ANYTHING
        ),
    },
).map(lambda span: {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})


@settings(max_examples=100)
@given(value=ANYTHING | MESSAGES | SPANS)
def test_whatever_a_file_holds_it_is_read_or_refused(
    value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = saved(tmp_path_factory.getbasetemp() / "any.json", value)
    with suppress(UsageError):
        for recording in recorded_file(file, config=CONFIG):
            recording_document(recording)


def test_empty_file_has_no_recordings_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert recorded_file(tmp_path / "empty.jsonl") == []
    with pytest.raises(UsageError, match="cannot be read"):
        recorded_file(tmp_path / "missing.jsonl")
