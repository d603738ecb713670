"""Memory keeps no secrets: through whatever door a text comes in, what is stored is masked, and that is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sb.memory import Brain
from sb.memory.operator_view import Overseer
from sb.protocols.types import Belief, Drive, Episode, Event, Fact, Note, RawEntry, Relationship
from sb.stack.sqlite_stack import SQLiteStack
from sb.store import driver
from sb.store.records.places import Place
from tests.conftest import CommandLine
from tests.rows import rows

TOKEN = "ghp_" + "Zq7Xw2Lm9Kd4Vb6Nr8Tc" * 2
VAULT = "hvs." + "Yr5Ht3Pw8Jc1Sg6Mf4Dk" * 2
CARD = "4111 1111 1111 1111"
SAID = f"deploy with {TOKEN} now"
MASKED = "deploy with [redacted:github_token] now"


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def a_bulk(brain: Brain) -> None:
    brain.writer.keep_all([Event(f"{number} {SAID}") for number in range(30)], Place(brain.stack))


DOORS: dict[str, Callable[[Brain], object]] = {
    "fact": lambda brain: brain.remember(SAID),
    "tag": lambda brain: brain.remember("x", tags=["a", SAID]),
    "speaker": lambda brain: brain.remember("x", speaker=SAID),
    "source": lambda brain: brain.remember("x", source_entity=SAID, derived_from=[SAID]),
    "decision": lambda brain: brain.decide(SAID, f"since {SAID}"),
    "event": lambda brain: brain.log(SAID),
    "bulk": a_bulk,
    "entity": lambda brain: brain.entity(SAID, "service", observations=[SAID], properties={SAID: SAID}),
    "observed later": lambda brain: [brain.entity("api", "service", observations=[item]) for item in ("x", SAID)],
    "named secret": lambda brain: brain.entity("api", "service", properties={"token": TOKEN, "Password": TOKEN}),
    "relation": lambda brain: brain.relate(brain.remember("a"), SAID[:150], brain.remember("b")),
    "handoff": lambda brain: brain.handoff(SAID, SAID, [SAID], SAID),
    "wrap up": lambda brain: brain.wrap_up("s" * 280 + SAID, goal=SAID, open_loops=[SAID], next_step=SAID),
    "derived": lambda brain: [brain.log("n" * 280 + SAID, "warning"), brain.wrap_up("n" * 280 + SAID)],
    "forget": lambda brain: brain.forget(brain.remember("x"), SAID),
    "protect": lambda brain: brain.protect(brain.remember("x"), reason=SAID),
    "search": lambda brain: brain.search(SAID),
    "think": lambda brain: brain.think(SAID),
    "orient": lambda brain: brain.orient(query=SAID),
}  # fmt: skip


@pytest.mark.parametrize("at", [0, 15, 16, 39])
def test_a_secret_is_masked_wherever_it_stands_in_a_batch(at: int, home: Path) -> None:
    texts = ["the harbour opens at nine", "a card of 3 wishes", "tokens: many"] * 14
    texts[at] = SAID
    with Brain("scribe") as brain:
        uids = brain.writer.keep_all([Event(text) for text in texts[:40]], Place(brain.stack))
        stored = brain.space.records.known(uids)
        assert [stored[uid]["text"] for uid in uids] == [*texts[:at], MASKED, *texts[at + 1 : 40]]
        assert list(brain.masked) == ["github_token"]
    assert TOKEN.encode() not in everything_in(home)


@rows("door", DOORS.values())
def test_no_door_into_memory_lets_a_secret_in(door: Callable[[Brain], object], home: Path) -> None:
    with Brain("scribe") as brain:
        brain.remember("something else")
        door(brain)
        assert set(brain.masked) & {"github_token", "keyed_secret"}
    assert TOKEN[4:24].encode() not in everything_in(home)


def test_what_was_masked_is_said_and_the_rest_is_kept_and_found() -> None:
    with Brain("scribe") as brain:
        uid = brain.remember(f"{SAID}, paid by {CARD}, or ask ada@example.org; {VAULT}")
        assert list(brain.masked) == ["github_token", "vault_token", "card"]
        text = brain.get(uid).content
        assert text == f"{MASKED}, paid by [redacted:card], or ask ada@example.org; [redacted:vault_token]"
        assert brain.search(f"deploy with {TOKEN}")[0].id == uid
        assert list(brain.masked) == ["github_token"]
        assert brain.remember("no secret at all")
        assert not brain.masked


def test_a_handoff_with_a_masked_secret_is_verified() -> None:
    with Brain("scribe") as brain:
        made = brain.wrap_up(SAID)
        assert made.current_state == MASKED
    with Brain("another") as brain:
        packet = brain.resume()
        assert packet is not None
        assert packet.verified
        assert packet.current_state == MASKED


def test_entities_of_two_secrets_are_one_and_a_name_without_one_is_as_it_was() -> None:
    with Brain("scribe") as brain:
        first = brain.entity(f"key {TOKEN}", "concept")
        assert brain.entity(f"key {TOKEN[::-1]}", "concept") != first  # which is no token any more
        assert brain.entity(f"key {TOKEN[:-4]}abcd", "concept") == first


@pytest.mark.parametrize(
    "make",
    [
        lambda: Brain(TOKEN),
        lambda: Brain("scribe", stack=f"stack {TOKEN}"),
        lambda: Brain("scribe", session=TOKEN),
        lambda: Brain("scribe", scope=f"project:{TOKEN}"),
        lambda: Brain("scribe").remember("x", project=TOKEN),
        lambda: Brain("scribe").orient(project=TOKEN),
        lambda: Brain("scribe").handoff("a", "b", [], "c", recipient=TOKEN),
    ],
)
def test_a_name_with_a_secret_is_refused_since_two_would_become_one(
    make: Callable[[], object], home: Path
) -> None:
    with pytest.raises(ValueError, match="holds a secret") as caught:
        make()
    assert TOKEN[4:12] not in str(caught.value)
    assert TOKEN[4:24].encode() not in everything_in(home)


def test_stacks_keep_no_secrets_and_the_caller_sees_what_was_kept(home: Path) -> None:
    with SQLiteStack("mine") as stack:
        episode = Episode("", "mine", SAID, SAID, lessons=[SAID], tags=[SAID])
        stack.save_episode(episode)
        assert list(stack.masked) == ["github_token"]
        assert (episode.objective, episode.lessons) == (MASKED, [MASKED])
        raw = stack.save_raw(RawEntry("", "mine", SAID))
        stack.save_note(Note("", "mine", SAID, derived_from=[f"raw:{raw}"], speaker=SAID))
        stack.save_relationship(Relationship("", "mine", SAID, "person", "friend", notes=SAID))
        stack.save_belief(Belief("", "mine", SAID, derived_from=[f"episode:{episode.id}"]))
        drive = Drive("", "mine", "curiosity")
        stack.save_drive(drive)
        drive.focus_areas = [SAID]
        assert stack.update_drive_atomic(drive)
        assert list(stack.masked) == ["github_token"]
        stack.forget_memory("episode", episode.id, SAID)
        stack.search(SAID)
        stack.save_note(Note("", "mine", "nothing", derived_from=[f"raw:{raw}"]))
        assert not stack.masked
    assert TOKEN[4:24].encode() not in everything_in(home)


def test_a_dump_with_secrets_is_taken_in_without_them(home: Path, tmp_path: Path) -> None:
    with SQLiteStack("mine") as stack:
        stack.save_raw(RawEntry("", "mine", "deploy with PLACEHOLDER now"))
        dumped = stack.dump(format="json").replace("PLACEHOLDER", TOKEN)
    with SQLiteStack("copy", db_path=tmp_path / "copy.db") as copy:
        copy.load_dump(dumped)
        assert list(copy.masked) == ["github_token"]
        assert MASKED in copy.dump(format="json")
    assert TOKEN[4:24].encode() not in everything_in(home) + everything_in(tmp_path)


def test_the_commands_say_what_was_masked(sb: CommandLine, home: Path) -> None:
    assert "masked: github_token" in sb("memory", "remember", SAID).err
    assert sb("memory", "remember", SAID, "--json").json["masked"] == ["github_token"]
    assert "masked: github_token" in sb("memory", "search", SAID, "--agent", "clerk").err
    assert "masked: github_token" in sb("memory", "wrap-up", SAID).err
    assert "masked: github_token" in sb("entity", "raw", SAID).err
    assert TOKEN[4:24].encode() not in everything_in(home)


def test_checkpoints_keep_no_secrets(sb: CommandLine, home: Path) -> None:
    assert sb("checkpoint", "save", "--agent", "scribe", "--message", SAID).code == 0
    assert MASKED in sb("checkpoint", "list", "--json").out
    for named in (("checkpoint", "save", "--agent", TOKEN), ("stack", "create", TOKEN)):
        refused = sb(*named)
        assert (refused.code != 0, "holds a secret" in refused.err) == (True, True), named
        assert TOKEN[4:24] not in refused.out + refused.err
    assert TOKEN[4:24].encode() not in everything_in(home)
    assert not [path for path in home.rglob("*") if TOKEN[4:24] in path.name]


def test_texts_without_secrets_are_kept_found_and_ranked_as_before() -> None:
    texts = [
        "the api key is rotated each month by the platform team",
        "tokens are counted before the prompt is sent",
        "ask ada@example.org for the password of the staging database",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b broke the build",
    ]
    with Overseer() as brain:
        uids = [brain.remember(text) for text in texts]
        assert not brain.masked
        assert [brain.get(uid).content for uid in uids] == texts
        assert [brain.search(text)[0].id for text in texts] == uids


def test_a_record_that_cannot_be_kept_tells_nothing_of_its_secret() -> None:
    with Brain("scribe") as brain, pytest.raises(ValueError, match="id holds a secret") as caught:
        brain.writer.keep(Fact(SAID, id=TOKEN), Place("default"))
    assert TOKEN[4:12] not in str(caught.value)


def test_what_an_older_version_kept_is_masked_when_it_is_synchronised(home: Path, tmp_path: Path) -> None:
    there = tmp_path / "there" / "mine.db"
    there.parent.mkdir()
    with SQLiteStack("mine", tmp_path / "mine.db", components=[]) as stack:
        stack.save_note(Note("", "mine", "said here"))
        stack.export_stack(there)
    with SQLiteStack("mine", there, components=[]) as stack:
        uid = stack.save_note(Note("", "mine", "deploy with PLACEHOLDER now"))
    connection = driver.connect(there)  # as it was kept before secrets were masked
    connection.execute("UPDATE records SET text = replace(text, 'PLACEHOLDER', ?)", (TOKEN,))
    connection.commit()
    connection.close()
    with SQLiteStack("mine", tmp_path / "mine.db", remote=there, components=[]) as stack:
        result = stack.sync()
        assert (result.pulled, result.conflicts, result.errors) == (1, 0, [])
        assert result.notes == ["masked in what came: github_token"]
        taken = stack.get_memory("note", uid)
        assert taken is not None
        assert taken.content == MASKED
        assert (stack.sync().pulled, stack.sync().pushed) == (0, 0)
    here = b"".join(path.read_bytes() for path in tmp_path.glob("mine.db*"))
    assert TOKEN[4:24].encode() not in here + everything_in(home)
