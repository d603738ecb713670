"""The console's actions: one declaration each for footer, help, palette, key table and bindings.

One declaration an action: footer, help, palette, key table and bindings all read it here. A screen or widget has the
handler `action_<id>`.
"""

from __future__ import annotations

from typing import Any

from sb.base.values.frozen import frozen

# The places, in the order of their keys; each bears the name of its first view.
SECTIONS = {
    "inbox": "Inbox",
    "agents": "Agents",
    "log": "Activity",
    "memory": "Memory",
    "contracts": "Rules",
}
# The views of a place that has several, each a mode of its own.
VIEWS = {
    "agents": {"agents": "Agents", "runs": "Runs"},
    "log": {"log": "Log", "calls": "Calls", "changes": "Changes", "decisions": "Decisions"},
    "memory": {
        "memory": "Records",
        "triggers": "Triggers",
        "lessons": "Lessons",
        "checkpoints": "Checkpoints",
    },
    "contracts": {
        "contracts": "Tools",
        "reversals": "Undo",
        "grants": "Grants",
        "policy": "Policy",
        "servers": "Servers",
        "harness": "Harness",
        "evals": "Evals",
        "eval_runs": "Eval runs",
    },
}
# The modules of views whose screen does not have one of its own.
MODULES = {"lessons": "triggers", "reversals": "contracts", "eval_runs": "evals"}
TABS = {view: name for name, views in VIEWS.items() for view in views}  # the place of each view
EVERYWHERE, LISTS, RECORDS, ASKING, PANELS = "everywhere", "lists", "records", "asking", "panels"
DECIDE, LOOK, MOVE, CONSOLE = GROUPS = ("Decide", "Look", "Move", "Console")


@frozen
class Action:
    """One thing to do. A key belongs to one id, so that a letter means the same on all screens.

    Args:
        id: the Textual action, so that it names its handler.
        keys: as Textual names them, with commas between them.
        label: one or two words, for the footer.
        help: what it does there, in a sentence.
        on: screens, or parts of screens, on which it is there.
        writes: whether it changes something; `--read-only` takes it away.
        footer: whether the footer shows it.
        group: under which it stands in the help.
    """

    id: str
    keys: str
    label: str
    help: str
    on: tuple[str, ...]
    writes: bool = False
    footer: bool = False
    group: str = LOOK

    @property
    def shown_keys(self) -> str:
        """As people read them."""
        return " ".join(_SHOWN.get(key, key) for key in self.keys.split(","))


def _deciding(id: str, key: str, label: str, help: str, *on: str, footer: bool = True) -> Action:
    return Action(id, key, label, help, on, writes=True, footer=footer, group=DECIDE)


def _moving(id: str, keys: str, label: str, help: str) -> Action:
    return Action(id, keys, label, help, MOVING, group=MOVE)


def _console(id: str, keys: str, label: str, help: str, *, footer: bool = False) -> Action:
    return Action(id, keys, label, help, (EVERYWHERE,), footer=footer, group=CONSOLE)


_SHOWN = {
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "minus": "-",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
}
MOVING = (LISTS, RECORDS)
VIEWED = tuple(TABS)
FILTERED = ("inbox", *VIEWS["log"], "runs", "memory", "harness", "evals", "eval_runs")
UNDONE = ("log", "calls", "changes", "runs")  # views whose records can be undone

