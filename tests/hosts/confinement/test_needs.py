"""Needs of programs: what a line gets, and that nothing else in it gets it too."""

from __future__ import annotations

from pathlib import Path

import pytest

from sb.hosts.confinement.credentials import names_logins_only
from sb.hosts.confinement.harmless_options import has_harmless_options
from sb.hosts.confinement.needs import NEEDS, doors_of, needs_of, outside_of, rows_of
from sb.shell import classify
from tests.rows import rows

GIVEN = (
    ("git push", ".ssh"), ("git pull --rebase", ".ssh"), ("git add -A && git commit -m 'x' && git push | tail -3", ".ssh"), ("git push -u origin main", ".ssh"),
    ("git add ./src && git push", ".ssh"), ("docker compose up -d", ".docker"), ("kubectl get pods | grep api", ".kube"), ("git push && gh pr create --fill", ".config/gh"),
    ("ssh -p 22 -o StrictHostKeyChecking=no host ls", ".ssh"), ("aws s3 ls | awk '{print $4}'", ".aws"),
    ("git fetch -q && git log --oneline -5 | cat", ".ssh"), ("git commit -m 'x\n\nCo-Authored-By: A <a@example.org>' && git push", ".ssh"), ("git push < /dev/null", ".ssh"), ("git push 2>&1 | grep -v warning | head -20; echo done", ".ssh"), ("rsync -avz --delete out/ host:out", ".ssh"),
    ("git add src/*.py && git commit -m 'x' && git push origin HEAD", ".ssh"), ("git commit -m \"$(cat <<'EOF'\nx $y\n\nz\nEOF\n)\" && git push", ".ssh"), ("git remote add up https://example.org/a.git && git fetch up --tags", ".ssh"), ("git clone --depth 1 git@example.org:a/b.git out", ".ssh"),
    ("git submodule update --init --recursive", ".ssh"), ("timeout 60 git push", ".ssh"), ("time git fetch", ".ssh"), ("gh pr merge 5 --squash && git pull", ".config/gh"), ("git log -1 > last.txt; git push", ".ssh"), ("git clone https://github.com/a/b", ".ssh"), ("git fetch origin | tail -5", ".ssh"), ("gh pr list", ".config/gh"), ("ssh host ls", ".ssh"), ("git push origin --delete old 2>&1 | sort -rn | uniq -c | head -n 5", ".ssh"), ("git lfs pull", ".ssh"), ("git pull --ff-only origin main || echo failed", ".ssh"),
    ("kubectl get pods -o json | jq '.items[0]'", ".kube"), ("git ls-remote origin | awk '/main/ {print $1}' | cut -c 1-8", ".ssh"), ("scp -r out host:/srv", ".ssh"), ("wget -q https://example.org/a.tar", ".netrc"),
    ("gcloud projects list", ".config/gcloud"), ("gcloud compute instances describe a --zone eu-1 --format=json | head -20", ".config/gcloud"), ("az group list -o table", ".azure"),
    ("gcloud logging read 'severity>=ERROR' --limit 20 --format=json | jq -r '.[].textPayload'", ".config/gcloud"), ("fly status --app shop", ".fly"), ("heroku pg:info -a shop", ".netrc"), ("fly logs -a shop | tail -20", ".fly"),
    ("scp -rp -P 2222 -i keys/id -o StrictHostKeyChecking=no out host:/srv", ".ssh"), ("ssh -nT -p 22 git@host", ".ssh"), ("ssh -o ConnectTimeout=5 -i id git@host", ".ssh"), ("rsync -avzP --exclude node_modules --info=progress2 a/ host:b/", ".ssh"),
    ("wget -qO- -c --timeout=5 --tries 3 https://a/b", ".netrc"), ("wget -nv -np -r https://a/b", ".netrc"), ("gpg --batch --yes -u ada --detach-sign --output f.sig f", ".gnupg"), ("gpg -er ada -o f.gpg f", ".gnupg"),
    ("gh pr create --title 'x' --body '- first\n- second' -l bug", ".config/gh"), ("gh api -X POST repos/a/b/issues -f title=x --jq .number", ".config/gh"), ("gh pr list -R a/b -L 5 --json number", ".config/gh"),
    ("aws --profile prod ec2 describe-instances --instance-ids i-1 --output table", ".aws"), ("aws s3 sync out s3://b/out --delete --exclude '*.tmp'", ".aws"), ("kubectl -n shop exec -it api-1 -- sh -c 'ls -la'", ".kube"), ("kubectl logs -f deploy/api -c web --tail=50", ".kube"),
    ("docker run --rm -d -v /a:/b -e A=1 --name x a/b:1", ".docker"), ("docker compose -f dev.yml up --build -d", ".docker"), ("twine upload --skip-existing -r testpypi a.whl", ".pypirc"),
    ("ls -la src && git push", ".ssh"), ("seq 1 20 | tail -n 1; git fetch", ".ssh"),
)  # fmt: skip
# They run what a project or its packages hold, or take another source without their file: a person has to agree first.
ASKED = (
    ("npm ci && npm test 2>&1 | tail", "npm", ".npmrc"), ("npm install left-pad", "npm", ".npmrc"), ("pnpm add left-pad", "pnpm", ".npmrc"),
    ("mvn -q test", "mvn", ".m2"), ("terraform plan", "terraform", ".aws"), ("cargo publish", "cargo", ".cargo/credentials.toml"),
    ("bundle install", "bundle", ".bundle"), ("npm view left-pad version", "npm", ".npmrc"), ("psql -c 'select 1' shop", "psql", ".pgpass"), ("helm list", "helm", ".kube"), ("gcloud compute ssh a", "gcloud", ".config/gcloud"), ("gcloud projects list --flags-file=x", "gcloud", ".config/gcloud"), ("az vm list --query @x", "az", ".azure"), ("fly ssh console", "fly", ".fly"), ("fly status --config ./x.toml", "fly", ".fly"), ("pg_dump -h 127.0.0.1 shop", "pg_dump", ".pgpass"), ("gcloud info", "gcloud", ".config/gcloud"), ("pass edit a", "pass", ".gnupg"), ("psql -h db shop", "psql", ".pgpass"), ("hub fetch --upload-pack=./evil .", "hub", ".ssh"),
)  # fmt: skip
# Something else runs in the line, or what is named may be an agent's own program.
NOT_GIVEN = (
    "git --version; python3 steal.py", "tmux -V; python3 t.py", "./git push", "node_modules/.bin/tmux ls", "PATH=. git push", "git push && make",
    "git push $(python3 x.py)", "sh -c 'git push; ./x'", "find . -exec ./x {} + ; git push", "npm test && git push", "npm ci && git push", "echo x", "make",
    "git(){ python3 x.py; }; git push", "alias git=./x; git push", "xargs -a list git push; ./x",
    "git status", "git -C nest status", "cd nest && git fetch", "git fetch --upload-pack=./steal.sh ./nest", "git ls-remote 'ext::./steal.sh'",
    "git fetch --upload-p ./steal.sh origin", "git clone -u ./steal.sh nest", "git clone --template=./hooks host:a", "git push ./nest", "git push file:///srv/nest",
    "git submodule foreach ./x", "git commit -F ./msg -c core.editor=x", "go run ./steal", "go test ./...", "go build -toolexec ./steal ./...",
    "npm test", "npm run build", "npx vitest", "pip install ./pk", "uv sync", "cargo build", "ssh -F ./config host ls", "ssh -oProxyCommand=./x host",
    "KUBECONFIG=./x kubectl get pods", "export KUBECONFIG=./x; kubectl get pods", "kubectl --kubeconfig ./x get pods", "printf -v KUBECONFIG ./x; kubectl get pods",
    "gh extension exec x", "wget --use-askpass=./x https://a/b", "gpg --homedir ./g -d a.gpg",
    "kubectl get --raw /api -s https://127.0.0.1:1", "kubectl proxy", "kubectl get pods --insecure-skip-tls-verify", "pip index versions x --proxy http://127.0.0.1:1", "aws s3 ls --no-verify-ssl",
    "terraform fmt", "helm lint ./chart", "helm search repo a && helm template b a/b -f values.yml > out.yml", "scp -D ./steal x:/y z", "scp -S ./steal x:/y z", "rsync -e ./x a host:", "ssh -o 'LocalCommand ./x' host",
    "kubectl kustomize ./k", "kubectl apply -k ./k", "kubectl config view --raw", "cat d/x; git fetch", "git fetch; cat d/*", "grep -R . d; git ls-remote origin", "git ls-remote origin | grep -f d/x",
    "cp -rL d out; git fetch", "cat < d/x; git fetch", "sed -n 'r d/x' a; git fetch", "awk '{getline x < \"d/x\"; print x}' a; git fetch", "git fetch | sed 's/a/b/w out'", "jq -n '$x' --rawfile x d/x; git fetch",
    "git diff --no-index d/x /dev/null; git fetch", "go build ./...", "wc $F; git fetch", "while read l; do echo $l; done < d/x; git fetch", 'git fetch; echo "$(<d/x)"', "exec 5<d/x; git fetch; cat <&5", "head -n 5 notes.txt; git push", "aws ssm start-session --target i",
    "for PATH in bin; do git fetch; done", "true {PATH}>/dev/null; git fetch", "git fetch $REMOTE", "scp l? host:", "scp l{1..2} host:", "while git fetch; do true; done", "(git fetch)", "sleep 6; git fetch",
    "git remote | sort --files0-from=n", "git remote; sed '-e1e ./evil' 5p", "git remote; date -f l1", "git remote; jq -L. -n 'include \"q1\"; .'", "git fetch; cat 10", "git fetch | wc --files0-from=n",
    "git fetch | rg -z a", "git fetch | sort -T . -S 1", "git fetch evil://x", "git pull -s evil origin main", "git push nest.git", "git lfs merge-driver --program=./evil a", "git remote add near nest.git && git fetch near",
    "git clone nest.git", "env git fetch", "setsid git fetch", "nohup git fetch", "timeout --foreground 9 git fetch", "exec git fetch", "git fetch &", "seq 1 99999999; git fetch",
    "gh pr checks --watch; git fetch", "gh pr checks --watch=true; git fetch", "glab ci status --live; git fetch", "glab ci trace 7; git fetch", "gh run watch 7 && git pull", "aws ec2 wait instance-running; git fetch", "kubectl get pods -w; git fetch",
    "echo x > .git/branches/y; git fetch", "git log -1 >> .git/modules/a/config; git fetch", "echo x > nest/.GIT/config; git fetch", "hf upload me/x", "gh repo clone a/b -- --upload-pack=./evil", "ssh -A host ls", "go get example.org/a",
    "seq 1 99999999999 | tail -n 1; git fetch", "ls -R /; git fetch", "ls --recursive /; git fetch",
)  # fmt: skip
# Options that name a program or a configuration, however they are spelled.
_NAMED = (
    "scp -pS./evil f host:", "scp -pF./cfg f host:", "scp -po ProxyCommand=./evil f host:", "scp -o proxycommand=./evil f host:", "scp -P22 -S ./evil f host:",
    "scp -lS ./evil -S./evil f host:", "scp -i k -D./evil f host:", "scp -o 'User a' -oProxyCommand=./evil f host:", "scp -X a -J./x f host:", "scp -A f host:",
    "ssh -X -o XAuthLocation=./evil host", "ssh -tF./cfg host", "ssh host -F./cfg ls", "ssh host -oProxyCommand=./evil", "ssh -- host -F./cfg ls", "ssh -o 'ProxyCommand ./evil' host",
    "ssh -o PKCS11Provider=./evil.so host", "ssh -o KnownHostsCommand=./evil host", "ssh -o Include=./cfg host", "ssh -o $'User=a\nProxyCommand=./x' host", "ssh -I./evil.so host", "ssh -fN host", "ssh -S./socket host",
    "ssh-add -s ./evil.so", "ssh-add -ls./evil.so", "ssh-add -S ./evil.so k",
    "rsync -ie./evil f host:", "rsync -ave./evil f host:", "rsync --rsh=./evil f host:", "rsync --rsh ./evil f host:", "rsync --password-file=x f host::m", "rsync --config=./x --daemon", "rsync -M--x f host:",
    "wget -qe use_askpass=./evil https://a/b", "wget -qeuse_askpass=./evil https://a/b", "wget --use-a=./evil https://a/b", "wget --conf=./w https://a/b", "wget --exec x https://a/b", "wget -bq https://a/b", "wget --ca-cert=./x https://a/b",
    "gpg --ag ./evil --card-status", "gpg --agent-program=./evil --sign f", "gpg --dir ./evil --recv-keys 0x1", "gpg --opti ./x --sign f", "gpg --home ./g -d f", "gpg --pho ./evil --list-keys", "gpg --list-options show-photos --list-keys", "gpg --gpgconf-list --log-file x",
    "twine upload --conf ./x f", "twine upload -s --sign-with ./evil f", "twine upload --sign-w ./evil f", "twine upload --repository-url https://a/ f",
    "gem list --config-file ./x", "gem list --source https://a/", "keyring -p . -b evil get a b", "keyring --keyring-p=. get a b", "hf upload me/x f", "hf --x download a/b",
    "aws --endp https://a/ s3 ls", "aws s3 ls --endpoint-url=https://a/", "aws s3 ls --no-verify", "aws s3 ls --ca ./x", "aws opsworks register --override-ssh ./evil", "aws emr ssh --cluster-id j", "aws emr put --src=-oProxyCommand=./evil", "aws configure list", "aws eks update-kubeconfig --name a", "aws ssm start-session --target i",
    "kubectl get pods --kubeconfig=./x", "kubectl -n a --kubeconfig ./x get pods", "kubectl -n a plugin list", "kubectl evil", "kubectl get -k ./k", "kubectl get pods --server=https://a", "kubectl --token=x get pods",
    "gh -R a/b extension exec x", "gh alias set x y", "gh evil", "gh repo clone a/b x -- -c core.sshCommand=./evil", "gh repo fork a/b --unknown x", "glab alias set x y",
    "docker --config ./x ps", "docker ps --config=./x", "podman ps --module ./x", "podman --runtime=./evil ps", "podman ps --network-cmd-path ./evil", "docker run -e A=1 --config ./x a",
)  # fmt: skip
_OPENS = ("ssh-agent", "gpg-agent", "keyring")


