"""A kind of thing that is declared once is found on every face."""

from __future__ import annotations

import re

import pytest
from jsonschema import Draft202012Validator
from sb.commands import output
from sb.screens.state.document import Field as Line
from sb.screens.state.document import facts_of, fields_for
from sb.screens.state.listing import row_of

from evals.output_schemas import output_schemas
from sb.base.values.frozen import frozen
from sb.present import kind as kinds_of_things
from sb.present.kind import Column, Field, Kind, kinds
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
    Field("sent", lambda it, now: "2025-11-24"),
    Field("note", lambda it, now: "", label="Note"),
    Field("parcel", lambda it, now: it.id, folded=True),
    faces={
        "table": "state,to,sent,parcel",
        "list": "state,to,weight",
        "document": "state,to,note,weight,parcel",
        "dialog": "to,parcel",
    },
    json={
        "id": "string",
        "to": "string",
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
    assert titles.split() == ["state", "to", "sent", "parcel"]
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
