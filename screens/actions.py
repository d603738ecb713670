"""The console's actions: one declaration each for footer, help, palette, key table and bindings.

One declaration an action: footer, help, palette, key table and bindings all read it here. A screen or widget has the
handler `action_<id>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# In the order of their keys.
SECTIONS = {
    "home": "Home",
    "approvals": "Approvals",
    "contracts": "Contracts",
    "recovery": "Recovery",
    "runs": "Runs",
    "log": "Log",
    "memory": "Memory",
    "checkpoints": "Checkpoints",
}
EVERYWHERE, LISTS, RECORDS, ASKING, PANELS = "everywhere", "lists", "records", "asking", "panels"


@dataclass(frozen=True)
class Action:
    """One thing to do.

    Args:
        id: the Textual action, so that it names its handler.
        keys: as Textual names them, with commas between them.
        label: one or two words, for the footer.
        help: what it does, in a sentence.
        on: screens, or parts of screens, on which it is there.
        writes: whether it changes something; `--read-only` takes it away.
        footer: whether the footer shows it.
    """

    id: str
    keys: str
    label: str
    help: str
    on: tuple[str, ...]
    writes: bool = False
    footer: bool = False

    @property
    def shown_keys(self) -> str:
        """As people read them."""
        return " ".join(_SHOWN.get(key, key) for key in self.keys.split(","))


_SHOWN = {
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "right_square_bracket": "]",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "ctrl+p": "ctrl+p",
}
MOVING = (LISTS, RECORDS)

ACTIONS = (
    Action("palette", "colon,ctrl+p", "palette", "Find any action or record by typing.", (EVERYWHERE,)),
    Action("help", "question_mark", "help", "Show what can be done here.", (EVERYWHERE,), footer=True),
    Action("refresh", "r", "refresh", "Read everything on screen again.", (EVERYWHERE,)),
    Action("pause", "p", "pause", "Stop following what is written, or go on.", (EVERYWHERE,)),
    Action("theme", "T", "theme", "Change between dark and light.", (EVERYWHERE,)),
    Action(
        "back",
        "escape",
        "back",
        "Clear the filter or the marks, leave a record, or go to Home.",
        (EVERYWHERE,),
    ),
    Action(
        "kill",
        "K",
        "kill",
        "Stop every agent, or the agent, tool or run that the cursor is on; asks twice.",
        (EVERYWHERE,),
        writes=True,
        footer=True,
    ),
    Action("quit", "q", "quit", "Leave the console.", (EVERYWHERE,), footer=True),
    *(
        Action(f"go('{name}')", str(number), f"go to {title}", f"Show {title}.", (EVERYWHERE,))
        for number, (name, title) in enumerate(SECTIONS.items(), 1)
    ),
    Action("line_down", "j,down", "down", "Move one line down.", MOVING),
    Action("line_up", "k,up", "up", "Move one line up.", MOVING),
    Action("page_down", "pagedown,ctrl+f", "page down", "Move one page down.", MOVING),
    Action("page_up", "pageup,ctrl+b", "page up", "Move one page up.", MOVING),
    Action("first", "g,home", "first", "Go to the first line.", MOVING),
    Action("last", "G,end", "last", "Go to the last line.", MOVING),
    Action("open", "enter", "open", "Open what the cursor is on.", (LISTS,), footer=True),
    Action("copy", "y", "copy", "Copy the line, or the record, to the clipboard.", MOVING),
    Action("full", "f", "full panel", "Give the panel all the room, or both panels theirs.", (PANELS,)),
    Action(
        "move_split(-1)", "less_than_sign", "narrower", "Move the line between the panels back.", (PANELS,)
    ),
    Action("move_split(1)", "greater_than_sign", "wider", "Move the line between the panels on.", (PANELS,)),
    Action("unfold", "z", "unfold", "Show long values in full, or folded.", (RECORDS,)),
    Action(
        "approve",
        "a",
        "approve",
        "Approve what is marked, or what the cursor is on.",
        ("approvals", "contracts"),
        writes=True,
        footer=True,
    ),
    Action(
        "reveal",
        "v",
        "reveal",
        "Show or hide the secrets in the request that the cursor is on.",
        ("approvals", "recovery"),
    ),
    Action(
        "deny",
        "d",
        "deny",
        "Deny what is marked, or what the cursor is on.",
        ("approvals",),
        writes=True,
        footer=True,
    ),
    Action(
        "revoke",
        "x",
        "revoke",
        "Take back what was approved and not used yet, or a grant.",
        ("approvals", "grants"),
        writes=True,
        footer=True,
    ),
    Action(
        "lift",
        "L",
        "lift",
        "Let go on what was killed: the line that the cursor is on.",
        ("home",),
        writes=True,
        footer=True,
    ),
    Action(
        "mark",
        "space",
        "mark",
        "Mark the line, to decide several at once.",
        ("approvals", "contracts", "memory"),
        writes=True,
    ),
    Action(
        "filter",
        "slash",
        "filter",
        "Show only what mentions the words typed.",
        ("log", "approvals", "runs", "memory", "harness"),
        footer=True,
    ),
    Action(
        "approve",
        "a",
        "approve",
        "Agree to the reversal that waits, and perform it.",
        ("recovery",),
        writes=True,
        footer=True,
    ),
    Action(
        "let_be",
        "x",
        "dismiss",
        "Leave reversals to decide as it is.",
        ("recovery",),
        writes=True,
        footer=True,
    ),
    Action(
        "undo",
        "u",
        "undo",
        "Take back what a call did, after a dry run.",
        ("recovery",),
        writes=True,
        footer=True,
    ),
    Action(
        "undo",
        "u",
        "undo",
        "Go to where this call, or what this run did last, is undone.",
        ("runs",),
        writes=True,
        footer=True,
    ),
    Action(
        "undo_run",
        "U",
        "undo its run",
        "Take back everything that its run did, the newest first, after a dry run.",
        ("recovery",),
        writes=True,
    ),
    Action(
        "dry_run",
        "d",
        "dry run",
        "Look what undoing it would do now; nothing is undone.",
        ("recovery",),
        writes=True,
        footer=True,
    ),
    Action(
        "view",
        "right_square_bracket",
        "list",
        "Show what is open, what was settled too, or every change.",
        ("recovery",),
    ),
    Action("happened", "h", "happened", "Say that a call in doubt happened.", ("recovery",), writes=True),
    Action(
        "not_happened",
        "n",
        "did not happen",
        "Say that a call in doubt did not happen.",
        ("recovery",),
        writes=True,
    ),
    Action(
        "compensate",
        "c",
        "happened, undo it",
        "Say that a call in doubt happened, and undo it.",
        ("recovery",),
        writes=True,
    ),
    Action(
        "probe",
        "b",
        "ask its tool",
        "Ask the tool of a call in doubt whether it happened, and keep the answer.",
        ("recovery",),
        writes=True,
    ),
    Action(
        "view",
        "right_square_bracket",
        "state",
        "Show requests in the next state: open, waiting, approved and so on.",
        ("approvals",),
    ),
    Action(
        "view",
        "right_square_bracket",
        "reversals",
        "Show how tools are undone and which of that is approved, or their contracts again.",
        ("contracts",),
        footer=True,
    ),
    Action("grants", "t", "grants", "Show what was approved in advance.", ("approvals",)),
    Action(
        "forget",
        "x",
        "forget",
        "Take what is marked, or what the cursor is on, out of every search.",
        ("memory",),
        writes=True,
        footer=True,
    ),
    Action(
        "recover",
        "u",
        "recover",
        "Take back that a memory was forgotten.",
        ("memory",),
        writes=True,
    ),
    Action(
        "protect",
        "P",
        "protect",
        "Keep a memory from being forgotten, or no longer.",
        ("memory",),
        writes=True,
    ),
    Action(
        "accept",
        "a",
        "accept",
        "Make the memory that is suggested, of what is marked or the cursor is on.",
        ("memory",),
        writes=True,
        footer=True,
    ),
    Action(
        "turn_down",
        "d",
        "dismiss",
        "Leave what is suggested, of what is marked or the cursor is on.",
        ("memory",),
        writes=True,
        footer=True,
    ),
    Action(
        "restore",
        "u",
        "restore",
        "Compose a core as this checkpoint says; what it is now is kept as another one.",
        ("checkpoints",),
        writes=True,
        footer=True,
    ),
    Action(
        "verify",
        "v",
        "verify",
        "Walk the whole log and compare it with its anchors.",
        ("log",),
        footer=True,
    ),
    Action(
        "harness",
        "h",
        "harness audit",
        "Grade SecondBrain against its forty controls.",
        ("log",),
        footer=True,
    ),
    Action("refresh", "r", "run again", "Run the audit again.", ("harness",), footer=True),
    Action("confirm", "y", "yes", "Do it.", (ASKING,), footer=True),
    Action("cancel", "n,escape", "no", "Leave it.", (ASKING,), footer=True),
)


def actions(*parts: str) -> list[Action]:
    """Those of a screen's parts, part by part; the first part's word counts."""
    found: dict[str, Action] = {}
    for action in (action for part in parts for action in ACTIONS if part in action.on):
        found.setdefault(action.id, action)
    return list(found.values())


def bindings(*parts: str) -> list[Any]:
    """The same as Textual wants them."""
    from textual.binding import Binding

    return [
        Binding(
            action.keys,
            action.id,
            action.label,
            tooltip=action.help,
            show=action.footer,
            id=f"{part}.{action.id}",
        )
        for part in parts
        for action in actions(part)
    ]


def key_table() -> str:
    """Every key as a Markdown table, for docs/guides/console.md."""
    lines = ["| key | where | what |", "| --- | --- | --- |"]
    for action in ACTIONS:
        keys = " ".join(f"`{key}`" for key in action.shown_keys.split())
        note = " (not with `--read-only`)" if action.writes else ""
        lines.append(f"| {keys} | {', '.join(action.on)} | {action.help}{note} |")
    return "\n".join(lines) + "\n"
