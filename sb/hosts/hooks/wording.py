"""The text for an agent whose call was not run: what happened, what to do now, what not to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sb.hosts.hooks.event import INSTEAD, Decision, HookVerdict
from sb.kernel.contracts import ToolResult

# A finding of the shell's judge, such as "rm -r: deletes a folder": a program, and a sentence about it.
_FINDING = re.compile(r"(^|; )([^:;]{1,80}): (?=[a-z]+s\b)")
MUST_APPROVE = "{}, so a person must approve it"  # the form of what a call would do
_LAPSED = "The user was asked about this call before and gave no yes; that question has lapsed."
_ASKED_AGAIN = (
    f"SecondBrain: {_LAPSED} The call did not run, and is not on record as denied. The user is asked anew now. If they "
    "tell you no, or do not answer, do not repeat or rephrase the call: go on with other work, or ask how to go on."
)
# What to do after a refusal, by the rule that decided it.
_AFTER = {
    "killed": "Stop working, do not try other calls, and tell the user: only they can lift this.",
    "approval_denied": "The user decided this: do not repeat or rephrase the call. Ask how to go on.",
}


def sentence(why: str) -> str:
    """Findings as clauses: "rm -r deletes a folder", not "rm -r: deletes a folder"."""
    return _FINDING.sub(r"\1\2 ", why)


def message_refused(labels: Sequence[str]) -> str:
    """Of the last message of a turn, that holds what its reader should not see."""
    listed = ", ".join(label.replace("_", " ") for label in labels)
    return (
        f"SecondBrain: your last message holds what must not be shown ({listed}). Write it again without these values, "
        "and add nothing. Do not say them in another form."
    )


def denied(result: ToolResult, refused: str, host: str) -> str:
    """Of a call that no approval would let run.

    Args:
        refused: why no agent may make it, "" where something else stopped it.
        host: the agent's name.
    """
    from sb.shell.handlers.handlers import NEEDS_AGENT

    why = result.error_message
    if refused.endswith(NEEDS_AGENT):
        return f"SecondBrain: not run: {why}. Repeat it with `--agent {host}`."
    return f"SecondBrain: not run: {why}. {after_refusal(result.rule)}"


def after_refusal(rule: str) -> str:
    """Instructions to an agent after a refusal.

    Args:
        rule: what decided it, as the log names it.
    """
    return _AFTER.get(rule, INSTEAD)


def ask_for_approval(approval_id: str, expiry: str = "") -> str:
    """Instructions to an agent whose request waits: who decides it, and what to do then.

    Args:
        expiry: a sentence about when the request expires; "" for none.
    """
    return (
        f"ask the user to approve it in `sb console` or with `sb approvals approve {approval_id} --reason WHY`.{expiry} "
        "Do not work around it. When it is approved, repeat exactly this call."
    )


def asks(because: str, data: dict[str, Any]) -> HookVerdict:
    """The verdict that has the host ask its person: the question, and what the agent is told of an earlier one."""
    if not data.get("lapsed"):
        return HookVerdict(Decision.ASK, f"SecondBrain: {because}")
    return HookVerdict(Decision.ASK, f"SecondBrain asks again: {because}", _ASKED_AGAIN)


def waits(because: str, approval_id: str, data: dict[str, Any]) -> str:
    """Of a call that waits for a person, and until when."""
    lapsed = f" {_LAPSED}" if data.get("lapsed") else ""
    until = str(data.get("expires_at", ""))[:16].replace("T", " ")
    expiry = f" The request expires at {until} UTC." if until else ""
    return f"SecondBrain: not run: {because}.{lapsed} Needs approval {approval_id}: {ask_for_approval(approval_id, expiry)}"
