"""The policy of Rules: what the configuration allows, asks and denies, in the order in which rules count."""

from __future__ import annotations

from collections.abc import Sequence

from sb.screens.actions import LISTS, PANELS, RECORDS, bindings
from sb.screens.kind_view import KindView

from sb.config.rules import PolicyRule
from sb.present.rules import POLICY_RULE


class PolicyScreen(KindView[PolicyRule]):
    """The rules of `policy:` in the configuration; nothing is decided here."""

    name_ = "policy"
    parts = ("policy", LISTS, RECORDS, PANELS)
    heading = "Rules"
    kind = POLICY_RULE
    noun = "Rule"
    gone = "no rule has this name"
    empty = "No rules of your own.\n\npolicy: in config.yaml holds them; sb kernel policy explain tells a verdict."
    BINDINGS = bindings("policy")

    def read_items(self) -> Sequence[PolicyRule]:
        return self.records.config.policy

    def reference(self, item: PolicyRule) -> str:
        return item.name

    def command(self) -> str:
        return "sb kernel policy check"
