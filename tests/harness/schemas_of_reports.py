"""The schema of JUnit reports, which takes half a second to load: by a test that asks, not by each process of a run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any


@cache
def junit_schema() -> Any:
    import xmlschema

    return xmlschema.XMLSchema(str(Path(__file__).parent / "schemas" / "junit-10.xsd"))
