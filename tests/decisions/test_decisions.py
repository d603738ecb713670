"""Decision keys and files are unambiguous; everything else is refused by name."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sb.decisions.injection import InjectionSlot, SlotCondition
from sb.decisions.resolver import DecisionResolver
from sb.errors import ConfigError, NotFoundError, UsageError
from sb.kernel.run_context import LocaleCode
from sb.log import kinds
from tests.rows import rows

KEY = "support.context.injection.v1"
SPEC = f"""\
key: {KEY}
version: "1.2.0"
kind: context_injection
description: A shorter one
body:
  token_budget: 200
  slots:
    - name: policy
      packs: ["support.policy.*"]
      priority: 100
      max_tokens: 150
      when:
        locales: [hi-IN]
        intents: ["*refund*"]
        tags: [vip]
"""
KERNEL_KEYS = {
    "kernel.tool.dispatch": "Tool execution dispatch decision",
    "kernel.tool.policy.blocked": "Policy blocked a tool call",
    "kernel.budget.exceeded": "Run budget consumed",
    "kernel.memory.put": "Value written to memory",
    "kernel.memory.get": "Value read from memory",
    "kernel.run.started": "Agent run started",
    "kernel.run.finished": "Agent run completed",
}


def write(folder: Path, content: str | bytes, key: str = KEY) -> Path:
    file = folder / f"{key}.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def complaint_about(folder: Path, content: str | bytes) -> str:
    """The message of the ConfigError that the file raises, which must name the file."""
    file = write(folder, content)
    resolver = DecisionResolver([folder])
    with pytest.raises(ConfigError, match=re.escape(str(file))) as caught:
        resolver.resolve(KEY)
    return caught.value.message


def test_the_kernel_keys_have_the_meanings_of_the_reference() -> None:
    assert kinds.namespaces("kernel") == KERNEL_KEYS


def test_namespaces_are_sorted_and_cut_at_whole_parts_of_a_key() -> None:
    kinds.register("kernels.other", "Not the kernel's")
    assert list(kinds.namespaces()) == sorted(kinds.namespaces())
    assert list(kinds.namespaces("kernel.tool.")) == [
        kinds.TOOL_DISPATCH,
        kinds.TOOL_POLICY_BLOCKED,
    ]
    assert "kernels.other" not in kinds.namespaces("kernel")
    assert kinds.namespaces("kernel.run.started") == {"kernel.run.started": "Agent run started"}


def test_a_registered_key_has_a_meaning_and_may_be_registered_again() -> None:
    kinds.register("tests.refund.approved", "A refund was approved")
    kinds.register("tests.refund.approved", "A refund was approved")
    assert kinds.require("tests.refund.approved") == "tests.refund.approved"
    assert kinds.meaning("tests.refund.approved") == "A refund was approved"


def test_a_key_cannot_change_its_meaning() -> None:
    with pytest.raises(UsageError, match="already means 'Agent run started'"):
        kinds.register(kinds.RUN_STARTED, "Something else")
    assert kinds.meaning(kinds.RUN_STARTED) == "Agent run started"


@pytest.mark.parametrize("look_up", [kinds.require, kinds.meaning])
def test_an_unregistered_key_is_refused_with_the_nearest_one(look_up: object) -> None:
    assert callable(look_up)
    with pytest.raises(NotFoundError, match=r'"kernel\.tool\.dispatch"'):
        look_up("kernel.tool.dispatched")


@rows("key", ["", "kernel", "Kernel.run", "kernel..run", ".run", "kernel.run.", "a.b\n", "a.1"])
def test_a_key_that_is_not_dotted_lower_case_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match="dotted lower case"):
        kinds.register(key, "A meaning")


def test_a_key_without_a_meaning_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a meaning"):
        kinds.register("tests.nothing", " ")


def test_importing_the_namespace_and_listing_decisions_loads_no_yaml() -> None:
    program = (
        "import sys, sb.log.kinds, sb.context_packs, sb.decisions.resolver as r;"
        "r.DecisionResolver().keys(); sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_packaged_decision_resolves() -> None:
    spec = DecisionResolver().resolve(KEY)
    assert (spec.key, spec.version, spec.kind) == (KEY, "1.0.0", "context_injection")
    assert sum(slot.max_tokens for slot in spec.body.slots if slot.required) <= spec.body.token_budget


def test_a_file_is_read_into_typed_values(tmp_path: Path) -> None:
    write(tmp_path, SPEC)
    spec = DecisionResolver([tmp_path]).resolve(KEY)
    assert (spec.version, spec.description, spec.body.token_budget) == ("1.2.0", "A shorter one", 200)
    assert spec.body.slots == (
        InjectionSlot(
            name="policy",
            packs=("support.policy.*",),
            priority=100,
            max_tokens=150,
            required=False,
            when=SlotCondition(locales=(LocaleCode.HI_IN,), intents=("*refund*",), tags=("vip",)),
        ),
    )


def test_an_earlier_folder_wins_over_a_later_one_and_over_the_package(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        write(folder, SPEC.replace("A shorter one", folder.name))
    other = "tests.context.injection.v2"
    write(second, SPEC.replace(KEY, other).replace("1.2.0", "2.0.0"), other)
    resolver = DecisionResolver([first, second])
    assert resolver.resolve(KEY).description == "first"
    assert resolver.resolve(other).version == "2.0.0"
    assert resolver.keys() == [KEY, other]


@pytest.mark.parametrize("key", ["support.context.injection.v2", "../support.context.injection.v1"])
def test_a_missing_decision_is_reported_with_the_nearest_key(key: str) -> None:
    with pytest.raises(NotFoundError, match=re.escape(f'did you mean "{KEY}"')):
        DecisionResolver().resolve(key)


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be listed"):
        DecisionResolver([tmp_path / "gone"])


@pytest.mark.parametrize("name", ["Support.context.v1", "support.context", "support.v0", "notes"])
def test_a_file_whose_name_is_no_versioned_key_is_reported(tmp_path: Path, name: str) -> None:
    write(tmp_path, SPEC, name)
    (tmp_path / "README.md").write_text("ignored", encoding="utf-8")
    with pytest.raises(ConfigError, match="not a versioned decision key"):
        DecisionResolver([tmp_path])


@rows(
    "old, new, complaint",
    [
        (
            "kind: context_injection",
            "knid: context_injection",
            r':3: knid: unknown key \(did you mean "kind"\?\)',
        ),
        (
            "token_budget",
            "token_buget",
            r':6: body\.token_buget: unknown key \(did you mean "token_budget"\?\)',
        ),
        ("priority", "prio", r":10: body\.slots\[0\]\.prio: unknown key"),
        ("tags:", "tag:", r':15: body\.slots\[0\]\.when\.tag: unknown key \(did you mean "tags"\?\)'),
        ("description: A shorter one\n", "", ":1: description is missing"),
        (
            f"key: {KEY}",
            "key: support.context.injection.v2",
            ":1: key: is .*v2.* but the file is named after .*v1",
        ),
        ('"1.2.0"', '"1.2"', ":2: version: is .* must be like 1.0.0"),
        ('"1.2.0"', '"2.0.0"', f":2: version: is 2.0.0, which is not a version of {KEY}"),
        ('"1.2.0"', "1.2", ":2: version: must be a text, not 1.2"),
        ("kind: context_injection", "kind: routing", ':3: kind: must be context_injection, not "routing"'),
        ("A shorter one", '" "', ":4: description: must not be blank"),
        ("A shorter one", "", ":4: description: must be a text, not nothing"),
        ("A shorter one", "[a, b]", ":4: description: must be a text, not a list"),
        ("A shorter one", "!!python/object/apply:os.getcwd []", r":4: tags \(!\) are not used here"),
        (
            "token_budget: 200",
            "token_budget: lots",
            r':6: body\.token_budget: must be a whole number from 1 to 1,000,000, not "lots"',
        ),
        ("token_budget: 200", "token_budget: true", "must be a whole number from 1 to 1,000,000, not true"),
        ("token_budget: 200", "token_budget: 0", "must be a whole number from 1 to 1,000,000, not 0"),
        ("token_budget: 200", "token_budget: 010", ":6: 010: a number with leading zeros"),
        (
            "token_budget: 200",
            "token_budget: 200\n  token_budget: 300",
            ':7: the key "token_budget" is there twice',
        ),
        ("token_budget: 200", "token_budget: 200\n  1: 2", ":7: a key is no text"),
        (
            "priority: 100",
            "priority: 101",
            r":10: body\.slots\[0\]\.priority: must be a whole number from 0 to 100, not 101",
        ),
        (
            "priority: 100",
            "priority: 1\n      required: maybe",
            "required.* must be true or false, not .maybe",
        ),
        ('["support.policy.*"]', "[]", r":9: body\.slots\[0\]\.packs: must not be empty"),
        ('["support.policy.*"]', "support.policy.*", "packs.* must be a list, not .support"),
        ('["support.policy.*"]', "[7]", r"packs\[0\]: must be a text, not 7"),
        ('["support.policy.*"]', '[a, ""]', r"packs\[1\]: must not be empty"),
        ("[hi-IN]", "[hi-In]", r'locales\[0\]: must be .*hi-IN.* not "hi-In" \(did you mean "hi-IN"\?\)'),
        ("tags: [vip]", "tags: &a [*a]", r":15: anchors \(&\) and aliases \(\*\) are not used here"),
        ("tags: [vip]", "tags: [vip", ":1[56]: invalid YAML"),
        ("tags: [vip]", "tags: \x00", ":15: invalid YAML"),
        ("tags: [vip]", "tags: [vip]\n---\nkey: b", ":16: has a second document"),
    ],
)
def test_a_broken_file_is_refused_by_file_and_key_or_line(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in SPEC
    assert re.search(complaint, complaint_about(tmp_path, SPEC.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"- a list\n", "must be a mapping, not a list"),
        (b"key: a\nversion: \xff\n", ":2: is not UTF-8"),
        (b"#" * (64 * 1024 + 1), "larger than 64.0 KiB"),
        (b'key: "\\UFFFFFFFF"', "invalid YAML"),
        (b"[" * 60_000, "is nested deeper than"),
    ],
)
def test_a_file_that_is_no_decision_at_all_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    assert complaint in complaint_about(tmp_path, content)


def test_a_slot_name_used_twice_is_refused(tmp_path: Path) -> None:
    slot = SPEC[SPEC.index("    - name") : SPEC.index("      when:")]
    assert "slots[1].name" in complaint_about(tmp_path, SPEC + slot)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / f"{KEY}.yaml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        DecisionResolver([tmp_path]).resolve(KEY)


@given(junk=st.binary(max_size=200), start=st.integers(0, len(SPEC)), length=st.integers(0, 40))
def test_no_file_content_raises_anything_but_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, start: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("specs")
    data = SPEC.encode()
    write(folder, data[:start] + junk + data[start + length :])
    with suppress(ConfigError):
        assert DecisionResolver([folder]).resolve(KEY).key == KEY