def commands(line: str) -> tuple[tuple[str, ...], ...]:
    return classify(line, cwd=Path("/srv/shop"), home=Path("/data/nobody"), protected=[]).commands


@rows("line, credential", GIVEN)
def test_line_that_runs_nothing_of_a_project_gets_what_it_needs(line: str, credential: str) -> None:
    needs = needs_of(commands(line), line)
    assert not needs.asked
    assert any(credential in need.credentials for need in needs.rows)


@rows("line, program, credential", ASKED)
def test_line_that_runs_a_project_too_gets_it_once_a_person_agrees(
    line: str, program: str, credential: str
) -> None:
    needs = needs_of(commands(line), line)
    assert needs.asked == (program,)
    assert any(credential in need.credentials for need in needs.rows)


@rows("line", NOT_GIVEN + _NAMED)
def test_line_that_may_run_an_agents_program_gets_nothing(line: str) -> None:
    needs = needs_of(commands(line), line, remotes=("origin",))
    assert not needs.asked
    assert not any(need.credentials or set(need.sockets) & set(_OPENS) for need in needs.rows)


@rows("line", ["git push", "git fetch && git log", "gh pr list"])
def test_nothing_is_given_for_a_repository_that_is_not_the_sessions(line: str) -> None:
    needs = needs_of(commands(line), line, elsewhere=True)
    assert not any(need.credentials or need.sockets for need in needs.rows)
    assert needs.withheld


