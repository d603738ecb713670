"""Sockets that run things outside of confinement: terminals, containers, services, key agents, editors, displays, our helper.

A read-only mount does not keep a command from connecting to a socket, so each one is masked unless the line uses it.
Sockets without a path (the abstract ones of Linux) cannot be masked.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator, Mapping
from glob import glob

from sb.hosts.confinement.needs import DOCKER, GPG_AGENT, HELPER, KEYRING, SERVICES, SSH_AGENT, TERMINALS

EDITORS, HOSTS, DISPLAYS = "editors", "hosts", "displays"
# Kind to paths; {user} is the user's number, {home} the home, {run} the folder of the user's own services.
_PATHS: dict[str, tuple[str, ...]] = {
    TERMINALS: ("/tmp/tmux-{user}", "/run/screen", "/var/run/screen", "{home}/.screen", "/tmp/zellij-{user}", "{run}/zellij", "{run}/wezterm", "/tmp/kitty-*", "/tmp/mykitty*",
        "{run}/kitty-*", "{run}/Alacritty-*", "/tmp/Alacritty-*.sock", "{run}/foot*", "/tmp/tmate-{user}", "/tmp/screens", "{home}/.dtach", "/tmp/abduco", "/tmp/.abduco", "{home}/.abduco",
    ),
    DOCKER: (
        "/run/docker.sock", "/var/run/docker.sock", "{run}/docker.sock", "{home}/.docker/run/docker.sock", "{home}/.docker/desktop/docker.sock",
        "/run/podman/podman.sock", "{run}/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock",
        "{home}/.colima/*/docker.sock", "{home}/.rd/docker.sock", "{home}/.lima/*/sock/*.sock", "{home}/.lima/*/*.sock", "{home}/.orbstack/run/*.sock",
        "{home}/.local/share/containers/podman/machine/*.sock", "{home}/.local/share/containers/podman/machine/*/*.sock", "{run}/podman/*.sock", "/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket",
        "/var/lib/incus/unix.socket", "/run/libvirt/libvirt-sock", "/run/snapd.socket",
    ),
    SSH_AGENT: ("{run}/ssh-agent*", "{run}/openssh_agent", "{run}/keyring/ssh", "/tmp/ssh-*", "{home}/.1password/agent.sock", "{home}/.bitwarden-ssh-agent.sock", "{home}/.ssh/agent*",
        # Connections that are shared: who reaches one runs things on the other machine.
        "{home}/.ssh/cm*", "{home}/.ssh/control*", "{home}/.ssh/master*", "{home}/.ssh/mux*", "{home}/.ssh/sockets", "{home}/.ssh/*@*", "/tmp/ssh_mux_*",
    ),
    GPG_AGENT: ("{run}/gnupg", "{home}/.gnupg/S.*"),
    KEYRING: ("{run}/keyring", "{home}/.cache/keyring-*"),
    SERVICES: ("{run}/bus", "{run}/systemd/private", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/io.systemd.*",
        "{home}/.pm2/*.sock", "/tmp/supervisor.sock", "/run/supervisor.sock", "/run/supervisor/*.sock", "/run/supervisord.sock", "{home}/.local/share/supervisor.sock",
        "{home}/.local/state/watchman", "/tmp/*-state/sock", "/tmp/.watchman.*", "/usr/local/var/run/watchman", "/opt/facebook/watchman/var/run/watchman",
        "{home}/.mutagen/daemon/daemon.sock", "/tmp/process-compose-*.sock",
    ),
    EDITORS: ("{run}/vscode-*", "/tmp/vscode-*", "{run}/emacs", "/tmp/emacs{user}", "{run}/nvim.*", "/tmp/nvim*",
        "{home}/.emacs.d/server", "{home}/.config/emacs/server", "{home}/.cache/nvim/*.pipe", "{home}/.cache/nvim/*.sock", "{run}/kakoune", "/tmp/kakoune-{user}", "{home}/.local/share/zed/*.sock", "{home}/.vscode-server/*.sock", "{home}/.local/share/jupyter/runtime/*.sock",
    ),
    # Those of a person's seat: who reaches one may type into a window. A display that a command makes has a higher number.
    DISPLAYS: (
        "/tmp/.X11-unix/X0", "/tmp/.X11-unix/X1", "{run}/wayland-*", "{run}/sway-ipc.*", "/tmp/sway-ipc.*", "{run}/i3", "/tmp/i3-*.*", "{run}/hypr", "/tmp/hypr", "/tmp/bspwm*-socket",
        "{home}/.config/mpv/socket", "/tmp/mpvsocket", "/tmp/mpv-socket",
    ),
    HOSTS: ("/tmp/cc-socks",),
}  # fmt: skip
# Variables of the host that name another one.
_NAMED_BY = {
    "TMUX": TERMINALS,
    "SSH_AUTH_SOCK": SSH_AGENT,
    "DOCKER_HOST": DOCKER,
    "DBUS_SESSION_BUS_ADDRESS": SERVICES,
    "VSCODE_IPC_HOOK_CLI": EDITORS,
    "NVIM": EDITORS,
    "CLAUDE_CODE_MESSAGING_SOCKET": HOSTS,
}


def control_sockets(home: str, env: Mapping[str, str], user: int, helper: str) -> Iterator[tuple[str, str]]:
    """The kind and real path of each such socket, or folder of sockets, that exists.

    Args:
        home: of the user. env: of the host. user: its number.
        helper: the folder with the socket of SecondBrain's helper for confined commands, and its secret.
    """
    if os.path.lexists(helper):
        yield HELPER, os.path.realpath(helper)
    run = f"/run/user/{user}"
    listings: dict[str, list[str]] = {}
    for kind, patterns in _PATHS.items():
        for pattern in patterns:
            path = pattern.format(user=user, home=home, run=run)
            for place in _fitting(path, listings) if "*" in path else [path]:
                if _is_door(place):
                    yield kind, _real(place)
    for variable, kind in _NAMED_BY.items():
        place = _path_in(env.get(variable, ""))
        if place and _is_door(place):
            yield kind, _real(place)


def _fitting(pattern: str, listings: dict[str, list[str]]) -> list[str]:
    """The paths that a pattern stands for; folders are listed once for all."""
    folder, _, name = pattern.rpartition("/")
    if "*" in folder:
        return glob(pattern)
    if folder not in listings:
        try:
            listings[folder] = os.listdir(folder)
        except OSError:
            listings[folder] = []
    return [f"{folder}/{entry}" for entry in fnmatch.filter(listings[folder], name)]


def _is_door(place: str) -> bool:
    """True for a socket, or a folder of the user or of the system; a link may be an agent's, and lead anywhere."""
    try:
        status = os.lstat(place)
    except OSError:
        return False
    folder = stat.S_ISDIR(status.st_mode) and status.st_uid in (os.getuid(), 0)
    return stat.S_ISSOCK(status.st_mode) or folder


def _real(place: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))


def _path_in(value: str) -> str:
    """The absolute path in a variable such as "unix:path=/run/user/1000/bus,guid=…" or "/tmp/tmux-0/default,4,0"."""
    start = value.find("/")
    path = value[start:].partition(",")[0] if start >= 0 else ""
    return os.path.normpath(path) if path else ""
