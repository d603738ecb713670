"""A kind of thing that is declared once is found on every face."""

from __future__ import annotations

import json
import pkgutil
import re
import time
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sb.commands import output
from sb.screens.state.document import Field as Line
from sb.screens.state.document import facts_of, fields_for
from sb.screens.state.listing import row_of

from evals.output_schemas import output_schemas
from sb import present
from sb.base.values.frozen import frozen
from sb.present import kind as kinds_of_things
from sb.present.kind import Cell, Column, Field, Kind, kinds
from sb.present.states import state

NOW = 1_764_000_000_000_000
MINUTE = 60_000_000


@frozen
class Parcel:
    id: str
    to: str
    weight: int
    state: str
    sent_at: int
    seen_at: int | None = None


PARCEL = Kind[Parcel](
    Field("state", lambda it, now: state(it.state), Column(10, badges=True), "State"),
    Field("to", lambda it, now: it.to, Column(), "To"),
    Field("weight", lambda it, now: f"{it.weight} g", Column(6, 50, "soft", right=True), "Weight"),
    Field("sent", lambda it, now: Cell("2025-11-24", at=it.sent_at), title="date"),
    Field("note", lambda it, now: "", label="Note"),
    Field("parcel", lambda it, now: it.id, folded=True),
    faces={
        "table": "state,to,sent,parcel",
        "list": "state,to,weight",
        "document": "state,to,note,weight,parcel",
        "dialog": "to,parcel",
    },
    json={
        "id to note": "string",
        "weight": "integer",
        "sent_at": "time",
        "seen_at": "time|null",
        "late": "boolean",
    },
    computed={"late": lambda it, now: now - it.sent_at > MINUTE},
)
LOST = Parcel("par_1", "ada\n\x1b[2J", 40, "unknown", NOW - 2 * MINUTE)


def test_a_kind_is_found_on_every_face_by_its_descriptor_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output.records(PARCEL, [LOST], NOW)
    titles, row = capsys.readouterr().out.splitlines()
    assert titles.split() == ["state", "to", "date", "parcel"]
    assert re.split(r" {2,}", row)[0] == "unknown"
    assert row.split()[-2:] == ["2025-11-24", "par_1"]
    assert "\x1b" not in row

    monkeypatch.setattr(kinds_of_things, "PARCEL", PARCEL, raising=False)
    monkeypatch.setitem(kinds_of_things.KINDS, "parcel", ("kind", "PARCEL"))
    document = PARCEL.to_dict(LOST, NOW)
    assert (document["sent_at"], document["seen_at"], document["late"]) == (
        "2025-11-24T15:58:00.000Z",
        None,
        True,
    )
    schemas = output_schemas(closed=True)
    parcel = Draft202012Validator({"$ref": "#/$defs/parcel", "$defs": schemas["$defs"]})
    assert list(parcel.iter_errors(document)) == []
    assert len(list(parcel.iter_errors(document | {"weight": "40"} | {"more": 1}))) == 2

    listed = row_of(PARCEL, LOST, NOW)
    assert (listed.texts[0], listed.texts[2]) == ("unknown", "40 g")
    assert listed.values[0].badge
    assert [column.width for column in listed.columns] == [10, 0, 6]
    assert fields_for(PARCEL, LOST, NOW)[2:] == [
        Line("Weight", "40 g"),
        Line("parcel", "par_1", folded=True),
    ]
    assert facts_of(PARCEL, LOST)[1] == ("Parcel", "par_1")


@frozen
class Order:
    parcel: Parcel
    paid: bool


ORDER = Kind[Order](
    Field("to", lambda it, now: it.parcel.to),
    Field("paid", lambda it, now: "yes" if it.paid else "no"),
    faces={"table": "to,paid"},
    json={"+": "parcel", "paid": "string"},
    stored=lambda it: it.parcel,
)


def test_a_command_lists_a_kind_as_json_as_a_table_or_says_that_there_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    orders = [Order(Parcel("par_3", "eve" * 400, 7, "ok", NOW), True)]
    output.listing(ORDER, orders, "no orders", as_json=True)
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert (item["id"], item["weight"], item["seen_at"], item["paid"]) == ("par_3", 7, None, "yes")
    output.listing(ORDER, orders, "no orders", as_json=False)
    assert "eve" * 400 in capsys.readouterr().out, "nothing is cut in a pipe"
    output.listing(ORDER, [], "no orders", as_json=False)
    shown = capsys.readouterr()
    assert (shown.out, shown.err.strip()) == ("", "no orders")
    output.listing(ORDER, [], "no orders", as_json=True)
    assert json.loads(capsys.readouterr().out) == {"items": []}


def test_a_time_is_its_text_in_a_pipe_and_its_age_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "fits_terminal", lambda: True)
    output.records(PARCEL, [replace(LOST, sent_at=int((time.time() - 7_200) * 1_000_000))], NOW)
    assert "2h" in capsys.readouterr().out


def every_kind() -> list[tuple[str, Kind[Any]]]:
    """All that the modules of `sb.present` declare, in the register or not."""
    names = [found.name for found in pkgutil.iter_modules(present.__path__, "sb.present.")]
    modules = [import_module(name) for name in names]
    return [(name, it) for module in modules for name, it in vars(module).items() if isinstance(it, Kind)]


def test_every_kind_that_is_declared_has_a_table_or_a_list_and_no_title_twice() -> None:
    found = every_kind()
    assert {"REQUEST", "UNDO", "RECOVERY", "CALL", "EVENT", "AGENT", "MEMORY"} <= {name for name, _ in found}
    for name, kind in found:
        lists = {"table", "list"} & kind.faces.keys()
        assert lists, name
        for face in {*lists, "plain"} & kind.faces.keys():
            titles = kind.titles(face)
            assert len(set(titles)) == len(titles), (name, face)
        used = {field.name for shown in kind.faces.values() for field in shown}
        assert kind.fields.keys() == used | (kind.json.keys() & kind.fields.keys()), (
            name,
            "a field that no face shows",
        )


def test_a_face_names_fields_that_the_kind_has() -> None:
    with pytest.raises(KeyError):
        Kind[Parcel](Field("to", lambda it, now: it.to), faces={"table": "to,form"})


def test_every_kind_in_the_register_has_a_table_or_a_list_and_json() -> None:
    for name, known in kinds().items():
        assert {"table", "list"} & known.faces.keys(), name
        assert known.json, name


def test_characters_that_cannot_be_seen_are_shown_in_lists() -> None:
    hidden = Parcel("par_2", "ada\u200b\u202e", 1, "unknown", NOW)
    for face in ("table", "list"):
        assert any(r"ada\u200b\u202e" in cell.text for cell in PARCEL.cells(hidden, NOW, face))
