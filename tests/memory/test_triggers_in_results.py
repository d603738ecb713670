"""A governed call of a Python program brings the reminders that fit it beside its result."""

from __future__ import annotations

from pathlib import Path

from sb.config import load_config
from sb.kernel import RunContext, SafetyClass
from sb.runtime import Runtime, open_runtime
from tests.conftest import approve_tools


def runtime(home: Path) -> Runtime:
    config = load_config(env={"SB_HOME": str(home), "HOME": str(home)}, cwd=home, flags={})
    opened = open_runtime(config)
    opened.registry.register_fn("shop.migrate", "Migrate", lambda what: what, SafetyClass.READ_ONLY)
    approve_tools(opened)
    return opened


def test_result_of_a_call_brings_what_it_fires_once(home: Path) -> None:
    with runtime(home) as opened:
        with opened.brain("ada", scope="project:shop") as brain:
            brain.trigger_create("billing schema", "read the runbook")
            elsewhere = brain.trigger_create("billing schema", "of another project", project="bank")
        ctx = RunContext.create("bob", metadata={"project": "/srv/shop"})
        other = opened.executor.execute(ctx, "shop.migrate", {"what": "the weather"})
        first = opened.executor.execute(ctx, "shop.migrate", {"what": "billing schema"})
        again = opened.executor.execute(ctx, "shop.migrate", {"what": "the billing schema"})
        assert (other.warning, again.warning) == ("", "")
        assert (first.data, first.success) == ("billing schema", True)
        assert "[trigger] when billing schema: read the runbook (words of ada" in first.warning
        assert elsewhere not in first.warning


def test_result_goes_out_where_triggers_cannot_be_read(home: Path) -> None:
    with runtime(home) as opened:
        with opened.brain("ada", scope="project:shop") as brain:
            brain.trigger_create({"tool": "shop.migrate"}, "read the runbook")
        with opened.database.write() as execute:
            execute("UPDATE triggers SET spec = 'no JSON'")
        ctx = RunContext.create("bob", metadata={"project": "/srv/shop"})
        result = opened.executor.execute(ctx, "shop.migrate", {"what": "x"})
        assert result.success
        assert result.warning.startswith("reminders cannot be read (JSONDecodeError)")
