"""Redaction: a secret of a known shape, or in a sensitive argument, reaches the tool and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.kernel import RunContext, SafetyClass, ToolArgSchema, ToolRegistry
from sb.kernel.data_classification import (
    is_card_number,
    may_be_sensitive,
    redact,
    redact_text,
    scrub,
)
from sb.kernel.narrative import log_line
from sb.kernel.tooling.executor import ToolExecutor
from sb.state import EventLog
from sb.store.anchor import Anchor
from sb.store.database import open_database

B, A, N = "b" * 40, "A1" * 30, "0123456789abcdef"
SECRETS = {
    "private_key": f"-----BEGIN RSA PRIVATE KEY-----\n{B}\n-----END RSA PRIVATE KEY-----",
    "url_password": "hunter2hunter2",
    "aws_key_id": "AKIA" + "Q7" * 8,
    "github_token": "ghp_" + "a1" * 18,
    "gitlab_token": "glpat-" + "x7" * 10,
    "slack_token": "xoxb-123456789012-" + "a1" * 10,
    "anthropic_key": "sk-ant-api03-" + "a1" * 20,
    "openai_key": "sk-proj-" + "a1" * 20,
    "stripe_key": "sk_live_" + "a1" * 10,
    "google_key": "AIza" + "a1" * 17 + "x",
    "npm_token": "npm_" + "a1" * 18,
    "pypi_token": "pypi-" + "a1" * 30,
    "huggingface_token": "hf_" + "a1" * 17,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "email": "ada.lovelace@example.org",
    "card": "4111 1111 1111 1111",
}
IN_TEXT = {"url_password": "postgres://app:hunter2hunter2@db/prod"}


@pytest.mark.parametrize("label", SECRETS)
def test_each_known_shape_is_masked_and_the_text_around_it_kept(label: str) -> None:
    text = f"before {IN_TEXT.get(label, SECRETS[label])} after"
    masked = redact_text(text)
    assert SECRETS[label] not in masked
    assert f"[redacted:{label}]" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert redact_text(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "password: correcthorse",
        'api_key = "zq81hf92hs"',
        '"client_secret": "zq81hf92hs"',
        "the token is zq81hf92hs1",
        "AWS_SECRET_ACCESS_KEY=zq81hf92hs",
        "Authorization: Bearer zq81hf92hszq81hf92hs",
    ],
)
def test_a_value_beside_a_key_word_is_masked(text: str) -> None:
    assert "zq81" not in redact_text(text)
    assert "correcthorse" not in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "9b2b1c1e-52a4-4b6b-9a0e-1d1f0e8a7a11",
        "version 1.2.3, build 20261120",
        "order 4111111111111112 has no valid check digit",
        "IMEI 490154203237518",
        "see https://example.org/a:b@c",
        "def password(self): return None",
        "password: <your password>",
        "the secret is out",
        "tokens: 512",
        "user@localhost",
        "the budget of 100000000000 units",
        "sha256:" + N * 4,
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "number", ["4111111111111111", "5555-5555-5555-4444", "378282246310005", "6011111111111117"]
)
def test_card_numbers_of_the_large_issuers_are_known(number: str) -> None:
    assert is_card_number(number)


def test_fields_whose_name_says_secret_are_masked_whole() -> None:
    found = redact(
        {"password": "x", "db": {"api_key": "12345"}, "tokens": 17, "pin_token": 12345678, "note": "ok"}
    )
    assert found == {
        "password": "[redacted:keyed_secret]",
        "db": {"api_key": "[redacted:keyed_secret]"},
        "tokens": 17,
        "pin_token": "[redacted:keyed_secret]",
        "note": "ok",
    }


@given(st.text(max_size=60), st.sampled_from(sorted(SECRETS)), st.text(max_size=60))
def test_what_the_quick_look_calls_clean_has_nothing_to_mask(before: str, label: str, after: str) -> None:
    text = f"{before} {IN_TEXT.get(label, SECRETS[label])} {after}"
    assert may_be_sensitive(text)
    for sample in (before, after):
        if not may_be_sensitive(sample):
            assert redact_text(sample) == sample


@given(
    st.recursive(
        st.text(max_size=20) | st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
)
def test_redacting_keeps_the_shape_of_a_value(value: Any) -> None:
    masked = redact(value)
    assert type(masked) is type(value) or masked == "[redacted:card]"
    if isinstance(value, list):
        assert len(masked) == len(value)


def test_scrubbing_finds_a_value_wherever_it_went() -> None:
    found = scrub({"a": ["pin 9371!", 9371], "9371": {"b": 9371.5}}, ["9371"])
    assert "9371," not in str(found)
    assert found["a"] == ["pin [redacted:sensitive]!", "[redacted:sensitive]"]


CANARIES = [*SECRETS.values(), "short-canary-77", "nested-canary-88"]


def call_with_canaries(executor: ToolExecutor, ctx: RunContext) -> None:
    for name in ("t.fine", "t.fails", "t.hangs", "t.gone", "t.destroys"):
        for secret in SECRETS.values():
            text = next((IN_TEXT[label] for label in IN_TEXT if SECRETS[label] == secret), secret)
            args = {
                "text": f"use {text} now",
                "long": "x " * 3000 + text + " y" * 3000,
                "pin": "short-canary-77",
                "deep": {"list": ["nested-canary-88"]},
                "typo": "short-canary-77",
            }
            if name != "t.gone":
                args.pop("typo")
            executor.execute(ctx, name, args)
            executor.execute(ctx, name, {**args, "typo": "short-canary-77"})


def everything_written(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()


def test_no_canary_reaches_a_table_a_message_a_log_line_or_a_screen(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    registry = ToolRegistry()
    schema = [
        ToolArgSchema("text"),
        ToolArgSchema("long"),
        ToolArgSchema("pin", sensitive=True),
        ToolArgSchema("deep", "object", sensitive=True),
    ]

    def echo(**args: Any) -> dict[str, Any]:
        return {"echo": args}

    def fail(**args: Any) -> None:
        raise RuntimeError(f"cannot use {args}")

    def hang(**args: Any) -> None:
        raise TimeoutError(f"no answer to {args}")

    for tool_id, fn, safety_class in [
        ("t.fine", echo, SafetyClass.LOCAL_WRITE),
        ("t.fails", fail, SafetyClass.READ_ONLY),
        ("t.hangs", hang, SafetyClass.NETWORK),
        ("t.destroys", echo, SafetyClass.DESTRUCTIVE),
    ]:
        registry.register_fn(tool_id, tool_id, fn, safety_class, args_schema=schema, max_retries=0)
    log = EventLog(open_database(tmp_path / "brain.db"), anchor=Anchor(tmp_path / "anchors.jsonl"))
    executor = ToolExecutor(registry, event_log=log)
    from sb.kernel import RunBudget

    ctx = RunContext.create(
        "agent",
        intent="log in with " + SECRETS["github_token"],
        budget=RunBudget(max_tool_calls=10**6, max_latency_ms=10**9),
    )
    with executor.run(ctx):
        call_with_canaries(executor, ctx)
        messages = executor.execute(
            ctx, "t.fails", {"text": SECRETS["email"], "long": "", "pin": "short-canary-77", "deep": {}}
        ).error_message
    for event in log.events():
        print(log_line(event))
    log.append("kernel.memory.put", {"intent": SECRETS["jwt"]})
    written = b"".join(everything_written(tmp_path))
    shown = capfd.readouterr()
    for canary in CANARIES:
        assert canary.encode() not in written, canary
        assert canary not in shown.out + shown.err + messages + caplog.text
    log.close()
    assert all(canary.encode() not in b"".join(everything_written(tmp_path)) for canary in CANARIES)
