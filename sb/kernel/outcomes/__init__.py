"""Outcomes of runs: what people said of them, and what the record tells beside that."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.outcomes.judgements import Judgement as Judgement
    from sb.kernel.outcomes.judgements import Judgements as Judgements
    from sb.kernel.outcomes.judgements import judged_run as judged_run
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {"sb.kernel.outcomes.judgements": "Judgement Judgements judged_run"},
    )
