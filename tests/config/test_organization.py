"""The policy of an organization: signed, out of reach, above every layer, and never widened."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sb.config import Config, load_config
from sb.config.model import DURABILITIES, ENFORCEMENTS, SAFETY_MODES
from sb.config.organization import KEY, POLICY, SIGNATURE, SYSTEM, Place
from sb.errors import ConfigError
from sb.log.kinds import RUN_STARTED
from sb.runtime import open_runtime
from tests.config.test_project_files import VALUES, Project, as_yaml, pairs, reached
from tests.conftest import CommandLine

PRIVATE = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
NARROWABLE = {
    key: values for key, values in VALUES.items() if key not in ("tools", "agents", "audit.retention_days")
}
texts = st.fixed_dictionaries({}, optional=NARROWABLE)


class Office(Project):
    """A project, a home, and the folder that IT manages."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.place = Place(folder / "managed", os.getuid(), folder / "managed")
        self.place.folder.mkdir(mode=0o755)

    def publish(self, text: str, version: str = "7") -> None:
        data = f"version: '{version}'\n{text}\n".encode()
        self.put(POLICY, data)
        self.put(SIGNATURE, base64.b64encode(PRIVATE.sign(data)))
        self.put(KEY, b"ed25519:" + base64.b64encode(PRIVATE.public_key().public_bytes_raw()) + b"\n")

    def put(self, name: str, data: bytes) -> None:
        (self.place.folder / name).write_bytes(data)
        (self.place.folder / name).chmod(0o644)

    def effective(
        self,
        project: str | None = None,
        home: str | None = None,
        flags: dict[str, object] | None = None,
        *,
        trusted: bool = False,
        tolerant: bool = False,
        managed: bool = True,
    ) -> Config:
        for path, text in ((self.file, project), (self.home.config_file, home)):
            if text is not None:
                path.write_text(text, encoding="utf-8")
        if trusted:
            self.trust()
        place = self.place if managed else self.place._replace(folder=self.place.folder / "none")
        return load_config(
            env=self.env, cwd=self.folder, flags=flags or {}, tolerant=tolerant, organization=place
        )


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def test_the_policy_counts_before_home_trusted_project_and_flags(office: Office, tmp_path: Path) -> None:
    office.publish("safety_mode: safe\nbudget: {max_tool_calls: 5}\nhttp: {allow: [a.b.c]}")
    text = "safety_mode: normal\nbudget: {max_tool_calls: 500}\nhttp: {allow: ['*.b.c', d.e]}\n"
    config = office.effective(text, text, {"database": str(tmp_path / "x.db")}, trusted=True)
    assert (config.safety_mode, config.budget.max_tool_calls) == ("safe", 5)
    assert [str(one) for one in config.http.allow] == ["a.b.c"]
    assert config.origin("safety_mode") == f"{office.place.folder / POLICY}:2"
    assert config.organization.startswith("7 ")
    assert any("safety_mode: the policy of the organization narrows it" in note for note in config.notes)


def test_everyone_may_narrow_further(office: Office) -> None:
    office.publish("budget: {max_tool_calls: 50}\ncontract_enforcement: observe")
    config = office.effective("budget: {max_tool_calls: 3}\n", "contract_enforcement: enforce\n")
    assert (config.budget.max_tool_calls, config.contract_enforcement) == (3, "enforce")


def test_rules_are_added_and_may_not_allow(office: Office) -> None:
    office.publish("policy: [{deny: http.*, reason: not from here}]")
    config = office.effective(home="policy: [{allow: http.get}]\n")
    assert [rule.effect for rule in config.policy] == ["allow", "deny"]
    office.publish("policy: [{allow: http.*}]")
    with pytest.raises(
        ConfigError, match=r"policy\.yaml:2: policy: a policy of an organization denies or asks"
    ):
        office.effective()


def test_a_ceiling_of_the_policy_allows_nothing_that_asked_before(office: Office) -> None:
    office.publish("irreversibility: {money: 100}")
    assert office.effective().irreversibility.money == 1e9
    assert office.effective(home="irreversibility: {money: 500}\n").irreversibility.money == 100
    assert office.effective(home="irreversibility: {money: 50}\n").irreversibility.money == 50


def test_disjoint_intents_stop_instead_of_registering_every_one(office: Office) -> None:
    office.publish("intents: [refund.issue, note.read]")
    assert office.effective().intents == ("refund.issue", "note.read")
    assert office.effective(home="intents: [note.read, other]\n").intents == ("note.read",)
    with pytest.raises(ConfigError, match="none of the registered ones"):
        office.effective(home="intents: [other]\n")


