"""Roles in a conversation: who is the user, who the assistant, and which of them a question means."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from sb.memory.ranking.terms import words

USER, ASSISTANT, TOOL, SYSTEM = "user", "assistant", "tool", "system"

_WORDS = {
    **dict.fromkeys(("assistant", "ai", "bot", "chatbot", "agent", "llm"), ASSISTANT),
    **dict.fromkeys(("user", "human", "customer"), USER),
    **dict.fromkeys(("tool", "function"), TOOL),
    **dict.fromkeys(("system", "developer"), SYSTEM),
}
_MODELS = frozenset(
    ("chatgpt", "gpt", "claude", "gemini", "copilot", "codex", "llama", "mistral", "deepseek")
)

_REMEMBERED = 1_000  # names: each search asks about those of all who speak in its places
_FEWEST = 3  # texts of each of two speakers, before their lengths tell who the assistant is
_WORDY, _RATIO = (
    80,
    3,
)  # words on average, and times the other's: assistants 3.3 to 15.9 times, people 1.0 to 1.2

_FRAME = re.compile(
    r"\s*(?:(?:hi|hey|hello|so|and|ok|okay|well)\b[,!]?\s*)*"
    r"(?:(?:please|(?:can|could|would|will) you(?: please)?|(?:i was wondering|i wonder)(?: if you (?:can|could))?"
    r"|i(?:'d| would) like you to|i(?:'m| am) trying to|help me|do you (?:happen to )?(?:remember|recall|know)"
    r"|remind me(?: again)?|tell me(?: again)?|let me know|(?:remember|recall)(?= (?:what|when|where|which|who|how)))\b[,:]?\s*)+"
    r"(?:(?:of|about) (?=what|when|where|which|who|how|the|my|your))?",
    re.IGNORECASE,
)
# "what did I tell you": the listener is not who the question is about.
_TO_YOU = re.compile(
    r"\b(tell|told|give|gave|given|show|shown|showed|ask|asked|send|sent|to|with) you\b", re.IGNORECASE
)
_YOU = re.compile(r"\b(?:you|your|yours|the assistant(?:'s)?)\b", re.IGNORECASE)
_ME = re.compile(r"\b(?:i|i'm|i've|i'd|my|mine|me|we|our|the user(?:'s)?)\b", re.IGNORECASE)


@lru_cache(_REMEMBERED)
def role_by_name(name: str) -> str:
    """The role that a speaker's name states, "" if it states none."""
    found = words(name)
    if _MODELS.intersection(found):
        return ASSISTANT
    return next((_WORDS[word] for word in found if word in _WORDS), "")


@lru_cache(_REMEMBERED)
def is_generic(name: str) -> bool:
    """True if a speaker's name is a role, and so in a question a word as any other."""
    return not _MODELS.intersection(words(name)) and bool(role_by_name(name))


def without_frame(question: str) -> str:
    """A question without the polite words before it ("can you remind me"); as it is if nothing else is in it."""
    found = _FRAME.match(question)
    return question[found.end() :] if found and words(question[found.end() :]) else question


def meant(question: str, speakers: Mapping[str, str]) -> str:
    """The role that a question is about: the assistant's ("you"), the user's ("I"), or "" for neither.

    Args:
        question: without its polite frame.
        speakers: who is named in it, with roles.
    """
    text = _TO_YOU.sub(r"\1", question)
    if _YOU.search(text) or ASSISTANT in speakers.values():
        return ASSISTANT
    return USER if _ME.search(text) or USER in speakers.values() else ""


class Spoken(NamedTuple):
    """Statistics of one speaker in one session: number of texts, and their words on average."""

    session: int
    place: int
    speaker: str
    texts: int
    words: float


def roles(turns: Iterable[Spoken]) -> dict[tuple[int, str], str]:
    """The role of each speaker by place and name: what most of the sessions tell.

    By name; then, of exactly two who are unnamed, the one with much longer texts is the assistant; and whoever is
    unnamed beside an assistant is a user.
    """
    sessions: dict[tuple[int, int], list[Spoken]] = defaultdict(list)
    for spoken in turns:
        sessions[spoken.session, spoken.place].append(spoken)
    votes: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for speakers in sessions.values():
        for name, role in _of_session(speakers).items():
            votes[speakers[0].place, name][role] += 1
    return {speaker: counted.most_common(1)[0][0] for speaker, counted in votes.items()}


def _of_session(speakers: Collection[Spoken]) -> dict[str, str]:
    found = {spoken.speaker: role_by_name(spoken.speaker) for spoken in speakers}
    if not any(found.values()) and len(speakers) == 2:
        short, long = sorted(speakers, key=lambda spoken: spoken.words)
        enough = min(short.texts, long.texts) >= _FEWEST
        if enough and long.words >= max(_WORDY, _RATIO * short.words):
            found[long.speaker] = ASSISTANT
    if ASSISTANT in found.values():
        found = {name: role or USER for name, role in found.items()}
    return found
