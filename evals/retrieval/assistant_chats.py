"""Chats of a user with an assistant, made from real texts, with questions and the messages that answer them.

The texts and the questions are real, the frame around them is made: who says a text, how the assistant repeats it, and
what else it says. Two sources: this project's records with their questions, and (where LoCoMo is at hand) what one of
two people said, with the questions about that person. What an assistant adds are the nearest texts that answer no
question. An assistant repeats about half of what it was told; only the message that says it all is evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from evals.retrieval import agent_records
from evals.retrieval.corpora import PARTS, Corpus, Question, Row

_SEED = 19
_RECORDS_A_SESSION = 12
_DAY = 86_400.0
_FIRST_DAY = 1_767_225_600.0  # 2026-01-01

_PERSON = {
    "i": "you", "i'm": "you're", "i've": "you've", "i'll": "you'll", "i'd": "you'd", "my": "your", "me": "you",
    "mine": "yours", "we": "you", "our": "your", "us": "you", "am": "are", "was": "were", "myself": "yourself",
}  # fmt: skip
_TELLS = (
    "By the way: {text} Can you help me write up {topic}?",
    "{text} What should I keep in mind about {topic}?",
    "Something I noticed today. {text}",
    "I'm preparing a talk. {text} Could you suggest an outline with {topic}?",
    "{text} Do you have any tips for {topic}?",
    "{text}",
)
_ASKS = (
    "What should I know about {topic}?",
    "Can you explain {topic} to me?",
    "I'm looking into {topic}. Give me some background.",
    "Please list what matters about {topic}.",
)
_PASTES = (
    "Summarize this for me:\n\n{text}",
    "Here is what I have so far, please proofread it:\n\n{text}",
    "```\n{text}\n```\nWhat does this say in short?",
)
_ECHOES = (
    "That makes sense: {echo}. Here is how I would go on.",
    "Thanks for sharing that {echo}! A few thoughts:",
    "Great, so {echo}. Let me expand on that.",
    "Understood. Since {echo}, consider the following points.",
)
_OF_USER = (
    "what did I say about this: {question}",
    "Can you remind me what I told you? {question}",
    "I mentioned it to you: {question}",
)
_OF_ASSISTANT = (
    "what did you tell me about this: {question}",
    "Can you remind me of your answer? {question}",
    "You explained it to me: {question}",
)
_POLITE = ("Can you tell me: {question}", "Do you remember {question}", "Please remind me, {question}")


@dataclass(frozen=True)
class Style:
    """Style of two speakers.

    Args:
        user, assistant: their names, "" where nobody's is known.
        added: texts that an answer adds to what it repeats.
        pastes: share of what the user says that stands in a long pasted text.
        wordy_user: whether the user rambles and the assistant answers in a line.
    """

    user: str
    assistant: str
    added: int = 6
    pastes: float = 0.1
    wordy_user: bool = False


STYLES = (
    Style("user", "assistant"),
    Style("user", "assistant", pastes=0.6),
    Style("Dana", "Nova", added=8),
    Style("human", "AI", added=3),
    Style("user", "assistant", added=10, pastes=0.5),
    Style("Dana", "assistant", wordy_user=True),
    Style("", ""),
    Style("customer", "support bot", added=2),
)


def chats_of_records() -> list[Corpus]:
    """Chats about this project; every text that answers a question is in one of them, and every question asked once."""
    records, asked = agent_records.load_records(), agent_records.load_questions()
    evidence = {entry for question in asked for entry in question.evidence}
    filler = [record for record in records if record["id"] not in evidence]
    nearest, texts = _nearest(filler), {record["id"]: record["text"] for record in records}
    chat_of = agent_records.parts(records, PARTS)
    chats: list[Corpus] = []
    for number in range(PARTS):
        inside = [record["id"] for record in records if chat_of[record["id"]] == number]
        relevant = [entry for entry in inside if entry in evidence]
        writer = _Writer(
            f"chat {number}",
            STYLES[number % len(STYLES)],
            Random(_SEED + number),
            nearest,
        )
        for item in relevant:
            writer.exchange(item, texts[item])
        mine = [question for question in asked if chat_of[question.evidence[0]] == number]
        questions = [writer.question(question.question, question.evidence) for question in mine]
        chats.append(Corpus(writer.name, tuple(writer.rows), tuple(questions)))
    return chats


def chats_of_people(conversations: Sequence[Corpus]) -> list[Corpus]:
    """Corpora of each person's turns, said to an assistant, asked as that person would ask."""
    chats: list[Corpus] = []
    for conversation in conversations:
        others = [
            {"id": row.id, "text": row.text}
            for other in conversations
            if other is not conversation
            for row in other.rows
        ]
        nearest = _nearest(others)
        for person in sorted({row.speaker for row in conversation.rows}):
            number = len(chats)
            style = STYLES[number % len(STYLES)]
            writer = _Writer(
                f"{conversation.name}/{person}",
                style,
                Random(_SEED + number),
                nearest,
            )
            turns = [row for row in conversation.rows if row.speaker == person]
            for row in turns:
                writer.repeat_back(row.id, row.text, session=row.session, at=row.happened_at)
            questions = list(_asked_by(person, conversation, {row.id for row in turns}, writer))
            chats.append(Corpus(writer.name, tuple(writer.rows), tuple(questions)))
    return chats


