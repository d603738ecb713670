"""Keywords of the methods that save memories: the fields of the kinds, and no others for a type checker."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from sb.entity.routing import Origin, Routing
from sb.memory.writes import Writes
from sb.protocols.types import Decision, EntityRecord, Event, Fact, Remembered
from sb.protocols.types.brain import EntityFields, FactFields, Fields, SpokenFields
from sb.store.records.descriptor import PLACED, READ
from sb.store.records.descriptors import DESCRIPTORS

ROOT = Path(__file__).parents[2]
OF_THE_STORE = {*PLACED, *READ, "agent_id", "created_at", "updated_at", "version"}
MISSPELLED = """\
from sb import Brain, open_runtime
from sb.entity import Entity

def save(brain: Brain, entity: Entity) -> None:
    brain.remember("x", category="user", speaker="ada", tags=["a"])
    brain.remember("x", categry="user")
    brain.explain("x", confidense=0.5)
    brain.remember("x", confidence="high")
    brain.decide("x", "y", speaker="ada")
    brain.log("x", event_tpye="error")
    brain.entity("x", "person", propertys={})
    entity.episode("x", "y", lesons=[])
    entity.note("x", sorce="ada")
    open_runtime().brain("ada", scpe="global")
    open_runtime().stack("work", component=[])
    open_runtime().entity("ada", stack="work")
"""


@pytest.mark.parametrize(
    ("method", "kind", "fields"),
    [
        (Writes.remember, Fact, FactFields),
        (Writes.explain, Fact, FactFields),
        (Writes.decide, Decision, Fields),
        (Writes.log, Event, SpokenFields),
        (Writes.entity, EntityRecord, EntityFields),
    ],
)
def test_keywords_are_the_fields_of_the_kind(
    method: Callable[..., Any], kind: type[Remembered], fields: type[Any]
) -> None:
    parameters = inspect.signature(method).parameters
    assert parameters["more"].annotation == f"Unpack[{fields.__name__}]"
    known, further = get_type_hints(kind), get_type_hints(fields)
    assert further == {
        name: hint for name, hint in known.items() if name not in OF_THE_STORE | parameters.keys()
    }


def test_origin_of_a_core_is_taken_as_it_is_declared() -> None:
    assert [*inspect.signature(Routing._given).parameters][1:] == [*get_type_hints(Origin)]
    renamed = {"source": "source_entity"}
    for kind in ("episode", "belief", "value", "goal", "note", "drive", "relationship"):
        assert {renamed.get(name, name) for name in get_type_hints(Origin)} <= {*DESCRIPTORS[kind].attributes}


def test_a_misspelled_keyword_fails_in_mypy(tmp_path: Path) -> None:
    file = tmp_path / "misspelled.py"
    file.write_text(MISSPELLED, encoding="utf-8")
    # A cache of its own: another mypy may run at the same time.
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", f"--cache-dir={tmp_path}", str(file)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    lines = [int(number) for number in re.findall(r":(\d+): error:", done.stdout)]
    first = MISSPELLED.split("\n").index('    brain.remember("x", categry="user")') + 1
    assert lines == [*range(first, MISSPELLED.count("\n") + 1)], done.stdout
