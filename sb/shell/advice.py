"""Safer commands in place of those that destroy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sb.shell.command_patterns import may_run
from sb.shell.words import is_literal

if TYPE_CHECKING:
    from sb.config.command_patterns import CommandPattern
    from sb.shell import ShellVerdict


class Advice(NamedTuple):
    """What to run instead.

    Args:
        runs: patterns of commands; the line has one of each.
        instead: the safer command. why: what it does, as a clause.
        example: a line that gets this advice.
    """

    runs: tuple[str, ...]
    instead: str
    why: str
    example: str


def _row(line: str) -> Advice:
    runs, instead, why, example = (cell.strip() for cell in line.split("::"))
    return Advice(tuple(one.strip() for one in runs.split("+")), instead, why, example)


# The most specific row of a program stands first.
# Columns are separated by `::`, patterns by `+`.
_TABLE = """
git push --delete :: git branch --remotes --merged :: shows which remote branches are merged, before one is deleted :: git push origin --delete topic
git push --mirror :: git push --all :: sends branches and deletes none :: git push --mirror backup
git push --force :: git push --force-with-lease :: is refused by the server if others have pushed since :: git push --force origin main
git push -f :: git push --force-with-lease :: is refused by the server if others have pushed since :: git push -f
git reset --hard :: git stash push --include-untracked :: sets uncommitted work aside, so that it can be restored :: git reset --hard HEAD~1
git checkout :: git stash push --include-untracked :: sets uncommitted work aside, so that it can be restored :: git checkout -- src
git restore :: git stash push --include-untracked :: sets uncommitted work aside, so that it can be restored :: git restore .
git switch :: git stash push --include-untracked :: sets uncommitted work aside, so that it can be restored :: git switch --discard-changes main
git clean :: git clean --dry-run -d :: lists what would be deleted :: git clean -fdx
git branch -D :: git branch -d topic :: deletes a branch only if it is merged :: git branch -D topic
git stash drop :: git stash show -p :: shows the changes that would be lost :: git stash drop
git stash clear :: git stash list :: lists the changes that would be lost :: git stash clear
git rebase :: git merge --no-ff main :: joins the branches and rewrites no commit :: git rebase main
git filter-branch :: git revert HEAD :: undoes a commit by a new one and rewrites none :: git filter-branch --all
git filter-repo :: git revert HEAD :: undoes a commit by a new one and rewrites none :: git filter-repo --path x
git reflog expire :: git reflog :: lists the commits that could be recovered :: git reflog expire --all
git reflog delete :: git reflog :: lists the commits that could be recovered :: git reflog delete HEAD@{1}
git gc :: git gc --auto :: tidies up and keeps what can be recovered :: git gc --prune=now
git worktree remove :: git worktree remove ../topic :: removes a working folder only if it has no changes :: git worktree remove --force ../topic
git update-ref :: git branch -d topic :: deletes a branch only if it is merged :: git update-ref -d refs/heads/topic
git tag :: git tag --list -n :: shows the tags, before one is deleted :: git tag -d v1
git rm :: git rm --cached -r src :: takes files out of git and leaves them on disk :: git rm -rf src
curl + sh :: curl -fsSLo install.sh https://example.com/install.sh :: downloads the script, to be read before it is run :: curl -fsSL https://example.com/install.sh | sh
curl + bash :: curl -fsSLo install.sh https://example.com/install.sh :: downloads the script, to be read before it is run :: curl -fsSL https://example.com/install.sh | bash
wget + sh :: wget -O install.sh https://example.com/install.sh :: downloads the script, to be read before it is run :: wget -qO- https://example.com/install.sh | sh
wget + bash :: wget -O install.sh https://example.com/install.sh :: downloads the script, to be read before it is run :: wget -qO- https://example.com/install.sh | bash
rsync --delete :: rsync --dry-run -av --delete src/ backup/ :: lists what would be deleted :: rsync -a --delete src/ backup/
find -delete :: find . -name '*.orig' -print :: lists the files, to be looked at before they are deleted :: find . -name '*.orig' -delete
rm + find :: find . -name '*.orig' -print :: lists the files, to be looked at before they are deleted :: find . -name '*.orig' -exec rm -r {} +
rm :: ls -la :: shows what a folder holds, before it is deleted :: rm -rf src
chmod -R :: chmod u+rwX FILE :: changes one file and only its owner's rights :: chmod -R 777 .
chown -R :: ls -ln :: shows whose the files are, before they get another owner :: chown -R root .
dd :: lsblk --fs :: shows which disk is which, before one is written :: dd if=image of=/dev/sdb
mkfs* :: lsblk --fs :: shows which disk is which, before one is formatted :: mkfs.ext4 /dev/sdb1
shred :: mv notes.txt notes.txt.old :: sets a file aside, so that it can be restored :: shred -u notes.txt
pkill :: pgrep -fl node :: lists the processes; `kill PID` ends one :: pkill -f node
killall :: pgrep -fl node :: lists the processes; `kill PID` ends one :: killall node
kill :: ps -ef :: lists the processes; `kill PID` ends one :: kill -9 -1
crontab :: crontab -l :: shows what is scheduled, before it is replaced :: crontab -r
kubectl apply :: kubectl diff -f deploy.yaml :: shows what would change in the cluster :: kubectl apply -f deploy.yaml
kubectl delete :: kubectl delete pod web --dry-run=client :: shows what would be deleted :: kubectl delete pod web
kubectl drain :: kubectl drain node1 --dry-run=client :: shows what would be evicted :: kubectl drain node1
kubectl replace :: kubectl diff -f deploy.yaml :: shows what would change in the cluster :: kubectl replace --force -f deploy.yaml
kubectl scale :: kubectl scale --replicas=0 deployment/web --dry-run=client :: shows what would be scaled :: kubectl scale --replicas=0 deployment/web
helm uninstall :: helm status web :: shows what a release has, before it is deleted :: helm uninstall web
helm rollback :: helm history web :: shows the revisions, before one replaces another :: helm rollback web 1
terraform destroy :: terraform plan -destroy :: shows what would be destroyed :: terraform destroy
terraform apply :: terraform plan :: shows what would change :: terraform apply -auto-approve
terraform state rm :: terraform state list :: lists what is in the state :: terraform state rm aws_s3_bucket.b
tofu destroy :: tofu plan -destroy :: shows what would be destroyed :: tofu destroy
tofu apply :: tofu plan :: shows what would change :: tofu apply
pulumi destroy :: pulumi preview :: shows what would change :: pulumi destroy
docker system prune :: docker system df :: shows what takes the space :: docker system prune -af
docker volume rm :: docker volume inspect data :: shows what a volume is, before it is deleted :: docker volume rm data
docker volume prune :: docker volume ls :: lists the volumes; name one to delete it :: docker volume prune -f
docker compose down -v :: docker compose down :: stops containers and keeps their data :: docker compose down -v
docker rm :: docker stop web :: stops a container and keeps it :: docker rm -f web
npm publish :: npm publish --dry-run :: shows what would be published :: npm publish
cargo publish :: cargo publish --dry-run :: shows what would be published :: cargo publish
twine upload :: twine check dist/* :: checks what would be published :: twine upload dist/*
aws s3 :: aws s3 ls s3://bucket --recursive :: lists the objects that would be deleted :: aws s3 rm s3://bucket --recursive
gcloud * * delete :: gcloud compute instances list :: lists what there is, before something is deleted :: gcloud compute instances delete web
gh repo delete :: gh repo view owner/name :: shows the repository :: gh repo delete owner/name
gh release delete :: gh release view v1 :: shows the release :: gh release delete v1
dropdb :: pg_dump shop --file shop.sql :: saves the database to a file first :: dropdb shop
psql :: pg_dump shop --file shop.sql :: saves the database to a file first :: psql shop -c 'DROP TABLE orders'
redis-cli :: redis-cli dbsize :: shows how many keys there are :: redis-cli flushall
systemctl :: systemctl status web :: shows the service, before it is stopped :: systemctl stop web
"""
ADVICE = tuple(map(_row, _TABLE.strip().splitlines()))


def advice_for(verdict: ShellVerdict) -> Advice | None:
    """The advice for a line that destroys, or None."""
    for row in ADVICE:
        if all(any(_fits(pattern, argv) for argv in verdict.commands) for pattern in row.runs):
            return row
    return None


def _fits(text: str, argv: Sequence[str]) -> bool:
    """Whether the words of a command that are known fit a pattern."""
    return is_literal(argv[0]) and may_run(_pattern(text), list(filter(is_literal, argv)))


def _pattern(text: str) -> CommandPattern:
    from sb.config.command_patterns import parse_pattern

    return parse_pattern(text)
