"""Guarantees for a person who lets agents connect over HTTP."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.base.sources import SteeredClock
from sb.config import current_config
from sb.errors import NotFoundError, UsageError
from sb.kernel.authority.signing import Label
from sb.kernel.boundaries.tokens import AccessTokens
from sb.kernel.incident_response.statements import TOKENS
from sb.kernel.review.log_verification import verify
from sb.log.event import Subject
from sb.log.kinds import TOKEN_CREATED
from sb.runtime import Runtime, open_runtime
from sb.runtime.parts import open_authority

ADA = Label("ada")
DAY = 86_400


@pytest.fixture
def runtime(home: Path, clock: SteeredClock) -> Runtime:
    return open_runtime(current_config(), clock=clock)


@pytest.fixture
def tokens(runtime: Runtime) -> AccessTokens:
    return AccessTokens(runtime.log, open_authority(runtime.config, runtime.log))


def make(tokens: AccessTokens, agent: str = "scribe", lifetime_s: float | None = 90 * DAY) -> str:
    return tokens.create(agent, ["core", "kernel"], ADA, "the laptop", lifetime_s=lifetime_s)[0]


def delete_revocations(runtime: Runtime) -> None:
    with runtime.database.write() as execute:
        of_events = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'events'"
        for (name,) in execute(of_events).fetchall():
            execute(f"DROP TRIGGER {name}")
        execute("DELETE FROM events WHERE kind = 'token.revoked'")


def test_what_another_process_decides_counts_at_the_next_request(
    runtime: Runtime, tokens: AccessTokens
) -> None:
    secret = make(tokens)
    assert tokens.verify(secret) is not None
    with open_runtime(current_config(), clock=runtime.log.clock) as elsewhere:
        others = AccessTokens(elsewhere.log, open_authority(elsewhere.config, elsewhere.log))
        added = make(others, "clerk")
        assert tokens.verify(added) is not None
        others.revoke(secret[:20], ADA, "lost")
        assert tokens.verify(secret) is None
    delete_revocations(runtime)
    assert tokens.verify(secret) is None


def test_a_token_is_its_agents_until_it_is_revoked(tokens: AccessTokens) -> None:
    secret, other = make(tokens), make(tokens, "clerk")
    known = tokens.verify(secret)
    assert known is not None
    assert (known.agent, known.toolsets) == ("scribe", ("core", "kernel"))
    tokens.revoke(known.id[:10], ADA, "lost")
    assert tokens.verify(secret) is None
    assert tokens.verify(other) is not None
    with pytest.raises(UsageError, match="was revoked by ada"):
        tokens.revoke(known.id, ADA, "again")


def test_a_token_ends_by_itself(tokens: AccessTokens, clock: SteeredClock) -> None:
    secret = make(tokens, lifetime_s=DAY)
    clock.time += DAY - 1
    assert tokens.verify(secret)
    clock.time += 2
    assert tokens.verify(secret) is None


def test_the_secret_stands_nowhere_in_the_home(tokens: AccessTokens, home: Path) -> None:
    secret = make(tokens).rpartition("_")[2]
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]


@given(st.data())
def test_nothing_but_the_token_is_one(data: st.DataObject) -> None:
    from sb.kernel.authority.authority import Authority
    from sb.log.event_log import EventLog

    log = EventLog()
    tokens = AccessTokens(log, Authority(None, log))
    secret = make(tokens)
    place = data.draw(st.integers(0, len(secret) - 1))
    char = data.draw(st.sampled_from("0123456789abcdefg_ \n"))
    changed = secret[:place] + char + secret[place + 1 :]
    assert (tokens.verify(changed) is None) == (changed != secret)
    assert tokens.verify(secret[: place + 1] if place < len(secret) - 1 else "") is None


def test_log_with_tokens_verifies_until_one_is_forged_or_deleted(
    tokens: AccessTokens, runtime: Runtime
) -> None:
    make(tokens)
    tokens.revoke(tokens.all()[0].id, ADA, "lost")
    assert verify(runtime.log).problems == []
    runtime.log.append(TOKEN_CREATED, {}, Subject(call_id=TOKENS), {"signed": {}})
    assert "token.created, was put into the database by something else" in " ".join(
        verify(runtime.log).problems
    )
    delete_revocations(runtime)
    assert "token.revoked, is gone from the log" in " ".join(verify(runtime.log).problems)


def test_a_token_that_an_agent_wrote_on_the_log_itself_is_none(
    tokens: AccessTokens, runtime: Runtime
) -> None:
    make(tokens)
    known = tokens.all()[0]
    forged = f"sbt_{'0' * 16}_{'1' * 64}"
    facts = vars(known) | {"id": forged[:20], "digest": hashlib.sha256(b"1" * 64).hexdigest()}
    signed = {"statement": facts | {"toolsets": "core", "by": "ada", "key": "", "at": "", "expires": ""}}
    runtime.log.append(TOKEN_CREATED, {}, Subject(call_id=TOKENS), {"signed": signed})
    assert tokens.verify(forged) is None


def test_a_revocation_that_was_deleted_still_counts(tokens: AccessTokens, runtime: Runtime) -> None:
    secret = make(tokens)
    known = tokens.verify(secret)
    assert known is not None
    tokens.revoke(known.id, ADA, "lost")
    delete_revocations(runtime)
    assert tokens.verify(secret) is None


@pytest.mark.parametrize("lifetime_s", [0, -1, 367 * DAY])
def test_a_lifetime_that_is_none_is_refused(tokens: AccessTokens, lifetime_s: float) -> None:
    with pytest.raises(UsageError, match="at most 366 days"):
        make(tokens, lifetime_s=lifetime_s)
    assert tokens.all() == []


def test_a_token_that_there_is_not_is_not_found(tokens: AccessTokens) -> None:
    with pytest.raises(NotFoundError, match="no such token"):
        tokens.revoke("sbt_0000", ADA, "lost")
