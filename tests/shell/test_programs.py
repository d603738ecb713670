"""Records of programs: one for each, of known words, that contradict neither themselves nor the program's class."""

from __future__ import annotations

from collections import Counter

import pytest

from evals.packs import programs
from sb.errors import ConfigError
from sb.shell.destinations.arrivals import HOW_IT_LANDS
from sb.shell.handlers.handlers import HANDLERS
from sb.shell.packs.packing import read_pack
from sb.shell.packs.program_packing import SECTIONS, TRAITS

PACK = """\
title: Some tools
rules:
  - commands: [looker]
    class: read_only
    reason: only reads
programs:
"""


def wrong(record: str) -> str:
    """The error of a pack with this record as its only one."""
    with pytest.raises(ConfigError) as raised:
        read_pack(f"{PACK}  - {record}\n".encode(), "ours.yaml", SECTIONS)
    return raised.value.message


def test_program_has_one_record() -> None:
    assert [name for name, count in Counter(name for name, _ in programs()).items() if count > 1] == []


def test_every_trait_is_some_programs() -> None:
    assert [trait for trait in TRAITS if not any(trait in program.traits for _, program in programs())] == []


def test_records_name_handlers_and_ways_to_land_that_there_are() -> None:
    known = {handler.__name__.rstrip("_") for handler in HANDLERS.values()}
    named = {program.facts["judged_as"] for _, program in programs() if "judged_as" in program.facts}
    lands = {program.facts["lands"] for _, program in programs() if "lands" in program.facts}
    assert named <= known
    assert lands == set(HOW_IT_LANDS)


def test_program_that_is_the_same_as_another_leads_to_one_with_a_way_to_land() -> None:
    facts = {name: program.facts for name, program in programs()}
    assert [
        name for name, own in facts.items() if "same_as" in own and "lands" not in facts[own["same_as"]]
    ] == []


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{names: [seer], is: [silent, views]}", "seer is both silent"),
        ("{names: [looker], is: [removes]}", "looker is read_only by its rule, and removes by its record"),
        (
            "{names: [looker], wraps: {class: network}}",
            "looker is read_only by its rule, and not where it runs",
        ),
        (
            "{names: [runner], wraps: {class: network, values: [-x], flags: [-x]}}",
            "runner takes a value behind -x",
        ),
        ("{names: [echoer], same_as: echoer}", "echoer is the same as itself"),
        ("{names: [nothing]}", "says nothing of its programs"),
        ("{names: [typo], is: [silnt]}", "unknown trait 'silnt' (did you mean \"silent\"?)"),
        ("{names: [typo], wrap: {class: network}}", 'unknown key (did you mean "wraps"?)'),
        ("{names: [twice, twice], is: [silent]}", "twice has two records in this pack"),
    ],
)
def test_record_that_contradicts_itself_is_refused_with_its_line(record: str, message: str) -> None:
    found = wrong(record)
    assert found.startswith("ours.yaml:7: programs[1]")
    assert message in found
