"""Roles of user and assistant, and the one whom a question means."""

from __future__ import annotations

from pathlib import Path

from sb.memory import Brain
from sb.memory.housekeeping import tidy
from sb.memory.ranking.questions import understand
from sb.memory.ranking.roles import Spoken, is_generic, role_by_name, roles, without_frame
from sb.protocols.types import Event
from sb.store.records.places import Place
from tests.rows import rows

ADVICE = "Here are some ideas that may help you with all of that. " * 12


@rows(
    "name, role",
    [
        ("user", "user"),
        ("Human", "user"),
        ("AI", "assistant"),
        ("support bot", "assistant"),
        ("claude-5", "assistant"),
        ("tool", "tool"),
        ("system", "system"),
        ("Caroline", ""),
        ("Aiden", ""),
    ],
)
def test_role_by_name(name: str, role: str) -> None:
    assert role_by_name(name) == role


@rows(
    "question, role",
    [
        ("What degree did I graduate with?", "user"),
        ("Where is my passport?", "user"),
        ("What did the user say about tea?", "user"),
        ("What did you recommend for dinner?", "assistant"),
        ("What did the assistant list as the seventh job?", "assistant"),
        ("Can you remind me what you told me about Rome?", "assistant"),
        ("Can you remind me where I parked?", "user"),
        ("what did I tell you about my sister", "user"),
        ("Do you remember the name of the hotel?", ""),
        ("Can you tell me when the release is?", ""),
        ("how many user roles are there", ""),
        ("", ""),
    ],
)
def test_whom_a_question_is_about(question: str, role: str) -> None:
    assert understand(question, ["user", "assistant"]).role == role


def test_a_named_user_or_assistant_is_meant_by_name() -> None:
    known = {"Dana": "user", "Nova": "assistant"}
    assert understand("What did Nova suggest?", known, known).role == "assistant"
    assert understand("Where does Dana live?", known, known).role == "user"
    assert understand("Where does Dana live?", known, known).users == {"Dana"}


def test_a_role_in_a_question_is_a_word_and_a_model_is_a_speaker() -> None:
    assert understand("how many user roles", ["user"]).words == ("many", "user", "roles")
    assert is_generic("support bot")
    assert not is_generic("Claude")
    assert understand("what did Claude suggest", ["Claude"]).speakers == {"Claude"}


def test_polite_words_are_no_part_of_a_question() -> None:
    assert without_frame("Hey, can you please remind me what the code is?") == "what the code is?"
    assert understand("Can you tell me when we met?").when
    assert without_frame("remind me") == "remind me"


def test_the_one_with_long_texts_is_the_assistant() -> None:
    assignments = roles([Spoken(1, 7, "Dana", 3, 20.0), Spoken(1, 7, "Nova", 3, 200.0)])
    assert assignments == {(7, "Dana"): "user", (7, "Nova"): "assistant"}


@rows(
    "said",
    [
        [Spoken(1, 7, "Ann", 30, 22.0), Spoken(1, 7, "Bo", 30, 25.0)],  # people
        [Spoken(1, 7, "Ann", 3, 5.0), Spoken(1, 7, "Bo", 3, 60.0)],  # a chatty one
        [Spoken(1, 7, "Ann", 2, 20.0), Spoken(1, 7, "Bo", 2, 200.0)],  # too little was said
        [Spoken(1, 7, "Ann", 9, 5.0), Spoken(1, 7, "Bo", 9, 90.0), Spoken(1, 7, "Cy", 9, 5.0)],
        [Spoken(1, 7, "Ann", 9, 5.0), Spoken(1, 8, "Bo", 9, 90.0)],  # in two places
    ],
)
def test_people_have_no_roles(said: list[Spoken]) -> None:
    assert set(roles(said).values()) == {""}


def test_whoever_speaks_with_an_assistant_is_a_user_however_long_the_texts() -> None:
    speakers = [
        Spoken(1, 7, "assistant", 3, 5.0), Spoken(1, 7, "Dana", 3, 300.0), Spoken(1, 7, "tool", 3, 300.0),
    ]  # fmt: skip
    assert roles(speakers)[7, "Dana"] == "user"
    assert roles(speakers)[7, "tool"] == "tool"


def test_most_sessions_decide() -> None:
    people = [[Spoken(n, 7, "Dana", 9, 20.0), Spoken(n, 7, "Bo", 9, 20.0)] for n in (1, 2)]
    once = [Spoken(3, 7, "Dana", 9, 20.0), Spoken(3, 7, "assistant", 9, 20.0)]
    assert roles([*people[0], *people[1], *once])[7, "Dana"] == ""
    assert roles([*people[0], *once, *(spoken._replace(session=4) for spoken in once)])[7, "Dana"] == "user"


def test_housekeeping_stores_roles_and_search_uses_them(tmp_path: Path) -> None:
    with Brain("reader", path=tmp_path / "brain.db", scope="project:chat") as brain:
        events = [
            event
            for topic in ("tea", "coffee", "cocoa")
            for event in (
                Event(f"I drink {topic} at nine.", speaker="Dana"),
                Event(f"So {topic} at nine. {ADVICE}", speaker="Nova"),
            )
        ]
        brain.writer.begin("project:chat", "chat")
        brain.writer.keep_all(events, Place(brain.stack, "project:chat"))
        places = brain.writer.places()
        assert set(brain.space.places.speakers(places).values()) == {""}
        tidy(brain.space)
        assert brain.space.places.speakers(places) == {"Dana": "user", "Nova": "assistant"}
        mine, yours = (
            brain.search(question, 1, benchmark=True)[0]
            for question in ("when do I drink cocoa", "what did you say about cocoa")
        )
        assert mine.content == "I drink cocoa at nine."
        assert yours.content.startswith("So cocoa")
