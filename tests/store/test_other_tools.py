"""Other tools read the database."""

from __future__ import annotations

import csv
import io

from click.testing import CliRunner

from sb.config import current_config
from sb.kernel import RunContext, SafetyClass
from sb.runtime import open_runtime


def test_sqlite_utils_prints_rows_while_the_database_is_in_use() -> None:
    from sqlite_utils.cli import cli  # imports numpy

    with open_runtime() as runtime:
        runtime.registry.register_fn("bank.look", "Look", lambda: 12, SafetyClass.READ_ONLY)
        runtime.executor.execute(RunContext.create("clerk"), "bank.look", {})
        command = ["rows", str(current_config().database), "events", "--csv"]
        printed = CliRunner().invoke(cli, [*command, "-c", "seq", "-c", "kind", "-c", "tool_id"])
        assert printed.exit_code == 0, printed.output
        events = list(runtime.log.events())
    rows = [tuple(row) for row in csv.reader(io.StringIO(printed.stdout))]
    assert rows == [
        ("seq", "kind", "tool_id"),
        *((str(event.seq), event.kind, event.subject.tool_id) for event in events),
    ]
    assert "bank.look" in {tool for _, _, tool in rows}