ACTIONS = (
    _deciding(
        "approve",
        "a",
        "approve",
        "Approve what is marked, or what the cursor is on; of a reversal, perform it.",
        "inbox",
    ),
    _deciding("approve", "a", "approve", "Approve what is marked, or what the cursor is on.", "contracts"),
    _deciding("approve", "a", "accept", "Save the memory that is suggested.", "memory"),
    _deciding("deny", "d", "deny", "Deny or dismiss what is marked, or what the cursor is on.", "inbox"),
    _deciding("deny", "d", "dismiss", "Dismiss what is suggested.", "memory"),
    _deciding("take_away", "x", "revoke", "Revoke an approval that was not used yet.", "decisions"),
    _deciding("take_away", "x", "revoke", "Revoke a grant.", "grants"),
    _deciding("take_away", "x", "retire", "Retire a trigger or lesson for good.", "triggers", "lessons"),
    _deciding("approve", "a", "confirm", "Confirm a lesson, so that its credibility rises.", "lessons"),
    _deciding("snooze", "w", "snooze", "Let a trigger rest for a week.", "triggers"),
    _deciding("take_away", "x", "forget", "Take memories out of every search.", "memory"),
    _deciding("undo", "u", "undo", "Undo what a call did, after a dry run.", "inbox", *UNDONE),
    _deciding("undo", "u", "undo", "Undo what the agent's newest session did, after a dry run.", "agents"),
    _deciding("undo", "u", "recover", "Let searches find a forgotten memory again.", "memory", footer=False),
    _deciding("undo", "u", "restore", "Restore a core from this checkpoint.", "checkpoints"),
    _deciding(
        "undo_run",
        "U",
        "undo its run",
        "Undo everything that its run did, newest first, after a dry run.",
        "inbox",
        *UNDONE,
        footer=False,
    ),
    _deciding(
        "settle",
        "o",
        "settle",
        "Settle a call of unknown outcome: it happened, or it did not.",
        "inbox",
        *UNDONE,
    ),
    _deciding(
        "try_out",
        "t",
        "try",
        "Make a dry run of its undo, or ask the tool of an unknown call whether it happened.",
        "inbox",
        *UNDONE,
    ),
    _deciding(
        "protect", "P", "protect", "Keep a memory from being forgotten, or no longer.", "memory", footer=False
    ),
    _deciding("lift", "L", "lift", "Lift the stop that the cursor is on.", "inbox"),
    _deciding("lift", "L", "lift", "Lift the newest stop of this agent.", "agents"),
    _deciding(
        "mark",
        "space",
        "mark",
        "Mark the line, to decide several at once.",
        "inbox",
        "contracts",
        "memory",
    ),
    _deciding(
        "mark_all",
        "M",
        "mark all",
        "Mark all that match the filter, or none of them.",
        "inbox",
        "contracts",
        "memory",
        footer=False,
    ),
    Action(
        "filter",
        "slash",
        "filter",
        "Show only what matches the words typed.",
        FILTERED,
        footer=True,
    ),
    Action(
        "filters",
        "F",
        "saved",
        "Save the filter under a name, or apply or delete a saved one.",
        FILTERED,
        footer=True,
    ),
    Action(
        "hidden",
        "h",
        "all",
        "Show what cannot be undone too, or leave it out again.",
        ("changes",),
        footer=True,
    ),
    Action("next_waiting(1)", "n", "next", "Go to the next that needs you.", ("inbox", "contracts")),
    Action("next_waiting(-1)", "N", "previous", "Go to the previous that needs you.", ("inbox", "contracts")),
    Action(
        "next_waiting(1)",
        "n",
        "refused",
        "Go to the next call that was refused or is unknown.",
        ("runs", "log", "calls"),
    ),
    Action(
        "next_waiting(-1)",
        "N",
        "refused before",
        "Go to the refused or unknown call before.",
        ("runs", "log", "calls"),
    ),
    Action(
        "next_waiting(1)",
        "n",
        "failing",
        "Go to the next case that does not hold.",
        ("evals", "eval_runs"),
        footer=True,
    ),
    Action(
        "next_waiting(-1)",
        "N",
        "failing before",
        "Go to the case before that does not hold.",
        ("evals", "eval_runs"),
    ),
    Action("view(1)", "right_square_bracket", "view", "Show the next view.", VIEWED, footer=True),
    Action("view(-1)", "left_square_bracket", "last view", "Show the view before.", VIEWED),
    Action(
        "choose", "left,right", "choose", "Choose the other version of a conflict.", ("inbox",), footer=True
    ),
    Action(
        "export",
        "E",
        "export",
        "Write the rows that the filter lets through to a file: JSON or CSV.",
        tuple(VIEWS["log"]),
    ),
    Action("sort", "s", "sort", "Change the order of the list.", ("agents",), footer=True),
    Action("verify", "v", "verify", "Verify the whole log against its anchors.", ("log",), footer=True),
    Action("reveal", "S", "secrets", "Show or hide the secrets in a call's arguments.", ("inbox", ASKING)),
    Action("open", "enter", "open", "Open what the cursor is on.", (LISTS,), footer=True),
    Action("unfold", "z", "unfold", "Show long values in full, or folded.", (RECORDS,)),
    Action("copy", "c", "copy", "Copy the line, or the record, to the clipboard.", MOVING),
    Action("full", "f", "full panel", "Give the panel all the room, or both panels theirs.", (PANELS,)),
    Action(
        "move_split(-1)", "less_than_sign", "narrower", "Move the line between the panels back.", (PANELS,)
    ),
    Action("move_split(1)", "greater_than_sign", "wider", "Move the line between the panels on.", (PANELS,)),
    Action("refresh", "r", "run audit", "Run the audit, again too.", ("harness",), footer=True),
    _moving("line_down", "j,down", "down", "Move one line down."),
    _moving("line_up", "k,up", "up", "Move one line up."),
    _moving("page_down", "pagedown,ctrl+f", "page down", "Move one page down."),
    _moving("page_up", "pageup,ctrl+b", "page up", "Move one page up."),
    _moving("first", "g,home", "first", "Go to the first line."),
    _moving("last", "G,end", "last", "Go to the last line."),
    Action("focus_next", "tab", "next panel", "Go to the next panel.", (EVERYWHERE,), group=MOVE),
    Action(
        "back", "escape", "back", "Go one step back: filter, marks, record, Inbox.", (EVERYWHERE,), group=MOVE
    ),
    Action(
        "last_screen", "minus", "last screen", "Go to the screen before this one.", (EVERYWHERE,), group=MOVE
    ),
    *(
        Action(f"go('{name}')", str(number), f"go to {title}", f"Show {title}.", (EVERYWHERE,), group=MOVE)
        for number, (name, title) in enumerate(SECTIONS.items(), 1)
    ),
    Action(
        "kill",
        "K",
        "stop",
        "Stop the agent, run or tool that the cursor is on, or everything.",
        (EVERYWHERE,),
        writes=True,
        footer=True,
        group=CONSOLE,
    ),
    _console(
        "palette", "colon,ctrl+p", "find", "Find an action, a screen, a record or a command.", footer=True
    ),
    _console("help", "question_mark", "keys", "Show the keys of this screen.", footer=True),
    _console("refresh", "r", "read again", "Read everything on screen again."),
    _console("pause", "p", "pause", "Stop following what is written, or go on."),
    _console("theme", "T", "theme", "Change between dark and light."),
    _console("quit", "q", "quit", "Leave the console."),
    Action("confirm", "y", "yes", "Do it, in the second step of a dialog.", (ASKING,), footer=True),
    Action("cancel", "escape", "back", "Go one step back in a dialog, or leave it.", (ASKING,), footer=True),
)

# The keys that ask for a decision, wherever they do: what is typed with one of them is a reason.
ASKING_KEYS = frozenset(
    action.keys for action in ACTIONS if action.writes and action.id not in ("mark", "mark_all", "try_out")
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
