"""Commands in containers: they reach of this machine only what the container is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sb.shell import tables
from sb.shell.handlers.wrapping import wrapped
from sb.shell.parsing.words import display, is_literal
from sb.shell.programs.rules import DESTROY, NETWORK, Finding, highest, rule_finding, subcommand

if TYPE_CHECKING:
    from sb.shell.judge import Judge
    from sb.shell.parsing.inputs import Input

_ENGINES = ("docker", "podman", "nerdctl")
_RUNNING = {
    **{f"{engine}{group} {verb}": verb for engine in _ENGINES for group in ("", " container") for verb in ("run", "create", "exec")},
    **{f"{engine} compose {verb}": verb for engine in _ENGINES for verb in ("run", "exec")},
    **{f"{engine}-compose {verb}": verb for engine in ("docker", "podman") for verb in ("run", "exec")},
    "kubectl exec": "exec",
    "oc exec": "exec",
    "oc rsh": "exec",
}  # fmt: skip
_FLAG_LETTERS = frozenset("itdPqTh")
_FLAGS, _VALUED = map(frozenset, (tables.CONTAINER_FLAGS.split(), tables.CONTAINER_VALUED.split()))
_MOUNTS = frozenset(
    "-v --volume --mount --volumes-from --device --pid --privileged --ipc --uts --userns".split()
)
_RIGHTS = ("ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "DAC_READ_SEARCH")


class _Given(NamedTuple):
    """The options of a run, its operands, and whether an option may be another's value."""

    options: list[tuple[str, str]]
    rest: list[str]
    doubtful: bool


def container(judge: Judge, name: str, arguments: list[str], stdin: Input) -> Finding:
    """Judge a program that runs containers."""
    key, rest = subcommand(name, arguments, _RUNNING)
    verb = _RUNNING.get(key)
    if verb is None:
        return wrapped(judge, name, arguments, stdin)
    given = _given(list(rest))
    floor = highest(
        Finding(NETWORK, f"{key}: runs a program that may be downloaded or remote"),
        rule_finding(name, [word for word in arguments if word not in given.rest])
        or Finding(NETWORK, f"{key}: runs a container"),
        *_rights(judge, key, given),
    )
    entry = next((value for option, value in given.options if option == "--entrypoint"), "")
    command = given.rest[1:]  # behind the image, or the container
    if name in ("kubectl", "oc"):  # there options may stand behind it
        command = command[command.index("--") :] if "--" in command else _given(command).rest
    command = command[1:] if command[:1] == ["--"] else command
    apart = (
        verb == "run" and " compose" not in key and not any(option in _MOUNTS for option, _ in given.options)
    )
    readings = [[entry, *command] if entry else command]
    if given.doubtful:
        readings += [command[1:], given.rest]
    found = floor
    for reading in filter(None, readings):
        if reading[0][:1] == "-" and is_literal(reading[0]):
            continue  # for the program that the image names
        before, judge.paths.elsewhere = (
            judge.paths.elsewhere,
            judge.paths.elsewhere or (apart and not given.doubtful),
        )
        inner = judge.line(reading[0], stdin) if " " in reading[0] else judge.command(reading, stdin)
        judge.paths.elsewhere = before
        found = highest(found, inner)
    return found


def _given(arguments: Sequence[str]) -> _Given:
    options: list[tuple[str, str]] = []
    doubtful = False
    at = 0
    while at < len(arguments) and arguments[at][:1] == "-" and arguments[at] not in ("-", "--"):
        word = arguments[at]
        at += 1
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if not equals and name not in _FLAGS:
                value = "".join(arguments[at : at + 1])
                doubtful = doubtful or name not in _VALUED
                at += 1
            options.append((name, value))
            continue
        for index, letter in enumerate(word[1:], 2):
            if letter in _FLAG_LETTERS:
                continue
            value = word[index:]
            if not value:
                value = "".join(arguments[at : at + 1])
                at += 1
            options.append((f"-{letter}", value.removeprefix("=")))
            break
    return _Given(options, list(arguments[at + (arguments[at : at + 1] == ["--"]) :]), doubtful)


def _rights(judge: Judge, key: str, given: _Given) -> Iterator[Finding]:
    """Judge the parts of this machine that a container is given."""
    for option, value in given.options:
        if option in ("--privileged", "--pid") and value not in ("false", "private"):
            yield Finding(DESTROY, f"{key} {option}: gets the rights of this machine")
        elif option == "--cap-add" and value.upper().removeprefix("CAP_") in _RIGHTS:
            yield Finding(DESTROY, f"{key} --cap-add {display(value, 20)}: gets the rights of this machine")
        elif option in ("-v", "--volume", "--mount"):
            yield from _mounted(judge, key, option, value)


def _mounted(judge: Judge, key: str, option: str, value: str) -> Iterator[Finding]:
    if option == "--mount":
        fields = dict(part.partition("=")[::2] for part in value.split(","))
        source = fields.get("source") or fields.get("src") or ""
        reads = (
            bool({"readonly", "ro"} & fields.keys()) and fields.get("readonly", fields.get("ro")) != "false"
        )
    else:
        source, _, rest = value.partition(":")
        reads = "ro" in rest.rpartition(":")[2].split(",")
    if not source.startswith(("/", "~", ".")) or not is_literal(source):
        return  # a volume of its own
    if source.endswith((".sock", "/var/run", "/run")):
        yield Finding(
            DESTROY,
            f"{key} {option} {display(source, 40)}: gives the container control of a local service",
        )
    for place in judge.paths.now(source):
        below = judge.paths.contains(place)
        if below and below.strictly:
            yield Finding(
                DESTROY, f"{key} {option} {display(source, 40)}: mounts {below.name} into the container"
            )
    if not reads and (why := judge.paths.sensitive(source)):
        yield Finding(DESTROY, f"{key} {option} {display(source, 40)}: {why}")
