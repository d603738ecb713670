"""Redaction: a secret of a known shape, or in a sensitive argument, reaches the tool and nothing else."""

from __future__ import annotations

import html
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.secrets.redaction import (
    is_card_number,
    may_be_sensitive,
    redact,
    redact_text,
    scrub,
)
from sb.kernel import RunContext, SafetyClass, ToolArgSchema, ToolRegistry
from sb.kernel.execution.executor import ToolExecutor
from sb.log.event_log import EventLog
from sb.present.events import log_line
from sb.store.anchor import Anchor
from sb.store.database import open_database
from tests.rows import rows

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
    "sb_token": "sbt_" + "a1" * 8 + "_" + "c3" * 32,
    "npm_token": "npm_" + "a1" * 18,
    "pypi_token": "pypi-" + "a1" * 30,
    "huggingface_token": "hf_" + "a1" * 17,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "email": "ada.lovelace@example.org",
    "card": "4111 1111 1111 1111",
}
IN_TEXT = {"url_password": "postgres://app:hunter2hunter2@db/prod"}


@rows("label", SECRETS)
def test_each_known_shape_is_masked_and_the_text_around_it_kept(label: str) -> None:
    text = f"before {IN_TEXT.get(label, SECRETS[label])} after"
    masked = redact_text(text)
    assert SECRETS[label] not in masked
    assert f"[redacted:{label}]" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert redact_text(masked) == masked


@rows(
    "text",
    [
        "password: correcthorse",
        'api_key = "zq81hf92hs"',
        '"client_secret": "zq81hf92hs"',
        "the token is zq81hf92hs1",
        "AWS_SECRET_ACCESS_KEY=zq81hf92hs",
        "Authorization: Bearer zq81hf92hszq81hf92hs",
        "clientSecret: zq81hf92hs",
        "SECRET_KEY='zq81 hf92 two words'",
        "API key: zq81hf92hs",
        "curl -u bob:zq81 http://example.org",
        "postgres://app:zq/81@db/prod",
        "DB_PASS=zq81hf92hs",
        "smtp_pass: 'zq81hf92hs'",
        "mysql --password zq81hf92hs shop",
        "mysql -uroot -pzq81hf92hs shop -e 'drop table a'",
        "mysqldump -h db -p'zq81hf92hs' shop",
        "sshpass -p zq81hf92hs ssh host",
        "redis-cli -h cache -a zq81hf92hs flushall",
        "docker login -u ada -p zq81hf92hs registry.example.com",
        "sqlcmd -S db -U sa -P zq81hf92hs",
        "mongosh -u ada -p zq81hf92hs",
        "htpasswd -nb ada zq81hf92hs",
        "htpasswd -bc .htpasswd ada zq81hf92hs",
        "redis-cli --pass zq81 ping",
        "PGPASSWORD=zq81 psql -h db",
        "MYSQL_PWD=zq81 mysql shop",
        "openssl rsa -in key.pem -passin pass:zq81",
        "openssl enc -aes-256-cbc -k zq81 -in a",
        "7z a -pzq81 a.7z src",
        "zip -P zq81 a.zip src",
        "unzip -P zq81 a.zip",
        "gpg --batch --passphrase zq81 -c a",
        "wget --user ada --password zq81 https://example.org/a",
        "echo zq81 | sudo -S ls",
        "echo 'ada:zq81' | chpasswd",
        "ldapsearch -D cn=ada -w zq81 -x",
        "smbclient //host/share -U ada%zq81",
        "keytool -list -storepass zq81hf -keystore a.jks",
        "http -a ada:zq81 https://example.org/a",
        "lftp -u ada,zq81 ftp.example.org",
        "npm config set //registry.npmjs.org/:_authToken zq81hf92hs",
        "aws configure set aws_secret_access_key zq81hf92hszq81hf92hs",
        "mysqladmin password zq81hf92hs",
        "mysqladmin -u root -h db password 'zq81hf92hs'",
        "mariadb-admin -uroot password zq81hf92hs",
        "usermod -p zq81hf92hs bob",
        "usermod -p '$6$zq81$hf92hs' bob",
        "useradd -m --password zq81hf92hs bob",
        "ssh-keygen -t ed25519 -N zq81hf92hs -f k",
        "ssh-keygen -p -P zq81hf92 -N 'zq81hf92hs' -f k",
        r"net use Z: \\srv\share zq81hf92hs /user:bob",
        r"net use \\srv\share /user:corp\bob zq81hf92hs",
        r'{"command": "net use Z: \\\\srv\\share zq81hf92hs"}',
        "rclone config create r s3 provider AWS secret_access_key zq81hf92hs",
        "rclone config create r sftp host h user u pass zq81hf92hs",
        "rclone config password r pass zq81hf92hs",
        "rclone config create r s3 key zq81hf92 client_secret zq81hf92hs",
        "deploy --api-key zq81hf92hs --dry-run",
        "deploy --secretkey zq81hf92hs --dry-run",
        "deploy --secretaccesskey zq81hf92hs",
        "gh --auth-token 'zq81hf92hs' api",
        r'curl -d "{\"password\":\"zq81hf92hs\"}" https://example.org',
        r"{\"api_key\": \"zq81hf92hs\"}",
        "Authorization: token zq81hf92hszq81hf92hs",
        "password = zq81.hf92(x",
        "password: abc(zq81)",
        "fatal: bad shallow line: machine example.org login ada password zq81hf",
        "machine example.org\n  login ada\n  password zq81",
        "default login ada account x password 'zq81'",
        "error: bad graft data: login ada password zq81hf92",
        "error: bad graft data:   password zq81hf92",
        "fatal: unexpected line in .git/packed-refs: https://ada:zq81@example.org",
        "error: invalid line 2: b3BlbnNzaC1rZXktdjEAAAAABG5vbmUzq81",
        "fatal: bad shallow line: -----BEGIN OPENSSH PRIVATE KEY----- zq81",
    ],
)
def test_a_value_beside_a_key_word_is_masked(text: str) -> None:
    assert "zq81" not in redact_text(text)
    assert "correcthorse" not in redact_text(text)