def _asked_by(person: str, conversation: Corpus, ids: set[str], writer: _Writer) -> Iterator[Question]:
    """The questions about a person, two of three in that person's words."""
    mine = re.compile(rf"\b{re.escape(person)}'s\b")
    name = re.compile(rf"\b{re.escape(person)}\b")
    for number, question in enumerate(conversation.questions):
        if (
            question.category == "adversarial"
            or not question.evidence <= ids
            or not name.search(question.text)
        ):
            continue
        text = question.text
        if number % 3:
            text = name.sub("I", mine.sub("my", text))
            text = re.sub(r"\b(is|was|has|does) I\b", lambda found: _FOR_I[found[1]] + " I", text)
        yield Question(text, "user", frozenset(writer.ids[item] for item in question.evidence))


_FOR_I = {"is": "am", "was": "was", "has": "have", "does": "do"}


class _Writer:
    """Writes one chat, message by message."""

    def __init__(self, name: str, style: Style, random: Random, nearest: agent_records.Search) -> None:
        self.name = name
        self.rows: list[Row] = []
        self.ids: dict[str, str] = {}  # of the message that says a text
        self._said_by: dict[str, str] = {}
        self._style, self._random, self._nearest = style, random, nearest
        self._told = 0

    def exchange(self, source: str, text: str) -> None:
        """The user says a text, or the assistant does when asked, or a tool."""
        self._told += 1
        session = f"{self.name}/{self._told // _RECORDS_A_SESSION}"
        at = _FIRST_DAY + _DAY * (self._told // _RECORDS_A_SESSION) + 60 * self._told
        way = self._random.random()
        if way < 0.6:
            self.repeat_back(source, text, session=session, at=at)
            return
        topic = _topic(text)
        self._say(self._style.user, self._random.choice(_ASKS).format(topic=topic), session, at)
        if way > 0.93:
            tool = "tool" if self._style.user else ""
            self.ids[source] = self._say(tool, '{"ok": true, "result": "' + text + '"}', session, at + 5)
            self._said_by[source] = "tool"
            self._say(self._style.assistant, self._answer(text), session, at + 10)
            return
        added = self._nearest(text, self._style.added)
        cut = self._random.randint(0, len(added))
        parts = [*added[:cut], text, *added[cut:]]
        listed = "\n".join(f"{number}. {part}" for number, part in enumerate(parts, 1))
        answer = f"Here is what matters about {topic}:\n{listed}\nLet me know if you want to know more!"
        self.ids[source] = self._say(self._style.assistant, answer, session, at + 10)
        self._said_by[source] = "assistant"

    def repeat_back(self, source: str, text: str, *, session: str, at: float) -> None:
        """The user says a text, perhaps in the midst of a long one, and the assistant repeats half of it and goes on."""
        pasted = self._random.random() < self._style.pastes
        if pasted or self._style.wordy_user:
            around = self._nearest(text, 9)
            cut = self._random.randint(0, len(around))
            whole = "\n".join([*around[:cut], text, *around[cut:]])
            message = self._random.choice(_PASTES if pasted else ("{text}",)).format(text=whole)
        else:
            message = self._random.choice(_TELLS).format(text=text, topic=_topic(text))
        self.ids[source] = self._say(self._style.user, message, session, at)
        self._said_by[source] = "pasted" if pasted else "user"
        answer = "All right, noted." if self._style.wordy_user else self._answer(text)
        self._say(self._style.assistant, answer, session, at + 10)

    def question(self, text: str, evidence: Sequence[str]) -> Question:
        """A question, in one of the ways in which people ask an assistant."""
        by = next((self._said_by[item] for item in evidence if item in self._said_by), "user")
        frames = _OF_ASSISTANT if by == "assistant" else _OF_USER
        way = self._random.random()
        if way < 0.4 and by != "tool":
            text = self._random.choice(frames).format(question=text)
        elif way < 0.55:
            text = self._random.choice(_POLITE).format(question=text)
        return Question(text, by, frozenset(self.ids[item] for item in evidence if item in self.ids))

    def _answer(self, text: str) -> str:
        words = text.rstrip(".!?").split()
        half = words[: max(len(words) // 2, 4)] if self._random.random() < 0.7 else words[len(words) // 3 :]
        echo = " ".join(_PERSON.get(word.lower(), word) for word in half)
        points = "\n".join(f"- {added}" for added in self._nearest(text, self._style.added))
        return (
            f"{self._random.choice(_ECHOES).format(echo=echo)}\n{points}\n"
            f"As for {_topic(text)}: take it step by step, and {_topic(text)} will work out well."
        )

    def _say(self, speaker: str, text: str, session: str, at: float) -> str:
        row = Row(f"{self.name}#{len(self.rows)}", speaker, text, session, at)
        self.rows.append(row)
        return row.id


def _topic(text: str) -> str:
    """Two of the longest words of a text, as one would name what it is about."""
    words = sorted(dict.fromkeys(agent_records.words(text)), key=len, reverse=True)
    return " and ".join(words[:2])


def _nearest(records: Sequence[dict[str, str]]) -> agent_records.Search:
    """The texts of the k records that share the rarest of a text's first words with it."""
    search, texts = agent_records.bm25(records), {record["id"]: record["text"] for record in records}
    return lambda text, k: [texts[item] for item in search(" ".join(agent_records.words(text)[:12]), k)]
