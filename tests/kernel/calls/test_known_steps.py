"""Named steps in the log: the same whether a process asks for one or for many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sb.kernel import RunContext, SafetyClass, ToolExecutor, ToolRegistry
from sb.kernel.calls.known_steps import KnownSteps, step_key
from sb.kernel.contracts import ToolError, ToolErrorCode
from sb.log.event_log import EventLog
from sb.store.database import open_database

STEPS = ("pay", "ship", "mail")


def act(how: str) -> str:
    """A tool that works, fails, or loses its connection after its effect."""
    if how == "fails":
        raise ToolError(ToolErrorCode.VALIDATION_ERROR, "no such order")
    if how == "lost":
        raise ConnectionResetError("reset")
    return how


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(("works", "fails", "lost"))), max_size=8))
def test_step_asked_for_alone_is_what_it_is_among_all(calls: list[tuple[str, str]]) -> None:
    log = EventLog(open_database(":memory:"))
    registry = ToolRegistry()
    registry.register_fn("shop.act", "Act", act, SafetyClass.NETWORK)
    executor = ToolExecutor(registry, event_log=log)
    ctx = RunContext.create("clerk")
    for step, how in calls:
        executor.execute(ctx, "shop.act", {"how": how}, step=step)
    with log.database.snapshot() as connection:
        among = KnownSteps(log)
        for name in STEPS * 2:
            key = step_key(ctx.run_id, "shop.act", name)
            alone = KnownSteps(log).find(connection.execute, ctx.run_id, key)
            assert alone == among.find(connection.execute, ctx.run_id, key)
    log.database.close()
