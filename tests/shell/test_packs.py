"""Rule packs: the shipped ones do as their examples say; packs of one's own count as far as they are trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.packs import packs
from sb.config import load_config, trust
from sb.config.home import Home
from sb.config.pack_files import PackFile
from sb.errors import ConfigError
from sb.kernel.contracts import SafetyClass
from sb.runtime.parts import shell_rules
from sb.shell import ShellVerdict, classify
from sb.shell.packs.custom_packs import pack_problems, ruleset
from sb.shell.packs.packing import read_pack
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset
from tests.rows import rows

HOME = Path("/data/somebody")
OWN = """\
title: Our tools
rules:
  - commands: deployer
    class: local_write
    reason: works here
    with:
      - {words: [--production, ^prod-], class: destructive, reason: changes what customers use}
    stops: [deployer --production, deployer prod-eu]
    passes: [deployer staging]
  - commands: [terraform apply]
    class: network
    reason: is our habit
  - commands: [psql]
    class: destructive
    reason: is for people
"""


def judge(command: str, rules: Ruleset = SHIPPED_RULES) -> ShellVerdict:
    return classify(command, cwd=HOME / "work", home=HOME, protected=[HOME / ".sb"], env={}, rules=rules)


@rows("name", packs)
def test_examples_of_a_shipped_pack_hold(name: str) -> None:
    wrong = [
        (example.line, example.command, verdict.reason)
        for example in packs()[name].examples
        for verdict in [judge(example.command)]
        if example.stops != (verdict.safety_class is SafetyClass.DESTRUCTIVE)
    ]
    assert wrong == []


def test_no_command_has_rules_in_two_packs() -> None:
    named = [command for pack in packs().values() for command in pack.rules]
    assert len(named) == len(set(named))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "ours.yaml"
    path.write_text(OWN, encoding="utf-8")
    return path


def test_pack_of_the_configuration_adds_and_replaces_rules(own: Path, tmp_path: Path) -> None:
    rules = ruleset((), [PackFile(own)], tmp_path / "compiled")
    assert judge("deployer staging", rules).safety_class == "local_write"
    verdict = judge("ls && deployer --production", rules)
    assert (verdict.safety_class, verdict.reason) == (
        "destructive",
        "deployer --production: changes what customers use",
    )
    assert judge("deployer prod-eu", rules).safety_class == "destructive"
    assert judge("terraform apply", rules).safety_class == "network"
    assert judge("psql -c 'select 1'", rules).safety_class == "destructive"  # whatever handles it
    assert judge("deployer staging").safety_class == "network"


def test_untrusted_pack_only_raises_classes(own: Path, tmp_path: Path) -> None:
    rules = ruleset((), [PackFile(own, only_raises=True)], tmp_path / "compiled")
    assert judge("deployer staging", rules).safety_class == "network"
    assert judge("terraform apply", rules).safety_class == "destructive"
    assert judge("deployer --production", rules).safety_class == "destructive"


def test_compiled_pack_is_read_by_its_digest(own: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "compiled"
    ruleset((), [PackFile(own)], compiled)
    (path,) = compiled.iterdir()
    path.write_text(
        path.read_text(encoding="utf-8").replace("works here", "from the cache"), encoding="utf-8"
    )
    assert (
        judge("deployer staging", ruleset((), [PackFile(own)], compiled)).reason == "deployer: from the cache"
    )
    path.write_text("{", encoding="utf-8")  # damaged: it is compiled again
    assert judge("deployer staging", ruleset((), [PackFile(own)], compiled)).reason == "deployer: works here"
    own.write_text(OWN.replace("works here", "changed"), encoding="utf-8")
    assert judge("deployer staging", ruleset((), [PackFile(own)], compiled)).reason == "deployer: changed"


def test_pack_that_is_switched_off_leaves_its_programs_unknown(tmp_path: Path) -> None:
    rules = ruleset(["secret-stores", "git"], [], tmp_path)
    assert judge("vault delete secret/x", rules).reason == "vault: runs an unknown program"
    assert judge("git push --force", rules).safety_class == "destructive"  # required


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: []\n", "title is missing"),
        ("title: Ours\nrule: []\n", ':2: rule: unknown key (did you mean "rules"?)'),
        (
            "title: Ours\nrules:\n  - commands: [x, y]\n    clas: network\n    reason: talks\n",
            ':4: rules[1] (x).clas: unknown key (did you mean "class"?)',
        ),
        (
            "title: Ours\nrules:\n  - {commands: x, class: bad, reason: talks}\n",
            ":3: rules[1] (x).class: must be read_only, local_write, network or destructive, not bad",
        ),
        (
            "title: Ours\nrules:\n  - {commands: x, class: network, reason: a | b}\n",
            ":3: rules[1] (x).reason: must be a reason of 3 to 90 characters without '|', not a | b",
        ),
        ("title: Ours\nrules:\n  - {commands: x, class: network}\n", ":3: rules[1] (x): reason is missing"),
        (
            (
                "title: Ours\nrules:\n  - {commands: x, class: network, reason: talks,\n"
                "     with: [{words: force, class: destructive, reason: forces}]}\n"
            ),
            ":4: rules[1] (x).with[1] (force): force is no option and has no mark",
        ),
        ("title: Ours\nrules: &a []\n", "anchors (&) and aliases (*) are not used here"),
    ],
)
def test_wrong_pack_is_named_with_file_line_and_rule(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        ruleset((), [PackFile(path)], tmp_path / "compiled")
    assert str(path) in str(error.value)
    assert message in error.value.message


def test_check_names_wrong_packs_and_unknown_names(tmp_path: Path, own: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "hooks: {packs: [ours.yaml, none.yaml], packs_disabled: [secret-store, git]}\n", encoding="utf-8"
    )
    own.write_text("title: Ours\nrulez: []\n", encoding="utf-8")
    assert [problem.message for problem in pack_problems(config, {})] == [
        'unknown key (did you mean "rules"?)',
        "no such rule pack",
        "no shipped pack 'secret-store' (did you mean \"secret-stores\"?)",
        "the pack git cannot be switched off",
    ]


def test_pack_of_a_project_counts_whole_only_as_it_was_trusted(tmp_path: Path, own: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir(mode=0o700)
    project.mkdir()
    pack = project / "ours.yaml"
    pack.write_text(OWN, encoding="utf-8")
    (project / "sb.yaml").write_text("hooks: {packs: [ours.yaml]}\n", encoding="utf-8")
    env = {"SB_HOME": str(home), "HOME": str(tmp_path)}

    def apply() -> SafetyClass:
        config = load_config(env=env, cwd=project, flags={})
        return judge("terraform apply", shell_rules(config)).safety_class

    assert apply() == "destructive"
    trust(Home(home), project / "sb.yaml", env=env)
    assert apply() == "network"
    pack.write_text(OWN.replace("is our habit", "is somebody's habit"), encoding="utf-8")
    assert apply() == "destructive"


def test_pack_in_the_documentation_is_one(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "shell-classes.md"
    text = page.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    path = tmp_path / "ours.yaml"
    path.write_text(text, encoding="utf-8")
    rules = ruleset((), [PackFile(path)], tmp_path / "compiled")
    examples = read_pack(text.encode(), path.name).examples
    assert len(examples) == 5
    for example in examples:
        stopped = judge(example.command, rules).safety_class is SafetyClass.DESTRUCTIVE
        assert stopped == example.stops, example
