"""The adapter that all hosts share: read a payload, answer the host. A host's `events.py` holds what differs."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from sb.hosts.hooks.calls.fields import text
from sb.hosts.hooks.event import Decision, HookAnswer, HookEvent, HookVerdict, Moment, NativeCall

BLOCKED = 2  # the exit code that blocks a call, on every host that has one
_ABOUT_A_CALL = (Moment.BEFORE, Moment.AFTER, Moment.FAILED, Moment.QUESTION, Moment.DENIED)
_WITH_TEXT = (Moment.PROMPT, Moment.STOP)


class Adapter(ABC):
    """One host's events and answers.

    Attributes:
        host: the name that `sb hook` takes.
        moments: what its events are about, by their names; every other one is OTHER.
        asks_on: the events on which the host asks its user when it is told to, and enforces the answer.
        event_fields, session_fields, agent_fields, note_fields, mode_fields: the fields that hold these; the first text counts.
        takes_context: whether it hands its model what a session is told when it starts.
        takes_context_on: other events on which it does. shows_context: whether it shows a `systemMessage` to its user.
        transcript_fields: the fields that hold the path of the session's transcript.
        text_fields: the fields that hold what the user wrote, or what the model said last.
    """

    host: ClassVar[str]
    moments: ClassVar[Mapping[str, Moment]]
    asks_on: ClassVar[frozenset[str]] = frozenset()
    event_fields: ClassVar[tuple[str, ...]] = ("hook_event_name",)
    session_fields: ClassVar[tuple[str, ...]] = ("session_id",)
    agent_fields: ClassVar[tuple[str, ...]] = ()
    note_fields: ClassVar[tuple[str, ...]] = ("source", "reason")
    mode_fields: ClassVar[tuple[str, ...]] = ()
    takes_context: ClassVar[bool] = True
    takes_context_on: ClassVar[frozenset[str]] = frozenset()
    shows_context: ClassVar[bool] = False
    transcript_fields: ClassVar[tuple[str, ...]] = ("transcript_path",)
    goes_on_after: ClassVar[frozenset[str]] = frozenset()
    text_fields: ClassVar[tuple[str, ...]] = ("prompt", "last_assistant_message", "prompt_response")

    @abstractmethod
    def is_sender(self, payload: dict[str, Any]) -> bool:
        """True if this host sent the payload, by its fields."""

    @abstractmethod
    def call(self, payload: dict[str, Any], name: str) -> NativeCall | None:
        """The call that an event is about; None if another event reports it."""

    @abstractmethod
    def decided(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        """The answer that denies a call, or has the host ask its user."""

    def read(self, payload: dict[str, Any]) -> HookEvent:
        """The event of a payload; unknown events are OTHER, unknown fields are ignored."""
        name = self.event_name(payload)
        moment = self.moments.get(name, Moment.OTHER)
        calls = self.calls(payload, name, moment)
        return HookEvent(
            self.host,
            name,
            Moment.OTHER if moment in _ABOUT_A_CALL and not calls else moment,
            text(payload, *self.session_fields),
            self.folder(payload),
            calls,
            text(payload, *self.agent_fields),
            text(payload, *self.note_fields),
            text(payload, *self.mode_fields),
            text(payload, *self.transcript_fields),
            text=text(payload, *self.text_fields) if moment in _WITH_TEXT else "",
            may_go_on=name in self.goes_on_after and payload.get("stop_hook_active") is not True,
        )

    @property
    def reports_all(self) -> bool:
        """True if the host reports each call that it makes, also one that fails."""
        return Moment.BATCH in self.moments.values()

    def can_ask(self, event: HookEvent) -> bool:
        """True if the host would ask its person now, and a person is there."""
        return event.name in self.asks_on

    def answer(self, event: HookEvent, verdict: HookVerdict) -> HookAnswer:
        """The answer to the host; silence for no opinion, so that the user's own rules and prompts stay as they are."""
        if event.moment is Moment.BEFORE and verdict.decision is not Decision.NONE:
            return self.decided(event, verdict)
        if event.may_go_on and verdict.decision is Decision.DENY:
            return as_json({"decision": "block", "reason": verdict.reason})
        if verdict.context and self.takes(event):
            starts = event.moment is Moment.SESSION_STARTED
            message = {"systemMessage": verdict.context} if self.shows_context and not starts else {}
            name = "SessionStart" if starts else event.name
            return as_json({**message, **specific(name, additionalContext=verdict.context)})
        return HookAnswer()

    def takes(self, event: HookEvent) -> bool:
        """True if the host hands its model a text in answer to this event."""
        starts = event.moment is Moment.SESSION_STARTED and self.takes_context
        return starts or event.name in self.takes_context_on

    def event_name(self, payload: dict[str, Any]) -> str:
        return text(payload, *self.event_fields)

    def folder(self, payload: dict[str, Any]) -> str:
        """The session's folder."""
        return text(payload, "cwd")

    def calls(self, payload: dict[str, Any], name: str, moment: Moment) -> tuple[NativeCall, ...]:
        """The calls that an event is about."""
        call = self.call(payload, name) if moment in _ABOUT_A_CALL else None
        return () if call is None else (call,)


def specific(event: str, **fields: str) -> dict[str, Any]:
    """An answer in the form that Claude Code began with and other hosts took over."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def denial(reason: str) -> dict[str, str]:
    """The fields of that form which deny a call."""
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


def as_json(fields: dict[str, Any]) -> HookAnswer:
    return HookAnswer(json.dumps(fields))


def by_exit_code(verdict: HookVerdict) -> HookAnswer:
    """A denial for hosts that look at the exit code alone, with the reason on stderr."""
    return HookAnswer(stderr=f"{verdict.reason}\n", code=BLOCKED)
