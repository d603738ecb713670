"""`sb operator`: enroll operators and manage their keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sb.commands import output
from sb.commands.diagnostics import note
from sb.commands.options import As, AsJson, LogReason, group
from sb.commands.session import ask_secret, baselines, configuration, decider

from sb.base.text import nearest, plain
from sb.errors import DeniedError, NotFoundError, SBError, UsageError
from sb.present.rules import OPERATOR

if TYPE_CHECKING:
    from sb.config import Config
    from sb.kernel.authority.authority import Authority
    from sb.kernel.authority.enrolment import Enrolment
    from sb.kernel.authority.keys import KeyFolder
    from sb.kernel.authority.root_file import EnrolledOperator
    from sb.kernel.authority.signing import Operator
    from sb.log.event_log import EventLog

_MOST_TRIES = 3  # to give a new passphrase
app = group()
Person = Annotated[str, typer.Argument(help="Name of the person.")]
NoPassphrase = Annotated[
    bool,
    typer.Option("--no-passphrase", help="Store the key unencrypted: any process of yours can sign."),
]
Name = Annotated[str, typer.Argument(help="Name of the person; by default from the login name.")]


class _Opened:
    """The parts that these commands need."""

    def __init__(self, ctx: typer.Context) -> None:
        from sb.kernel.authority.keys import KeyFolder
        from sb.runtime.parts import open_authority, open_log

        self.config: Config = configuration(ctx)
        self.log: EventLog = open_log(self.config)
        self.authority: Authority = open_authority(self.config, self.log)
        self.keys: KeyFolder = KeyFolder(self.config.home.keys)

    @property
    def enrolment(self) -> Enrolment:
        from sb.kernel.authority.enrolment import Enrolment

        return Enrolment(self.authority, self.keys)


@app.command(epilog="Example: sb operator init ana")
def init(
    ctx: typer.Context,
    name: Name = "",
    no_passphrase: NoPassphrase = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Start over after losing the keys of enrolled operators.")
    ] = False,
    reason: LogReason = "",
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation before replacing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Enroll the first operator; from then on, signatures count."""
    from sb.kernel.authority.enrolment import login_name

    if not replace:
        enrol(ctx, name, no_passphrase=no_passphrase, as_json=as_json)
        return
    if not reason.strip():
        raise UsageError("replacing the operators needs a reason", "--reason TEXT")
    _confirm_replacement(yes)
    opened, name = _Opened(ctx), name or login_name()
    made, old = opened.enrolment.replace(name, _new_passphrase(name, no_passphrase), reason)
    _report(made, as_json)
    if old is not None:
        note(f"the old file is {old}; earlier signatures no longer count")


def enrol(ctx: typer.Context, name: str = "", *, no_passphrase: bool = False, as_json: bool = False) -> None:
    """Make the first operator of this home; what was approved until now is signed by them."""
    from sb.kernel.authority.enrolment import login_name
    from sb.kernel.baselines.seeding import approved_contracts, carry_over
    from sb.kernel.baselines.seen import DOCUMENT_SURFACES, SURFACES
    from sb.kernel.baselines.store import ContractBaselineStore

    opened, name = _Opened(ctx), name or login_name()
    stores = [baselines(ctx, surface)[0] for surface in SURFACES]
    authority = opened.authority
    stores += [ContractBaselineStore(opened.log, authority, surface) for surface in DOCUMENT_SURFACES]
    approved = [approved_contracts(store) for store in stores]
    passphrase = None if opened.authority.enrolled() else _new_passphrase(name, no_passphrase)
    made = opened.enrolment.init(name, passphrase)  # or says who is enrolled already
    if made is not None:
        for store, contracts in zip(stores, approved, strict=True):
            carry_over(store, contracts, made)
    _report(made or opened.authority.roster().active()[0], as_json)


