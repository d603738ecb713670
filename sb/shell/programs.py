"""The table of known programs.

A rule is one text: a class and a reason, then rows that raise it, `| class what: reason`. R only reads, W changes files
of this machine, N talks to the network or runs what the line does not show, D destroys, publishes or takes rights. A row
applies when one of its words does:

- `-f`: that letter in a group of short options; `--force`: that option or a beginning of it; `-delete`: that option, of one dash
- `^+`: an argument that begins with what follows; `=/x`: an argument that is what follows
- `#2`: at least so many arguments that are no options
- `?`: an argument that is not known until the line runs, or is a pattern

A key of several words is a program with its subcommand; the longest one that fits is taken.
"""

from __future__ import annotations


def each(rule: str, names: str) -> dict[str, str]:
    """One rule for several names; a dot joins a program and its subcommand."""
    return {name.replace(".", " "): rule for name in names.split()}


_PROJECT_CODE = "N runs the project's code"
_INSTALLS = "N installs packages and runs their code"
_PUBLISHES = "D publishes"
_DELETES = "D deletes something that others or other programs use"
_UNDOES = "D discards uncommitted work"
_REWRITES = "D rewrites commits"

RULES: dict[str, str] = {
    # --- only reading
    **each(
        "R only reads",
        "ls dir vdir cat tac head tail nl od hexdump strings wc cut paste join comm cmp diff "
        "diff3 sdiff colordiff grep egrep fgrep zgrep zcat bzcat xzcat look tr rev fold fmt "
        "column expand unexpand pr tsort seq factor expr echo printf true false : pwd dirname "
        "basename realpath readlink stat du df ps pgrep pidof uptime free vmstat iostat lscpu "
        "lsblk lsusb lspci lsof uname arch nproc id groups whoami who w users last tty locale "
        "getconf getent which whereis type hash help cal jq md5sum sha1sum sha224sum sha256sum "
        "sha384sum sha512sum shasum md5 cksum sum b2sum test [ sleep wait jobs tree bat exa eza "
        "lsd cloc tokei scc ag ack sw_vers vm_stat printenv times ulimit umask shift return "
        "break continue exit logout let getopts readarray mapfile read local declare typeset "
        "export readonly unset set shopt dirs hostname infocmp tput clear nm objdump readelf "
        "size ldd otool xxd base64 base32 uuencode yes top htop compgen suspend disown fg bg "
        "tomlq yq xmllint numfmt shuf pathchk sysctl mount findmnt namei lsattr getfacl bind "
        "caller rg fd fdfind date file uniq sort less more tldr ipcs nvidia-smi enable history "
        "fc complete compopt cd pushd popd chdir journalctl dmesg ",
    ),
    "jobs": "R only reads | D -x: runs a program",
    **each("R only reads | N ^+!: runs a program", "less more"),
    "sort": "R only reads | W -o --output: writes a file | N --compress-program: runs a program",
    "tree": "R only reads | W -o: writes a file",
    "shuf": "R only reads | W -o --output: writes a file",
    "uniq": "R only reads | W #2: writes a file",
    "file": "R only reads | W -C --compile: writes a file",
    "xxd": "R only reads | W -r #2: writes a file",
    "yq": "R only reads | W -i --inplace: changes a file",
    "xmllint": "R only reads | W --output: writes a file",
    "date": "R only reads | D -s --set: sets the clock",
    "hostname": "R only reads | D -F --file -b: sets the host's name",
    "sysctl": "R only reads | D -w --write -p --load --system: changes the kernel's settings",
    "mount": "R lists what is mounted | D ^/ ? -o -t -a --bind --all: mounts a file system",
    "journalctl": "R only reads | D --vacuum-size --vacuum-time --vacuum-files --rotate: deletes logs",
    "dmesg": "R only reads | D -c -C --clear --read-clear: deletes the kernel's messages",
    "rg": "R only reads | N --pre --hostname-bin: runs a program on each file",
    "ack": "R only reads | N --pager: runs a program",
    "ag": "R only reads | N --pager: runs a program",
    "bat": "R only reads | N --pager: runs a program",
    "history": "R only reads | W -c -d -w -a: changes the history",
    "diff": "R only reads | W --output: writes a file",
    "base64": "R only reads | W -o --output: writes a file",
    "enable": "R lists builtins | N -f: loads code",
    "hash": "R only reads | N -p: changes which program a name runs",
    "complete": "R only reads | N -C -F: runs a program",
    "bind": "R only reads | N -x -f: runs a program",
    # --- changing files here
    **each("W makes files or folders", "mkdir touch mktemp mkfifo install ln link split csplit"),
    **each("W copies or moves files, may overwrite", "cp mv rename mmv ditto"),
    **each(
        "W changes files",
        "patch truncate gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress "
        "zip unzip 7z cpio ar ranlib strip dos2unix unix2dos iconv indent black isort gofmt "
        "rustfmt clang-format shfmt autopep8 yapf taplo stylua convert magick ffmpeg pandoc "
        "optipng jpegoptim xdg-mime ctags etags setfattr chattr setfacl pigz jar chmod chgrp "
        "chown xattr sponge ssh-keygen openssl gpg",
    ),
    "rename": "N runs code, and renames files",
    "split": "W makes files | N --filter: runs a program",
    "pandoc": "W changes files | N -F -L --filter --lua-filter --pdf-engine: runs a program",
    "install": "W makes files or folders | N --strip-program: runs a program",
    "tee": "W writes what it reads to files",
    "rm": (
        "W removes files | D -r -R -d --recursive --dir: deletes a folder and its contents | D "
        "--no-preserve-root: deletes everything | D ?: deletes files that are unknown until it runs"
    ),
    "rmdir": "W removes an empty folder",
    "unlink": "W removes a file | D ?: deletes files that are unknown until it runs",
    "trash": "W moves files into the trash",
    "tar": (
        "W packs or unpacks files | R! -t --list =tf =tvf =tzf =tzvf =tjf =tJf =tvzf: lists the contents | N --to-command --checkpoint-action --use-compress-program -I --rsh-command "
        "--info-script --new-volume-script -F: runs a program | D --remove-files "
        "--recursive-unlink --unlink-first: deletes files"
    ),
    "unzip": "W unpacks files | R! -l -v -t -Z: lists the contents",
    "zip": "W packs files | D -m --move: deletes the packed files | N -T -TT: runs a program",
    "chmod": (
        "W changes permissions of files | D -R --recursive: changes the permissions of a whole folder | D --reference=: changes permissions"
    ),
    "chown": "W changes the owner of files | D -R --recursive: changes the owner of a whole folder",
    "chgrp": "W changes the owner of files | D -R --recursive: changes the group of a whole folder",
    "mv": "W moves files, may overwrite",
    "ruff": "R checks the code | W --fix --fix-only --unsafe-fixes --add-noqa: changes files",
    "ruff format": "W formats files",
    "prettier": "W formats files",
    "openssl": "N computes or talks to a server",
    "gpg": (
        "N runs a program that keeps keys | D --delete-keys --delete-secret-keys "
        "--delete-secret-and-public-key: deletes keys"
    ),
    "ssh-keygen": "W makes keys | D -R: changes keys",
    "kill": "W ends processes | D -1 =0 =-1: ends processes without naming each",
    "alias": "N redefines a name",
    "unalias": "R forgets an alias",
    # --- what cannot be undone
    "dd": "D writes over files or disks",
    "shred": "D destroys the content of files",
    "srm": "D destroys the content of files",
    "wipefs": "D erases a file system",
    **each(
        "D makes or changes file systems and disks",
        "mkfs mke2fs mkswap fdisk sfdisk gdisk parted cfdisk diskutil hdiutil lvremove vgremove "
        "pvremove cryptsetup zpool zfs btrfs tune2fs resize2fs fsck losetup umount swapoff "
        "swapon debugfs xfs_repair mdadm",
    ),
    **each("D deletes folders and their contents", "rimraf del-cli trash-empty"),
    **each("D ends every process of that name", "killall pkill xkill killall5"),
    **each("D stops the machine", "shutdown reboot halt poweroff init telinit"),
    **each(
        "D changes services of the machine", "systemctl service launchctl rc-service chkconfig initctl sv"
    ),
    "systemctl status": "R only reads",
    "systemctl list-units": "R only reads",
    "systemctl is-active": "R only reads",
    "systemctl show": "R only reads",
    "systemctl cat": "R only reads",
    "launchctl list": "R only reads",
    "service --status-all": "R only reads",
    **each(
        "D changes users or their rights",
        "useradd userdel usermod groupadd groupdel groupmod passwd chpasswd adduser deluser "
        "visudo vipw chsh chfn dscl gpasswd newgrp sg",
    ),
    **each(
        "D changes the machine's network or kernel",
        "iptables ip6tables nft ufw firewall-cmd modprobe insmod rmmod route ifconfig pfctl "
        "setenforce kexec grub-install update-grub bcdedit networksetup scutil nvram csrutil",
    ),
    "ifconfig": "R only reads | D =up =down =add =delete: changes the network",
    "ip": "R only reads | D =add =del =delete =flush =set =change =replace: changes the network",
    "crontab": "D changes scheduled commands",
    "at": "D schedules a command",
    "batch": "D schedules a command",
    # --- git
    "git": "N runs an unknown git command: an alias or a program",
    **each(
        "R only reads",
        "git.status git.log git.show git.diff git.blame git.annotate git.shortlog git.describe "
        "git.rev-parse git.rev-list git.ls-files git.ls-tree git.cat-file git.grep "
        "git.whatchanged git.name-rev git.merge-base git.for-each-ref git.show-ref git.version "
        "git.help git.count-objects git.var git.check-ignore git.check-attr git.check-ref-format "
        "git.diff-tree git.diff-index git.diff-files git.cherry git.range-diff git.verify-commit "
        "git.verify-tag git.fsck git.archive git.merge-tree git.patch-id git.show-branch "
        "git.stripspace git.get-tar-commit-id git.column git.hash-object git.bugreport",
    ),
    "git log": "R only reads | W --output: writes a file",
    "git show": "R only reads | W --output: writes a file",
    "git diff": "R only reads | W --output: writes a file | N --ext-diff: runs a program",
    "git archive": "R only reads | W -o --output: writes a file | N --remote --exec: asks another host",
    "git grep": "R only reads | N -O --open-files-in-pager: runs a program",
    "git hash-object": "R only reads | W -w: writes an object",
    "git ls-remote": "N asks another host",
    **each(
        "W changes the repository",
        "git.add git.commit git.init git.mv git.merge git.cherry-pick git.revert git.apply "
        "git.am git.stage git.notes git.bundle git.format-patch git.sparse-checkout "
        "git.pack-refs git.repack git.update-index git.read-tree git.write-tree git.commit-tree "
        "git.commit-graph git.mktag git.rerere git.maintenance git.mailinfo "
        "git.interpret-trailers git.request-pull git.replace",
    ),
    "git add": "W stages changes",
    "git read-tree": "W changes what is staged | D -u --reset: discards uncommitted work",
    "git commit": "W makes a commit",
    "git branch": (
        "R lists branches | W ^ -m -c --move --copy -u --set-upstream-to --unset-upstream -d "
        "--delete: changes branches | D -D -f -M -C --force: deletes or moves a branch, merged or not"
    ),
    "git tag": (
        "R lists tags | W ^ -a -s -m -u --annotate: makes a tag | D -d -f --delete --force: "
        "deletes or moves a tag"
    ),
    "git remote": (
        "R lists other repositories | W =add =remove =rm =rename =set-url =set-head "
        "=set-branches =prune: changes the list of other repositories | N =update =show: asks "
        "another host"
    ),
    "git config": (
        "W changes settings | R! --get --get-all --get-regexp --list -l =get =list: reads "
        "settings | W --global --system: changes settings of all projects"
    ),
    "git checkout": (
        "W switches branches | D -f -B --force --ours --theirs -p --patch "
        "--pathspec-from-file =--: discards uncommitted work"
    ),
    "git switch": (
        "W switches branches | D -f -C --force --discard-changes --force-create: discards uncommitted work"
    ),
    "git restore": _UNDOES,
    "git reset": (
        "W moves the branch, keeps the files | D --hard --merge --keep ?: discards uncommitted work"
    ),
    "git clean": "D deletes untracked files | R! -n --dry-run: prints what it would delete",
    "git stash": "W stashes changes",
    "git stash list": "R only reads",
    "git stash show": "R only reads",
    "git stash drop": "D discards stashed changes",
    "git stash clear": "D discards stashed changes",
    "git rm": ("W removes files that are committed | D -f -r --force: deletes files, committed or not"),
    "git rebase": _REWRITES + " | W! --continue --quit --show-current-patch --edit-todo: goes on",
    "git filter-branch": _REWRITES,
    "git filter-repo": _REWRITES,
    "git replace": _REWRITES,
    "git reflog": "R only reads",
    "git reflog expire": "D removes the means to recover commits",
    "git reflog delete": "D removes the means to recover commits",
    "git gc": "W tidies the repository | D --prune --aggressive: deletes unreachable commits",
    "git prune": "D deletes unreachable commits",
    "git update-ref": "D moves or deletes a branch, merged or not",
    "git symbolic-ref": "R only reads | W ^refs -d --delete: changes where a ref points",
    "git worktree": "W adds a working folder",
    "git worktree list": "R only reads",
    "git worktree remove": (
        "W removes a working folder without changes | D -f --force: deletes a working folder and its changes"
    ),
    "git submodule": "N fetches other repositories",
    "git submodule status": "R only reads",
    "git submodule deinit": "D deletes a submodule's files",
    "git push": (
        # With a lease, git refuses to overwrite what was not fetched.
        "N sends commits | D -f --force --mirror --prune -d --delete ^+ ^: : overwrites or deletes commits of others"
    ),
    **each(
        "N talks to another repository",
        "git.fetch git.pull git.clone git.remote-https git.svn git.p4 git.lfs git.send-email "
        "git.daemon git.send-pack git.fetch-pack git.imap-send git.difftool git.mergetool "
        "git.bisect git.instaweb git.gui git.citool git.hook",
    ),
    "git pull": "N fetches and merges | D -f --force: overwrites local commits",
    "git bisect": "N searches commits",
    # --- packages
    **each(
        _INSTALLS,
        "pip pip3 pipx uv uvx npm npx yarn pnpm pnpx bun bunx corepack poetry pdm hatch pipenv "
        "rye conda mamba micromamba gem bundle bundler cargo rustup go brew port nix nix-env "
        "nix-shell apt apt-get aptitude dpkg dnf yum rpm zypper pacman apk snap flatpak composer "
        "mix hex cabal stack opam luarocks cpan cpanm nuget dotnet mvn gradle sbt lein deno nvm "
        "pyenv rbenv asdf mise volta choco winget scoop pkg easy_install tox nox virtualenv",
    ),
    **each(
        "R only reads",
        "pip.list pip.show pip.freeze pip.check pip.--version pip.-V pip.help pip3.list "
        "pip3.show pip3.freeze pip3.check pip3.--version uv.pip.list uv.pip.show uv.pip.freeze "
        "uv.tree uv.--version uv.version npm.ls npm.list npm.--version npm.-v npm.root "
        "npm.prefix npm.bin yarn.list yarn.--version yarn.-v yarn.why pnpm.ls pnpm.list "
        "pnpm.--version pnpm.why cargo.--version cargo.-V cargo.version go.version go.env go.doc "
        "go.help rustup.show gem.list gem.--version brew.list brew.--version brew.--prefix "
        "conda.list conda.--version conda.info apt.list apt.show apt-cache.search dpkg.-l "
        "dpkg.-L dpkg.-s rpm.-q rpm.-qa pacman.-Q poetry.show poetry.--version dotnet.--version "
        "pipx.list conda.env.list npm.config.list npm.config.get npm.why npm.help",
    ),
    "apt-cache": "R only reads",
    "dpkg-query": "R only reads",
    "go env": "R only reads | W -w -u: changes Go's settings",
    **each(
        "W changes files",
        "go.fmt cargo.fmt npm.uninstall brew.uninstall pip.uninstall pip3.uninstall "
        "uv.pip.uninstall uv.venv uv.init cargo.init cargo.new go.mod.init go.mod.edit "
        "cargo.clean go.clean uv.cache.clean pip.cache.purge",
    ),
    "virtualenv": "W makes an environment",
    **each(
        _PUBLISHES,
        "npm.publish npm.unpublish npm.deprecate npm.dist-tag npm.owner npm.access yarn.publish "
        "yarn.npm.publish pnpm.publish bun.publish cargo.publish cargo.yank cargo.owner "
        "uv.publish poetry.publish pdm.publish hatch.publish flit.publish rye.publish gem.push "
        "gem.yank twine twine.upload docker.push podman.push mix.hex.publish dotnet.nuget.push "
        "nuget.push conda.build.upload anaconda.upload vsce.publish ovsx.publish deno.publish "
        "jsr.publish wrangler.deploy wrangler.publish firebase.deploy fly.deploy flyctl.deploy "
        "netlify.deploy vercel.deploy gh.release.create gh.release.upload gh.gist.create "
        "lerna.publish changeset.publish semantic-release np release-it goreleaser surge "
        "gh-pages ",
    ),
    "twine check": "R only reads",
    "vercel": "N talks to a service | D --prod: publishes",
    "mvn": _PROJECT_CODE + " | D =deploy ^release: =release:perform: publishes",
    "gradle": _PROJECT_CODE + " | D ^publish =uploadArchives: publishes",
    **each(
        _DELETES,
        "conda.env.remove mamba.env.remove conda.remove apt.remove apt.purge apt.autoremove "
        "apt-get.remove apt-get.purge apt-get.autoremove dpkg.-r dpkg.-P dpkg.--purge "
        "dpkg.--remove yum.remove dnf.remove rpm.-e pacman.-R pacman.-Rns apk.del snap.remove "
        "nix-collect-garbage rustup.self.uninstall brew.autoremove brew.cleanup",
    ),
    # --- running what the line does not show
    **each(
        _PROJECT_CODE,
        "make gmake cmake ninja meson bazel buck pants just task rake grunt gulp webpack vite "
        "rollup esbuild tsc jest vitest mocha pytest unittest tox nox coverage mypy pyright "
        "eslint pylint flake8 pre-commit ant scons tsx ts-node nodemon playwright cypress "
        "phpunit rspec rails django-admin flask uvicorn gunicorn celery alembic jupyter ipython "
        "sphinx-build mkdocs next nuxt astro ng expo storybook",
    ),
    "pre-commit": _PROJECT_CODE,
    "mypy": "N runs the project's plugins",
    **each(
        "N opens a program that can run others",
        "vi vim nvim nano emacs ed ex man info tmux screen dialog fzf open xdg-open start osascript expect gdb lldb ",
    ),
    **each(
        "N opens a program that can run others | D --install-extension --uninstall-extension --disable-extension "
        "--disable-extensions --add-mcp --user-data-dir --extensions-dir: changes the settings of agents",
        "code code-insiders codium cursor windsurf",
    ),
    "ed": "N runs a script that is not inspected",
    # --- other agents
    **each("N starts another agent", "opencode aider goose amp"),
    "copilot": (
        "N starts another agent | D --yolo --allow-all --allow-all-tools --allow-tool --additional-mcp-config "
        "--config-dir: may run an agent without SecondBrain"
    ),
    "cursor-agent": "N starts another agent | D -f --force --yolo --approve-mcps: may run an agent without SecondBrain",
    "claude": (
        "N starts another agent | D --bare --safe-mode --settings --setting-sources --mcp-config "
        "--dangerously-skip-permissions --allow-dangerously-skip-permissions: may run an agent without SecondBrain"
    ),
    "codex": (
        "N starts another agent | D -c --config --disable --profile --yolo --dangerously-bypass-hook-trust "
        "--dangerously-bypass-approvals-and-sandbox: may run an agent without SecondBrain"
    ),
    "gemini": "N starts another agent | D -y --yolo --approval-mode: may run an agent without SecondBrain",
    **each(
        "D changes the settings of agents",
        "claude.config claude.mcp claude.plugin codex.mcp codex.features codex.plugin gemini.mcp gemini.extensions gemini.hooks "
        "copilot.mcp copilot.plugin cursor-agent.mcp opencode.mcp opencode.plugin",
    ),
    # --- the network
    **each(
        "N talks to the network",
        "curl wget aria2c http https httpie xh nc ncat netcat socat telnet ftp sftp scp rcp "
        "rsync rclone lftp ping ping6 traceroute tracepath mtr dig host nslookup whois nmap "
        "tcpdump ss netstat arp mail mailx sendmail mutt yt-dlp youtube-dl git-lfs ngrok "
        "cloudflared wscat websocat grpcurl ab wrk hey k6 iperf iperf3 ssh-copy-id ssh-add "
        "ssh-agent gsutil s3cmd mc sshfs mosh rsh autossh",
    ),
    **each(
        "N talks to the network | D -e -c --exec --sh-exec: connects a program to the network",
        "nc ncat netcat",
    ),
    "curl": "N talks to the network | D =DELETE =-XDELETE =--request=DELETE: deletes on another host",
    "wget": "N talks to the network | D =--method=DELETE: deletes on another host",
    "http": "N talks to the network | D =DELETE: deletes on another host",
    "xh": "N talks to the network | D =DELETE =delete: deletes on another host",
    "rsync": (
        "N copies files between folders or hosts | D --delete --del --delete-before "
        "--delete-during --delete-delay --delete-after --delete-excluded --delete-missing-args "
        "--remove-source-files --force: deletes files"
    ),
    "rclone": (
        "N copies files between hosts | D =delete =deletefile =purge =sync =move =moveto =rmdir "
        "=rmdirs =cleanup =dedupe: deletes files"
    ),
    "gsutil": "N talks to a cloud | D =rm =rb =-d: deletes cloud resources",
    "s3cmd": "N talks to a cloud | D =del =rm =rb --delete-removed: deletes cloud resources",
    "mc": "N talks to a cloud | D =rm =rb --remove: deletes cloud resources",
    # --- containers, clouds, services
    **each(
        "N runs containers",
        "docker podman nerdctl docker-compose podman-compose colima lima minikube kind k3d vagrant",
    ),
    **each(
        "R only reads",
        "docker.ps docker.images docker.inspect docker.logs docker.version docker.--version "
        "docker.info docker.image.ls docker.container.ls docker.volume.ls docker.network.ls "
        "docker.top docker.stats docker.diff docker.history docker.compose.ps podman.ps "
        "podman.images podman.inspect podman.logs",
    ),
    **each(
        _DELETES,
        "docker.rm docker.rmi docker.system.prune docker.volume.rm docker.volume.prune "
        "docker.image.prune docker.image.rm docker.container.prune docker.container.rm "
        "docker.network.rm docker.network.prune docker.builder.prune docker.kill "
        "docker.compose.rm podman.rm podman.rmi podman.system.prune podman.system.reset "
        "podman.volume.rm podman.volume.prune podman.kill vagrant.destroy minikube.delete "
        "kind.delete k3d.delete docker.swarm docker.stack.rm docker.service.rm docker.secret.rm "
        "docker.context.rm",
    ),
    "docker run": "N runs a container | D --privileged --pid: gets the rights of this machine",
    "docker compose down": "N stops containers | D -v --volumes --rmi: deletes their data",
    "docker-compose": "N runs containers | D -v --volumes --rmi: deletes their data",
    **each("N talks to a cluster", "kubectl helm oc k9s argocd flux istioctl kustomize"),
    **each(
        _DELETES,
        "kubectl.delete kubectl.drain oc.delete helm.uninstall helm.delete helm.del "
        "helm.rollback argocd.app.delete flux.delete flux.uninstall",
    ),
    **each("D changes or deletes what runs in a cluster", "kubectl.apply oc.apply"),
    "kubectl replace": "N changes a cluster | D --force: deletes in a cluster",
    "kubectl scale": "N changes a cluster | D =--replicas=0: scales to zero",
    **each(
        "N plans cloud resources",
        "terraform tofu pulumi terragrunt cdk cdktf serverless sls sam ansible ansible-playbook "
        "packer nomad vault consul",
    ),
    **each(
        "D changes or deletes cloud resources",
        "terraform.apply terraform.destroy terraform.import terraform.taint terraform.untaint "
        "terraform.state.rm terraform.state.mv terraform.state.push terraform.force-unlock "
        "terraform.workspace.delete tofu.apply tofu.destroy tofu.state.rm tofu.workspace.delete "
        "pulumi.up pulumi.destroy pulumi.update pulumi.stack.rm terragrunt.apply "
        "terragrunt.destroy terragrunt.run-all cdk.deploy cdk.destroy serverless.deploy "
        "serverless.remove sls.deploy sls.remove sam.deploy sam.delete cdktf.deploy "
        "cdktf.destroy vault.delete nomad.stop ansible ansible-playbook",
    ),
    **each(
        "N talks to a cloud",
        "aws gcloud az doctl fly flyctl heroku netlify wrangler supabase linode-cli oci ibmcloud "
        "firebase bq eksctl render railway cf scw hcloud gh glab hub stripe shopify sentry-cli",
    ),
    "gh": "N talks to a code host | D =DELETE =-XDELETE =--method=DELETE: deletes at a code host",
    "gh pr merge": "N merges at a code host | D -d --delete-branch: deletes a branch at a code host",
    "gh repo edit": "N changes a repository's settings | D --visibility: publishes or hides a repository",
    "aws s3 sync": "N copies files to or from a cloud | D --delete: deletes cloud resources",
    # --- databases
    **each(_DELETES, "dropdb dropuser"),
    **each(
        "N talks to a database",
        "createdb createuser pg_dump pg_dumpall pg_restore mysqldump mysqladmin mongodump "
        "mongorestore pgbench initdb pg_ctl flyway liquibase prisma knex sequelize dbmate",
    ),
    "pg_restore": "N writes a database | D -c --clean --create: drops what exists",
    "mongorestore": "N writes a database | D --drop: drops what exists",
    "mysqladmin": "N talks to a database | D =drop =shutdown: drops or stops a database",
    "flyway": "N changes a database | D =clean: drops everything",
    "prisma": "N changes a database | D =reset --force-reset --accept-data-loss: drops everything",
    # --- the shell's own
    "exec": "R replaces the shell",
    "trap": "R says what happens on a signal",
    "ulimit": "R limits the shell",
}
