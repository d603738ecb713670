"""Lines of CSV (RFC 4180), of which a spreadsheet runs nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from sb.base.text import plain

_FORMULA = ("=", "+", "-", "@")


def csv_line(values: Sequence[Any]) -> str:
    """A line with these values and its line end; a value other than text stands as JSON, None as nothing.

    A text that would be a formula gets an apostrophe before it.
    Source: OWASP, "CSV Injection", https://owasp.org/www-community/attacks/CSV_Injection.
    """
    line = io.StringIO()
    csv.writer(line).writerow(map(_cell, values))
    return line.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text = plain(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