def _confirm_replacement(yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("needs a terminal, or --yes, to replace the operators", "pass --yes")
    note("Every approval, grant and contract signed so far stops counting.")
    if typer.prompt("type replace to continue") != "replace":
        raise typer.Abort


def _new_passphrase(name: str, declined: bool) -> str | None:
    from sb.kernel.authority.keys import SHORTEST_PASSPHRASE, weakness

    if declined:
        return None
    prompt = f"new passphrase for {name}'s key, at least {SHORTEST_PASSPHRASE} characters: "
    for _ in range(_MOST_TRIES):
        first = ask_secret(prompt)
        wrong = weakness(name, first)
        if not wrong and ask_secret("the same again: ") != first:
            wrong = "passphrases differ"
        if not wrong:
            return first
        note(f"{wrong}: try again")
    raise UsageError(f"no passphrase after {_MOST_TRIES} tries; nothing was made", "sb operator init")


def _report(operator: EnrolledOperator | Operator, as_json: bool) -> None:
    state = getattr(operator, "state", "active")
    if as_json:
        fields = {"name": operator.name, "key_id": operator.key_id, "public_key": operator.public_key}
        output.emit_json(fields | {"state": state})
    else:
        word = "an operator" if state == "active" else state
        output.line(f"{operator.name} is {word}: key {operator.key_id}")


@app.command(name="list", epilog="Example: sb operator list")
def list_operators(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List every key that was ever enrolled."""
    opened = _Opened(ctx)
    found = opened.authority.operators()
    nothing = "no operator is enrolled, so decisions are unsigned: sb operator init"
    output.listing(OPERATOR, found, nothing, as_json=as_json)


@app.command(epilog="Example: sb operator add ben --as ana")
def add(
    ctx: typer.Context,
    name: Person,
    public_key: Annotated[
        str,
        typer.Option(help="A key from `sb operator whoami` elsewhere, or @FILE."),
    ] = "",
    no_passphrase: NoPassphrase = False,
    reason: LogReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Enroll an operator; an existing one signs."""
    opened = _Opened(ctx)
    by = _operator(ctx, opened, who)
    passphrase = None if public_key else _new_passphrase(name, no_passphrase)
    made = opened.enrolment.add(name, _text(public_key), by, reason, passphrase=passphrase)
    _report(made, as_json)


def _operator(ctx: typer.Context, opened: _Opened, who: str) -> Any:
    if not opened.authority.enrolled():
        raise DeniedError("no operator is enrolled, so none can sign this", "sb operator init")
    return decider(ctx, opened.authority, who)


def _text(value: str) -> str:
    if not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {value[1:]}: {error}") from None


@app.command(epilog='Example: sb operator revoke ben --reason "left the team"')
def revoke(
    ctx: typer.Context,
    name: Person,
    reason: LogReason = "",
    who: As = "",
    as_json: AsJson = False,
) -> None:
    """Revoke an operator: none of its signatures count."""
    opened = _Opened(ctx)
    enrolled = [operator.name for operator in opened.authority.roster().active()]
    if name not in enrolled:  # before a passphrase is asked for
        raise NotFoundError(
            f"no operator {plain(name, one_line=True)!r}{nearest(name, enrolled)}", "sb operator list"
        )
    _report(opened.enrolment.revoke(name, _operator(ctx, opened, who), reason), as_json)


@app.command(epilog="Example: sb operator rotate ana")
def rotate(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The operator; by default the only one with a key here.")] = "",
    no_passphrase: NoPassphrase = False,
    reason: LogReason = "",
    as_json: AsJson = False,
) -> None:
    """Replace an operator's key; old signatures still count."""
    opened = _Opened(ctx)
    by = _operator(ctx, opened, name)
    _report(opened.enrolment.rotate(by, _new_passphrase(by.name, no_passphrase), reason), as_json)


@app.command(epilog="Example: sb operator whoami")
def whoami(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show this home's keys, and what its decisions prove."""
    opened = _Opened(ctx)
    active = {operator.public_key for operator in opened.authority.roster().active()}
    keys = [_key(opened.keys, name, active) for name in opened.keys.names()]
    level = opened.authority.assurance(opened.keys)
    if as_json:
        output.emit_json({"keys": keys, "assurance": level.name.lower(), "meaning": level.meaning})
        return
    if keys:
        output.table(
            ["operator", "enrolled", "passphrase", "public key"],
            [
                (key["name"], *(_yes(key[what]) for what in ("enrolled", "locked")), key["public_key"])
                for key in keys
            ],
        )
    else:
        note("no operator key in this home")
    output.line(f"assurance: {level.name.lower()}: {level.meaning}")


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _key(keys: KeyFolder, name: str, active: set[str]) -> dict[str, Any]:
    try:
        file = keys.read(name)
    except (SBError, NotFoundError) as error:
        return {"name": name, "enrolled": False, "locked": False, "public_key": f"({error.message})"}
    return {
        "name": name,
        "enrolled": file.public_key in active,
        "locked": file.locked,
        "public_key": file.public_key,
    }