def test_git_gets_keys_for_remotes_that_it_knows_alone() -> None:
    for line, given in (("git fetch up", True), ("git fetch nest", False), ("git fetch", True)):
        assert bool(needs_of(commands(line), line, remotes=("origin", "up")).rows) is given, line


def test_hooks_of_a_repository_are_asked_about_before_git_gets_keys() -> None:
    assert needs_of(commands("git push"), runs_own=True).asked == ("git",)
    commit = needs_of(commands("git commit -m done"), runs_own=True)
    assert not any(need.credentials for need in commit.rows)


@rows("line, asks", [("npm ci", False), ("npm view a version | head -2", False), ("npm audit", False), ("npm whoami", True), ("npm publish --dry-run", False), ("npm publish", True), ("npm pack", False), ("pnpm add a", False)])  # fmt: skip
def test_packages_of_the_usual_registry_are_fetched_without_a_login(line: str, asks: bool) -> None:
    needs = needs_of(commands(line), line, logins_only=rows_of(["npm", "pnpm"]))
    assert bool(needs.asked) is asks
    assert asks or not any(need.credentials for need in needs.rows)
    assert asks or needs.withheld


@rows(
    "text, is_login",
    [
        ("//registry.npmjs.org/:_authToken=x\n; mine\n\nfund=false\n", True),
        ("_authToken=x\nemail = a@example.org\n", True),
        ("registry=https://npm.example.org\n//npm.example.org/:_authToken=x\n", False),
        ("@shop:registry=https://npm.example.org\n", False),
        ("ignore-scripts=true\n", False),
        ("proxy=http://a:1\n", False),
        ("plugin_cache_dir = 'x'\n", False),
    ],
)
def test_file_with_logins_alone(text: str, is_login: bool, tmp_path: Path) -> None:
    (tmp_path / "npmrc").write_text(text)
    assert names_logins_only(str(tmp_path / "npmrc")) is is_login


