"""Enroll an operator for a probe."""

from __future__ import annotations

from sb.kernel.authority.enrolment import Enrolment
from sb.kernel.authority.keys import KeyFolder
from sb.kernel.authority.signing import Operator
from sb.runtime import Runtime


def enrolled(runtime: Runtime) -> Operator:
    """Ada, the first operator of this home, with a real key; it has no passphrase, which would cost a second.

    She approves the contracts of the runtime's tools again: what was approved unsigned counts for nothing from now on.
    """
    keys = KeyFolder(runtime.config.home.keys)
    ada = Enrolment(runtime.approvals.authority, keys).init("ada", None)
    assert ada is not None  # the home is new, so nobody was enrolled before
    contracts = runtime.baselines.seen.fingerprints(runtime.registry)
    runtime.baselines.approve(contracts, ada, "the probe's own tools")
    return ada
