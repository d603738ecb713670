"""The envelope of a context request: for whom, about what, within which limits.

Source: the kernel reference, "Context injection bridge".
"""

from __future__ import annotations

from collections.abc import Iterable

from sb.base.values.frozen import frozen
from sb.errors import UsageError
from sb.kernel.run_context import LocaleCode, RunContext

GLOBAL_SCOPE = "global"


@frozen
class ContextEnvelope:
    """The request that context is put together for; make it with `ContextEnvelope.from_run` where there is a run.

    Args:
        scope: what is visible besides the global scope, such as ``project:acme``.
        tags: free marks that conditions of a decision can ask for, such as ``vip``.
        token_budget: the most tokens to inject; it narrows the decision's own budget and never widens it.
            0 asks for nothing, None leaves the decision's budget as it is.

    Raises:
        UsageError: the budget is negative, or the scope is empty.
    """

    run_id: str = ""
    trace_id: str = ""
    session_id: str = ""
    agent_name: str = "default"
    intent: str = ""
    locale: LocaleCode = LocaleCode.EN_US
    scope: str = GLOBAL_SCOPE
    tags: frozenset[str] = frozenset()
    token_budget: int | None = None

    def __post_init__(self) -> None:
        if not self.scope:
            raise UsageError("an envelope needs a scope", f"the widest is {GLOBAL_SCOPE!r}")
        if self.token_budget is not None and self.token_budget < 0:
            raise UsageError(f"token_budget is {self.token_budget}, must not be negative")

    @classmethod
    def from_run(
        cls,
        ctx: RunContext,
        *,
        scope: str = GLOBAL_SCOPE,
        tags: Iterable[str] = (),
        token_budget: int | None = None,
    ) -> ContextEnvelope:
        """The envelope of a run, which can never be given more prompt tokens than the run has left.

        Args:
            token_budget: the most tokens to inject, if less than that.

        Raises:
            UsageError: as for the class.
        """
        left = max(ctx.budget.max_prompt_tokens - ctx.budget.prompt_tokens_used, 0)
        return cls(
            run_id=ctx.run_id,
            trace_id=ctx.trace_id,
            session_id=ctx.session_id,
            agent_name=ctx.agent_name,
            intent=ctx.intent,
            locale=ctx.locale,
            scope=scope,
            tags=frozenset(tags),
            token_budget=left if token_budget is None else min(token_budget, left),
        )