def test_what_cannot_work_inside_is_seen_in_any_line() -> None:
    assert outside_of(commands("make && sudo make install")) == "runs as another user"
    assert outside_of(commands("make install")) == ""
    assert outside_of(commands("nix develop -c make test; nix flake check")) == ""
    assert outside_of(commands("nix profile install jq")) != ""
    assert outside_of(commands("nix build --option post-build-hook ./x .#a")) != ""
    assert outside_of(commands("apt list --installed | grep gcc; dpkg -l gcc")) == ""
    assert outside_of(commands("apt install jq; apt list")) != ""


@rows(
    "line, doors",
    (
        ("docker compose ps && docker compose logs web | grep x", set()),
        ("docker ps; docker compose up -d", {"docker"}),
        ("docker -H tcp://a ps", {"docker"}),
        ("docker run --rm gcc:13 make", {"docker"}),
        ("docker ps; ./x", set()),
        ("docker compose -f x ps", {"docker"}),
        ("docker system df; docker image ls -a; docker tag a b", set()),
        ("docker system prune -f", {"docker"}),
        ("docker network rm a", {"docker"}),
        ("tmux ls", set()),
        ("tmux ls -F '#(x)'", {"terminals"}),
    ),
)
def test_looking_opens_no_door(line: str, doors: set[str]) -> None:
    needs = needs_of(commands(line), line)
    assert doors_of(commands(line), needs.rows) == doors


