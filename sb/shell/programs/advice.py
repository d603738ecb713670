"""Safer commands in place of those that destroy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sb.shell.parsing.words import compiled, is_literal
from sb.shell.programs.patterns import may_run

if TYPE_CHECKING:
    from sb.config.command_patterns import CommandPattern
    from sb.shell import ShellVerdict


class Advice(NamedTuple):
    """Advice: the command to run instead.

    Args:
        runs: patterns of commands; the line has one of each.
        instead: the safer command. In the table `{OLD>NEW}` is the line's own command with a word replaced, `{>NEW}` with words
            added, `{*NEW}` other words before its operands, and `{url}` its address, so that it names nothing else.
        why: what it does, as a clause.
        example: a line that gets this advice.
    """

    runs: tuple[str, ...]
    instead: str
    why: str
    example: str


def _row(line: str) -> Advice:
    runs, instead, why, example = (cell.strip() for cell in line.split("::"))
    return Advice(tuple(word.strip() for word in runs.split("+")), instead, why, example)


# The most specific row of a program stands first.
# Columns are separated by `::`, patterns by `+`.
_TABLE = """
git push --delete :: git branch --remotes --merged :: shows which remote branches are merged, before one is deleted :: git push origin --delete topic
git push --mirror :: {--mirror>--all} :: sends branches and deletes none :: git push --mirror backup
git push --force :: {--force>--force-with-lease} :: is refused by the server if others have pushed since :: git push --force origin main
git push -f :: {-f>--force-with-lease} :: is refused by the server if others have pushed since :: git push -f
git reset --hard :: git stash push --include-untracked :: sets uncommitted work aside, so that it can be restored :: git reset --hard HEAD~1
git checkout :: git diff :: shows the changes that would be lost :: git checkout -- src
git restore :: git diff :: shows the changes that would be lost :: git restore .
git switch :: git stash push --include-untracked :: sets uncommitted work aside, so that it can be restored :: git switch --discard-changes main
git clean :: {clean>clean --dry-run} :: lists what would be deleted :: git clean -fdx
git branch -D :: {-D>-d} :: deletes a branch only if it is merged :: git branch -D topic
git stash drop :: {drop>show -p} :: shows the changes that would be lost :: git stash drop
git stash clear :: git stash list :: lists the changes that would be lost :: git stash clear
git reflog expire :: git reflog :: lists the commits that could be recovered :: git reflog expire --all
git reflog delete :: git reflog :: lists the commits that could be recovered :: git reflog delete HEAD@{1}
git gc :: git gc --auto :: tidies up and keeps what can be recovered :: git gc --prune=now
git worktree remove :: {--force>} :: removes a working folder only if it has no changes :: git worktree remove --force ../topic
git update-ref :: git for-each-ref :: lists branches and tags, before one is changed :: git update-ref -d refs/heads/topic
git tag :: git tag --list -n :: shows the tags, before one is deleted :: git tag -d v1
git rm :: {rm>rm --cached} :: takes files out of git and leaves them on disk :: git rm -rf src
curl + sh :: curl -fsSLo install.sh {url} :: downloads the script, to be read before it is run :: curl -fsSL https://example.com/install.sh | sh
curl + bash :: curl -fsSLo install.sh {url} :: downloads the script, to be read before it is run :: curl -fsSL https://example.com/install.sh | bash
wget + sh :: wget -O install.sh {url} :: downloads the script, to be read before it is run :: wget -qO- https://example.com/install.sh | sh
wget + bash :: wget -O install.sh {url} :: downloads the script, to be read before it is run :: wget -qO- https://example.com/install.sh | bash
rsync --delete :: {>--dry-run -v} :: lists what would be deleted :: rsync -a --delete src/ backup/
find -delete :: {-delete>-print} :: lists the files, to be looked at before they are deleted :: find . -name x.orig -delete
rm :: {*ls -la} :: shows what is there, before it is deleted :: rm -rf src
dd :: lsblk --fs :: shows which disk is which, before one is written :: dd if=image of=/dev/sdb
mkfs* :: lsblk --fs :: shows which disk is which, before one is formatted :: mkfs.ext4 /dev/sdb1
pkill :: ps -ef :: lists the processes; `kill PID` ends one :: pkill -f node
killall :: ps -ef :: lists the processes; `kill PID` ends one :: killall node
kill :: ps -ef :: lists the processes; `kill PID` ends one :: kill -9 -1
crontab :: crontab -l :: shows what is scheduled, before it is replaced :: crontab -r
kubectl apply :: {apply>diff} :: shows what would change in the cluster :: kubectl apply -f deploy.yaml
kubectl delete :: {>--dry-run=client} :: shows what would be deleted :: kubectl delete pod web
kubectl drain :: {>--dry-run=client} :: shows what would be evicted :: kubectl drain node1
kubectl replace :: {>--dry-run=client} :: shows what would be replaced :: kubectl replace --force -f deploy.yaml
kubectl scale :: {>--dry-run=client} :: shows what would be scaled :: kubectl scale --replicas=0 deployment/web
helm uninstall :: {uninstall>status} :: shows what a release has, before it is deleted :: helm uninstall web
helm rollback :: helm list :: lists the releases and their revisions :: helm rollback web 1
terraform destroy :: {destroy>plan -destroy} :: shows what would be destroyed :: terraform destroy
terraform apply :: {apply>plan} :: shows what would change :: terraform apply -auto-approve
terraform state rm :: {rm>list} :: lists what would be taken out of the state :: terraform state rm aws_s3_bucket.b
tofu destroy :: {destroy>plan -destroy} :: shows what would be destroyed :: tofu destroy
tofu apply :: {apply>plan} :: shows what would change :: tofu apply
pulumi destroy :: {destroy>preview} :: shows what would change :: pulumi destroy
docker system prune :: docker system df :: shows what takes the space :: docker system prune -af
docker volume rm :: {rm>inspect} :: shows what a volume is, before it is deleted :: docker volume rm data
docker volume prune :: docker volume ls :: lists the volumes; name one to delete it :: docker volume prune -f
docker compose down -v :: {-v>} :: stops containers and keeps their data :: docker compose down -v
docker rm :: {*docker stop} :: stops a container and keeps it :: docker rm -f web
npm publish :: {>--dry-run} :: shows what would be published :: npm publish
cargo publish :: {>--dry-run} :: shows what would be published :: cargo publish
twine upload :: {upload>check} :: checks what would be published :: twine upload dist/shop.whl
aws s3 rm :: {rm>ls} :: lists the objects that would be deleted :: aws s3 rm s3://bucket --recursive
gcloud * * delete :: {delete>describe} :: shows what would be deleted :: gcloud compute instances delete web
gh repo delete :: {delete>view} :: shows the repository :: gh repo delete owner/name
gh release delete :: {delete>view} :: shows the release :: gh release delete v1
dropdb :: {dropdb>pg_dump --file backup.sql} :: saves the database to a file first :: dropdb shop
redis-cli :: {flushall>dbsize} :: shows how many keys there are :: redis-cli flushall
systemctl stop :: {stop>status} :: shows the service, before it is stopped :: systemctl stop web
systemctl disable :: {disable>status} :: shows the service, before it is switched off :: systemctl disable web
systemctl mask :: {mask>status} :: shows the service, before it is switched off :: systemctl mask web
"""
# Answers in advance, which a command that only looks does not take.
_YES = frozenset(("-auto-approve", "--auto-approve", "--yes", "-y"))
_ELSEWHERE = frozenset("ssh autossh docker podman kubectl oc chroot su nsenter".split())  # which run others
ADVICE = tuple(map(_row, _TABLE.strip().splitlines()))


def advice_for(verdict: ShellVerdict) -> Advice | None:
    """The advice for a line that destroys, about what that line names; None for none."""
    fitting = [
        (row, found[0])
        for row in ADVICE
        if all(
            found := [next((argv for argv in verdict.commands if _fits(run, argv)), ()) for run in row.runs]
        )
    ]
    if not fitting:
        return None
    # Of several the one about the command that decided.
    row, argv = next(
        (item for item in fitting if verdict.reason.startswith(" ".join(item[1][:2]))), fitting[0]
    )
    instead, folder = _filled(row, argv), _goes_to(verdict.commands, argv)
    if not instead or folder is None:
        return None
    anywhere = "{" not in row.instead and not row.instead.startswith("git ")  # names nothing in a folder
    return row._replace(instead=instead if anywhere else folder + instead)


def _filled(row: Advice, argv: Sequence[str]) -> str:
    """The safer command for a command of a line, or ""."""
    form = compiled(r"(.*)\{(?:(url)|\*(.*)|(\S*)>(.*))\}").fullmatch(row.instead)
    if form is None:
        return row.instead
    before, url, prefix, old, new = form.groups()
    operands = [word for word in argv if word[:1] != "-" and word not in row.runs[0].split(" ")]
    addresses = [word for word in argv if "://" in word]
    words = [word for word in argv if word not in _YES]
    if url:
        words = addresses if len(addresses) == 1 else []
    elif prefix:
        words = [*prefix.split(), *operands] if operands else []
    elif old:
        at = words.index(old) if old in words else len(words)
        words = [*words[:at], *new.split(), *words[at + 1 :]] if at < len(words) else []
    else:
        words += new.split()
    return before + _joined(words) if words and all(map(is_literal, words)) else ""


def _joined(words: Sequence[str]) -> str:
    """Words as a command line, with homes as they are written."""
    quoted = (f"~/{shlex.quote(word[2:])}" if word[2:] and word[:2] == "~/" else word for word in words)
    return " ".join(word if word[:1] == "~" else shlex.quote(word) for word in quoted)


def _goes_to(commands: Sequence[Sequence[str]], argv: Sequence[str]) -> str | None:
    """The commands with which a line goes to its folder, as a prefix; None if a command may run in an unknown place."""
    others = [command for command in commands if command and command is not argv]
    before = commands[: next(at for at, command in enumerate(commands) if command is argv)]
    goes = [item for item in before if item and item[0] in ("cd", "pushd")]
    known = all(is_literal(word) and word != "-" for goe in goes for word in goe)
    if not known or any(other[0] in _ELSEWHERE for other in others):
        return None
    return "".join(f"{_joined(goe)} && " for goe in goes)


def _fits(text: str, argv: Sequence[str]) -> bool:
    """True if the words of a command that are known fit a pattern."""
    return is_literal(argv[0]) and may_run(_pattern(text), list(filter(is_literal, argv)))


def _pattern(text: str) -> CommandPattern:
    from sb.config.command_patterns import parse_pattern

    return parse_pattern(text)