@pytest.mark.parametrize(
    "line", ["tools: [a:b]", "agents: {}", "database: x.db", "nonsense: 1", "hooks: {resident: false}"]
)
def test_what_cannot_be_narrowed_is_refused_with_its_line(office: Office, line: str) -> None:
    office.publish(line)
    with pytest.raises(ConfigError, match=r"policy\.yaml:2"):
        office.effective()


def edited(office: Office) -> None:
    office.put(POLICY, (office.place.folder / POLICY).read_bytes() + b"# more\n")


def another_key(office: Office) -> None:
    other = Ed25519PrivateKey.from_private_bytes(b"o" * 32)
    office.put(SIGNATURE, base64.b64encode(other.sign((office.place.folder / POLICY).read_bytes())))


def no_key(office: Office) -> None:
    office.put(KEY, b"\xff")


def unsigned(office: Office) -> None:
    (office.place.folder / SIGNATURE).unlink()


def writable(office: Office) -> None:
    (office.place.folder / POLICY).chmod(0o664)


def open_folder(office: Office) -> None:
    office.place.folder.chmod(0o777)


def linked(office: Office) -> None:
    path = office.place.folder / POLICY
    path.rename(office.place.folder / "real.yaml")
    path.symlink_to("real.yaml")


def somebody_elses(office: Office) -> None:
    office.place = office.place._replace(owner=os.getuid() + 1)


def without_version(office: Office) -> None:
    data = b"safety_mode: safe\n"
    office.put(POLICY, data)
    office.put(SIGNATURE, base64.b64encode(PRIVATE.sign(data)))


@pytest.mark.parametrize(
    "spoil",
    [edited, another_key, no_key, unsigned, writable, open_folder, linked, somebody_elses, without_version],
)
def test_a_policy_that_cannot_be_relied_on_stops_instead_of_being_left_out(
    office: Office, spoil: Callable[[Office], None]
) -> None:
    office.publish("safety_mode: safe")
    spoil(office)
    with pytest.raises(ConfigError) as caught:
        office.effective()
    assert "\n" not in caught.value.message
    assert office.effective(tolerant=True).notes, "what stops agents works then too, and says so"


def test_no_variable_and_no_setting_moves_it() -> None:
    assert SYSTEM.owner == 0
    assert (SYSTEM.folder.is_absolute(), SYSTEM.top) == (True, Path("/"))


def test_show_origin_lists_only_what_is_set(sb: CommandLine, home: Path) -> None:
    sb("init")
    (home / "config.yaml").write_text("safety_mode: safe\n", encoding="utf-8")
    shown = sb("config", "show", "--origin", "--json").json
    assert [(one["key"], one["origin"]) for one in shown["items"]] == [
        ("safety_mode", f"{home}/config.yaml:1")
    ]
    assert shown["organization"] == ""


def test_without_the_folder_nothing_is_different(office: Office) -> None:
    config = office.effective(managed=False)
    assert (config, config.organization) == (Config(office.home), "")


def test_its_version_is_on_record_in_each_run(office: Office) -> None:
    office.publish("safety_mode: safe")
    config = office.effective()
    with open_runtime(config) as runtime:
        with runtime.run("clerk") as ctx:
            pass
        payload = next(runtime.log.events(run_id=ctx.run_id, kind=RUN_STARTED)).payload or {}
    assert payload["organization_policy"] == config.organization


ORDERS = {"durability": DURABILITIES, "contract_enforcement": ENFORCEMENTS, "safety_mode": SAFETY_MODES}


def no_wider(after: Config, bound: Config, keys: set[str]) -> None:
    """Of these settings, the values are no wider than the others."""
    for key in keys:
        if key in ORDERS:
            assert ORDERS[key].index(after.get(key)) >= ORDERS[key].index(bound.get(key))
        elif key == "files.roots":
            assert reached(after) <= reached(bound)
        elif key == "http.allow":
            assert set(pairs(after)) <= set(pairs(bound))
        elif key == "shell.env":
            assert set(after.shell.env) <= set(bound.shell.env) | {"PATH"}
        else:
            assert after.get(key) <= bound.get(key)


@given(texts, texts, texts, st.booleans())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_layer_gives_more_than_the_policy_and_the_policy_gives_no_more_than_they(
    office: Office,
    policy: dict[str, object],
    home: dict[str, object],
    project: dict[str, object],
    trusted: bool,
) -> None:
    office.publish(as_yaml(policy))
    office.file.unlink(missing_ok=True)
    bound = office.effective(home=as_yaml(policy), managed=False)
    without = office.effective(as_yaml(project), as_yaml(home), trusted=trusted, managed=False)
    after = office.effective()
    no_wider(after, bound, set(policy))
    no_wider(after, without, set(NARROWABLE))
    for key in set(NARROWABLE) - set(policy):
        assert after.get(key) == without.get(key)
