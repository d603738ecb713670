"""Judge a shell command line by parsing it.

The command line is read as bash reads it. Its class is the highest of its parts; one that cannot be parsed is destructive.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sb.kernel.contracts import SafetyClass
from sb.shell.credentials.taints import Upload
from sb.shell.handlers.script_files import line_of, may_leak
from sb.shell.judging import LineJudge
from sb.shell.parsing.nodes import Unparsed
from sb.shell.parsing.syntax import parse
from sb.shell.places.guarded import Guarded
from sb.shell.programs.rules import DESTROY, Finding
from sb.shell.programs.ruleset import SHIPPED_RULES, Ruleset, judged_by
from sb.shell.snapshots.keeping import NOTHING_KNOWN, Kept

_MOST_SCRIPTS = 4


class ShellVerdict(NamedTuple):
    """The class of a command line, as far as it can be told without running it.

    Args:
        reason: one line that names the part which decided the class.
        refused: why it must not run whoever approves, or "": operator command, or a protected path.
        programs: as they are called, for display.
        writes: absolute paths that redirections and known programs write, as far as they are known.
        scripts: absolute paths of scripts that it runs by their names.
        replaced: files whose content may be gone afterwards, each with whether it is deleted.
        disclosed: the existing files with credentials that it reads; "" among them for what is no file, or may be there.
        parsed: whether it is a command line that could be parsed.
        changes: all that it deletes and overwrites, and what is known of its other parts.
        secrets: why it reads credentials, each as in "reads an SSH key: ~/.ssh/id_rsa".
        flow: why a credential would leave this machine, or "".
        uploads: what it sends to other machines, whatever that holds.
        commands: each command of the line, in words as they are expanded: a program with its arguments; none of a line that
            could not be judged to its end.
        made_folders: absolute paths of folders that it makes, which say nothing of what may come into them.
        asked: why a person has to agree to it, whatever comes back of what it changes, or "".
        folders: the folder that each of `commands` runs in, absolute; "" where it is not known.
        understood: whether all its programs and command lines are known before it runs.
    """

    safety_class: SafetyClass
    reason: str
    refused: str = ""
    programs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    parsed: bool = True
    changes: Kept = NOTHING_KNOWN
    secrets: tuple[str, ...] = ()
    flow: str = ""
    uploads: tuple[Upload, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    understood: bool = True
    replaced: tuple[tuple[str, bool], ...] = ()
    scripts: tuple[str, ...] = ()
    disclosed: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    made_folders: tuple[str, ...] = ()
    asked: str = ""


def classify(
    command: str,
    *,
    cwd: Path,
    home: Path,
    protected: Sequence[Path],
    guarded: Guarded | None = None,
    env: Mapping[str, str] | None = None,
    wandered: bool = False,
    gone: bool = False,
    rules: Ruleset = SHIPPED_RULES,
    follow: bool = True,
    guess: bool = True,
    comes_back: Callable[[Sequence[str]], bool] = lambda argv: False,
) -> ShellVerdict:
    """Judge a command line; it never raises, and takes time in proportion to the line's length.

    Args:
        cwd: the folder in which it would run. home: of the user, which `~` stands for.
        protected: files and folders that no command may name: SB_HOME, the database.
        guarded: places that no command may change: what decides how calls are judged.
        env: the environment that it would have; by default this process's.
        wandered: whether an earlier command of its shell may have gone to another folder.
        gone: whether the folder is not there, so that a host starts it in another one.
        rules: of programs; by default the shipped ones.
        follow: whether to look for flows in scripts on disk that it runs.
        guess: whether code counts that reads credentials and uses the network, wherever it sends what: it may use a key
            as it should. Without this, only what it surely sends does.
        comes_back: whether what a command harms does, so that it counts as if it wrote files.
    """
    judge = LineJudge(cwd, home, protected, os.environ if env is None else env, guarded)
    judge.paths.wandered = wandered
    if gone:
        judge.paths.here, judge.paths.lost = "", True
    judge.guesses = guess
    judge.comes_back = comes_back
    with judged_by(rules):
        found, parsed = _found(judge, command)
        changes = judge.keeping.result(judge) if parsed else NOTHING_KNOWN
    judge.trail.finish()
    flow = judge.trail.flow
    if follow and not flow and (judge.scripts.ran or judge.scripts.lines):
        flow = _flow_of_scripts(
            judge,
            lambda line, folder, is_code: classify(
                line,
                cwd=folder,
                home=home,
                protected=protected,
                guarded=guarded,
                env=env,
                rules=rules,
                follow=False,
                guess=not is_code,
            ),
        )
    return ShellVerdict(
        tuple(SafetyClass)[found.rank],
        found.reason,
        judge.refused,
        tuple(dict.fromkeys(judge.programs)),
        tuple(dict.fromkeys(judge.writes)),
        parsed,
        changes,
        tuple(judge.trail.reads),
        flow,
        tuple(judge.trail.uploads),
        judge.commands.all() if parsed else (),  # of a part alone nothing follows
        parsed and judge.commands.understood,
        tuple(judge.replaced.items()),
        tuple(judge.scripts.ran),
        tuple(judge.trail.disclosed),
        judge.commands.folders() if parsed else (),
        tuple(dict.fromkeys(judge.made_folders)),
        judge.asked,
    )


def _flow_of_scripts(judge: LineJudge, judged: Callable[[str, Path, bool], ShellVerdict]) -> str:
    """The reason why a script on disk that the line runs would send a credential from this machine, or "".

    Its class is not looked at, nor what it only reads: what a project's own scripts do is everyday work.
    """
    here = Path(judge.paths.here or judge.paths.folders[0])
    flows = (judged(line, Path(folder), False).flow for line, folder in judge.scripts.lines if may_leak(line))
    scripts = (line_of(path, by) for path, by in list(judge.scripts.ran.items())[:_MOST_SCRIPTS])
    of_scripts = (judged(line, here, is_code).flow for line, is_code in scripts if line)
    return next(filter(None, itertools.chain(flows, of_scripts)), "")


def _found(judge: LineJudge, command: str) -> tuple[Finding, bool]:
    """The finding for a line, and whether it could be parsed."""
    try:
        script = parse(command)
        found = judge.script(script)
        if judge.repeats:  # what a loop or a function sets last may be what it uses first
            found = max(found, judge.again(script), key=lambda finding: finding.rank)
    except Unparsed as problem:
        return Finding(DESTROY, f"cannot be parsed: {problem}"), False
    except (RecursionError, ValueError, OSError) as error:
        # What cannot be judged waits for a person.
        return Finding(DESTROY, f"cannot be parsed: {type(error).__name__}"), False
    return found, True
