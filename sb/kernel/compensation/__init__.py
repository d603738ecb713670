"""Compensation of failed calls: the dispatcher, its wiring, and the guard of reversals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.compensation.dispatcher import CompensationDispatcher as CompensationDispatcher
    from sb.kernel.compensation.outcome import CompensationKind as CompensationKind
    from sb.kernel.compensation.outcome import CompensationOutcome as CompensationOutcome
    from sb.kernel.compensation.outcome import FailedCall as FailedCall
    from sb.kernel.compensation.outcome import FailureNotice as FailureNotice
    from sb.kernel.compensation.reversal_guard import NoReversalToken as NoReversalToken
    from sb.kernel.compensation.reversal_guard import TokenStore as TokenStore
    from sb.kernel.compensation.reversal_guard import guard as guard
    from sb.kernel.error_classifier.verdicts import PLAYBOOK as PLAYBOOK
    from sb.kernel.error_classifier.verdicts import CompensationAction as CompensationAction
    from sb.kernel.error_classifier.verdicts import Verdict as Verdict
    from sb.kernel.error_classifier.verdicts import verdict_for as verdict_for
    from sb.kernel.error_kinds import ErrorKind as ErrorKind
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.error_kinds": "ErrorKind",
            "sb.kernel.error_classifier.verdicts": "PLAYBOOK CompensationAction Verdict verdict_for",
            "sb.kernel.compensation.dispatcher": "CompensationDispatcher",
            "sb.kernel.compensation.outcome": "CompensationKind CompensationOutcome FailedCall FailureNotice",
            "sb.kernel.compensation.reversal_guard": "NoReversalToken TokenStore guard",
        },
    )