@rows(
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
        "machine learning and login pages: the default password is empty",
        "the machine has a login, and asks for its password 3 times",
        "error: password incorrect",
        "  login form: password field 12 is empty",
        "the secret is out",
        "tokens: 512",
        "user@localhost",
        "the budget of 100000000000 units",
        "the token is required",
        "/etc/passwd is the list of users",
        "argument 'password' is missing",
        "max_tokens=200000",
        "prompt_tokens=plan.tokens_used",
        "token: Optional[str]",
        "git@github.com:org/repo",
        "logo@2x.png",
        "sk-toggleable__content-label",
        "sha256:" + N * 4,
        "password: string;",
        "password = getpass.getpass()",
        "csrf_token = secrets.token_hex(32)",
        "secret = uuid4().hex",
        'password = request.form["password"]',
        "Client(password=user.password, secret=process.env.SECRET)",
        "password = var.db_password",
        'password: "{{ vault_db_password }}"',
        "password: !vault |",
        "password: op://prod/db/password",
        "secret: projects/123/secrets/db/versions/latest",
        "PWD=/data/ada/src",
        "credentials: include in fetch()",
        "secrets: inherit",
        "passphrase: asked on the terminal",
        "postgres://$USER:$PASSWORD@db/shop",
        "postgres://user:<password>@db/shop",
        'curl -u "$USER:$PASS" https://api.example.com',
        "--password-stdin reads the token",
        "mysql -u root -p shop",
        "mysql -h db -P3306 -p$MYSQL_PWD",
        "docker run --name mysql -p3306:3306 mysql:8",
        "redis-cli -a $REDIS_PASSWORD ping",
        "htpasswd -c .htpasswd ada",
        "PGPASSWORD=$DB_PASSWORD psql",
        "openssl req -new -key key.pem -passin env:PASS",
        "zip -r a.zip src",
        "unzip -p a.zip README.md",
        "tar -xzf a.tgz -C p",
        "ssh -p 2222 host",
        "echo done | sudo tee /tmp/x",
        "gpg --passphrase-file key -c a",
        "docker run -p 8080:80 nginx",
        "docker login -u ada --password-stdin",
        "--password is deprecated since version 2",
        "--token $TOKEN",
        "mysqladmin -u root -p status",
        "mysqladmin password $NEW",
        "usermod -aG docker bob",
        "useradd -p $HASH bob",
        'usermod -p "$(openssl passwd -6)" bob',
        "ssh-keygen -t ed25519 -N '' -f k",
        'ssh-keygen -t ed25519 -N "" -C ada',
        "ssh-keygen -l -f k.pub",
        r"net use Z: \\srv\share /user:bob",
        r"net use Z: \\srv\share * /user:bob",
        r"net use Z: \\srv\share && dir Z:",
        "rclone config create r drive scope drive",
        "rclone config create r s3 secret_access_key $KEY",
        "first_pass: 120.5s",
        "http://u:${PASSWORD}@proxy:3128",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_text(text) == text


@rows("number", ["4111111111111111", "5555-5555-5555-4444", "378282246310005", "6011111111111117"])
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


HOSTILE = [
    *("a" * 200_000 + "://", "a://" * 50_000, "aeyJaaaaaaaaaa" * 14_000, "eyJ" + "a" * 200_000),
    *("-----BEGIN PRIVATE KEY-----" * 7_000, "password   " * 18_000, "password: '" + "x" * 200_000),
    *(
        "sk-" * 66_000,
        "sk-" + "a" * 200_000,
        "curl -u " * 25_000,
        "mysql -h " * 25_000,
        "token:" + "a" * 200_000,
        "secret is " * 20_000,
    ),
    *(
        "a@" * 100_000,
        "a@" + "b." * 100_000,
        "1-" * 100_000,
        "4" * 200_000,
        "SG." + "a" * 200_000,
        "ghp_" * 50_000,
    ),
]


@rows("text", HOSTILE)
def test_no_text_takes_long_to_redact(text: str) -> None:
    started = time.process_time()
    redact_text(text)
    assert time.process_time() - started < 5  # a quadratic pattern takes minutes


def test_names_that_become_equal_lose_no_value() -> None:
    assert sorted(redact({"bob@example.org": 1, "ann@example.org": 2}).values()) == [1, 2]


def test_lists_and_objects_under_a_secret_name_and_after_a_secret_flag_are_masked() -> None:
    masked = redact(
        {"credentials": ["a", {"b": "c"}], "argv": ["x", "--password", "hunter", "--max-tokens", "100"]}
    )
    assert masked["credentials"] == ["[redacted:keyed_secret]", {"b": "[redacted:keyed_secret]"}]
    assert masked["argv"] == ["x", "--password", "[redacted:keyed_secret]", "--max-tokens", "100"]


def sensitive_call(value: Any, fn: Any, **more: Any) -> tuple[str, str]:
    """The error message of a call with a sensitive argument, and all that was written of it."""
    registry = ToolRegistry()
    schema = [ToolArgSchema("pin", "any", sensitive=True), ToolArgSchema("note", required=False)]
    registry.register_fn("t.x", "X", fn, args_schema=schema, max_retries=0)
    executor = ToolExecutor(registry)
    message = executor.execute(RunContext.create("a"), "t.x", {"pin": value, **more}).error_message
    return message, "".join(str(event.to_dict()) for event in executor.event_log.events())


@pytest.mark.parametrize(
    "value",
    ["correct  horse\nbattery", 'it\'s \\ "quoted"', "naïve 日本", "a\tb\tc", "p&ss/w<rd+1%", 4711471],
)
@pytest.mark.parametrize(
    "echo",
    [
        str,
        repr,
        ascii,
        json.dumps,
        lambda value: html.escape(str(value)),
        lambda value: quote(str(value)),
        lambda value: quote(str(value), safe=""),
        lambda value: quote_plus(str(value)),
        lambda value: httpx.URL("https://a.test/x", params={"pin": str(value)}).query.decode()[4:],
    ],
    ids=["str", "repr", "ascii", "json", "html", "path", "component", "form", "client"],
)
def test_a_sensitive_value_is_masked_however_a_tool_spells_it(value: Any, echo: Any) -> None:
    def tool(pin: Any, note: str = "") -> None:
        raise RuntimeError(f"cannot use {echo(pin)}")

    message, written = sensitive_call(value, tool)
    for text in (str(value), " ".join(str(value).split()), echo(value)):
        assert text not in message
        assert text not in written
    assert "[redacted:sensitive]" in message


def test_a_sensitive_value_is_masked_in_visible_arguments_too() -> None:
    _, written = sensitive_call("canary-55", lambda pin, note: note, note="my pin is canary-55")
    assert "canary-55" not in written


def test_more_sensitive_texts_than_can_be_looked_for_mask_everything() -> None:
    def tool(pin: Any, note: str = "") -> None:
        raise RuntimeError(f"cannot use {pin[7]}")

    message, written = sensitive_call([f"canary-{number}" for number in range(2_000)], tool)
    assert "canary" not in message + written


def test_the_masks_own_letters_as_arguments_do_no_harm() -> None:
    mask = "[redacted:sensitive]"
    pieces = [mask[at : at + size] for size in (1, 2, 3) for at in range(len(mask))]
    message, written = sensitive_call("p", lambda pin, note="": 1, extra=pieces)
    assert message == "t.x: unknown argument 'extra'"
    assert len(written) < 5_000


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