def test_each_program_that_gets_keys_at_once_has_a_list_of_options() -> None:
    for need in NEEDS:
        opens = need.credentials or set(need.sockets) & set(_OPENS)
        if opens and need.given and need.programs != "git":
            for program in need.programs.split():
                subcommand = "" if need.given == "*" else need.given.split()[0]
                assert has_harmless_options((program, *filter(None, (subcommand,)))), program
                assert not has_harmless_options((program, subcommand, "--unheard-of=x")), program


@rows("line", ["git commit -am x", "git commit -S -m x --amend --no-edit", "git commit -qFmsg", "git tag -a v1 -m v1", "git merge --no-ff -X theirs feature -m x", "git rebase --onto main a b", "git rebase -i HEAD~3", "git cherry-pick -x abc", "git revert --no-edit HEAD", "git am -3 x.patch", "git merge --abort", "git commit -m x -- src/-a.py", "git tag -s v1 -m '- first'"])  # fmt: skip
def test_what_signs_gets_the_key_that_signs(line: str) -> None:
    (need,) = needs_of(commands(line), line).rows
    assert need.credentials == (".gnupg",)


@rows("line", ["git rebase --skip", "git rebase --continue", "git rebase --cont", "git rebase --sk", "git rebase --edit-todo", "git rebase -x ./evil main", "git rebase -ix./evil main", "git rebase --exec=./evil main", "git rebase -s evil main", "git am --continue", "git am --resolved", "git am -r", "git am --skip", "git am -i x", "git cherry-pick --continue", "git cherry-pick --skip", "git cherry-pick --strategy=evil a", "git revert --continue", "git merge --continue", "git merge -s evil a", "git merge --strat evil a", "git -c core.editor=./evil commit", "git commit -c HEAD", "git rebase --skip && git push"])  # fmt: skip
def test_what_goes_on_with_a_list_of_the_repository_gets_no_key(line: str) -> None:
    """A program may have left `exec ./evil` in it, or the name of a strategy, which git runs."""
    needs = needs_of(commands(line), line)
    assert not needs.asked
    assert not any(need.credentials or set(need.sockets) & set(_OPENS) for need in needs.rows)
    assert needs.withheld


def test_commit_gets_what_signs_and_a_push_what_logs_in() -> None:
    (commit,) = needs_of(commands("git add -A && git commit -m done")).rows
    assert ".gnupg" in commit.credentials
    assert ".ssh" not in commit.credentials
    push, *_ = needs_of(commands("git push -u origin main && git commit -m done")).rows
    assert ".ssh" in push.credentials


@pytest.mark.parametrize(
    ("line", "harmless"),
    [
        ("aws --profile prod s3 ls s3://b", True),
        ("aws --document-name ssm start-session ls --target i-1", False),
        ("aws --name eks update-kubeconfig list-x", False),
        ("aws ssm --name start-session list-x", False),
        ("docker run --rm -it img ls -la", True),
        ("podman run -h foo --runtime ./evil img", False),
        ("podman run -a stdout --conmon ./evil img", False),
    ],
)
def test_option_in_front_does_not_hide_the_subcommand(line: str, harmless: bool) -> None:
    assert has_harmless_options(line.split()) == harmless
