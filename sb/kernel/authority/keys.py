"""Operators' private keys: made, sealed, opened.

One file per person, encrypted with a passphrase unless that was declined: scrypt (RFC 7914) makes the key for
ChaCha20-Poly1305 (RFC 8439), which also binds name and public key.
"""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.files import write_atomic
from sb.base.secrets.redaction import one_line
from sb.base.text import nearest, plain
from sb.base.values.canonical import canonical_bytes
from sb.base.values.signatures import PUBLIC_PREFIX
from sb.errors import ConfigError, DeniedError, NotFoundError, UsageError
from sb.kernel.authority.signing import Operator

NAME = re.compile(r"[a-z][a-z0-9._-]{0,63}")
SHORTEST_PASSPHRASE = 8
FEWEST_CHARACTERS = 4  # different ones in a passphrase
SCRYPT_N = 2**16  # with r = 8: 64 MiB and about a fifth of a second for each guess
_SUFFIX = ".key"


def checked_name(name: str) -> str:
    """The name itself; raises UsageError when it is not one."""
    if not NAME.fullmatch(name):
        shown = one_line(name, 64)
        raise UsageError(
            f"{shown!r} is not an operator's name", "lower-case letters, digits and ._- after a first letter"
        )
    return name


def name_from(text: str) -> str:
    """An operator's name made of any text, such as a login name."""
    fitting = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).lstrip("-._0123456789")[:64]
    return fitting or "operator"


class KeyFile(NamedTuple):
    """One private key as it lies on the disk."""

    name: str
    public_key: str
    locked: bool
    sealed: dict[str, Any]

    def unlock(self, passphrase: str = "") -> Operator:
        """The operator, able to sign; raises DeniedError when the passphrase does not fit."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        seed = _open_sealed(self, passphrase) if self.locked else base64.b64decode(self.sealed["seed"])
        key = Ed25519PrivateKey.from_private_bytes(seed)
        if _public(key) != self.public_key:
            raise ConfigError(f"the key file of {self.name} is damaged: its halves do not belong together")
        return Operator(self.name, self.public_key, key)


def weakness(name: str, passphrase: str) -> str:
    """The reason why a passphrase is too easily guessed for a key; "" if it is not.

    Args:
        name: whose key it is.
    """
    if len(passphrase) < SHORTEST_PASSPHRASE:
        return f"a passphrase has at least {SHORTEST_PASSPHRASE} characters"
    if len(set(passphrase)) < FEWEST_CHARACTERS:
        return f"a passphrase has at least {FEWEST_CHARACTERS} different characters"
    return "a passphrase is not the operator's name" if passphrase.lower() == name else ""


def make_key(name: str, passphrase: str | None) -> tuple[KeyFile, Operator]:
    """A fresh key.

    Args:
        passphrase: None keeps the private half unencrypted.

    Raises:
        UsageError: the passphrase is too short, or the name is none.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    checked_name(name)
    if passphrase is not None and (wrong := weakness(name, passphrase)):
        raise UsageError(wrong)
    key = Ed25519PrivateKey.generate()
    public, seed = _public(key), key.private_bytes_raw()
    if passphrase is None:
        sealed: dict[str, Any] = {"seed": base64.b64encode(seed).decode()}
    else:
        sealed = _seal(name, public, seed, passphrase)
    return KeyFile(name, public, passphrase is not None, sealed), Operator(name, public, key)


def _public(key: Any) -> str:
    return PUBLIC_PREFIX + base64.b64encode(key.public_key().public_bytes_raw()).decode()


def _cipher(passphrase: str, salt: bytes, cost: int) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return ChaCha20Poly1305(Scrypt(salt=salt, length=32, n=cost, r=8, p=1).derive(passphrase.encode()))


def _seal(name: str, public: str, seed: bytes, passphrase: str) -> dict[str, Any]:
    salt, nonce = os.urandom(16), os.urandom(12)
    box = _cipher(passphrase, salt, SCRYPT_N).encrypt(nonce, seed, canonical_bytes([name, public]))
    parts = {"salt": salt, "nonce": nonce, "box": box}
    return {"scrypt_n": SCRYPT_N} | {part: base64.b64encode(data).decode() for part, data in parts.items()}


def _open_sealed(file: KeyFile, passphrase: str) -> bytes:
    from cryptography.exceptions import InvalidTag

    salt, nonce, box = (base64.b64decode(file.sealed[part]) for part in ("salt", "nonce", "box"))
    try:
        opened: bytes = _cipher(passphrase, salt, int(file.sealed["scrypt_n"])).decrypt(
            nonce, box, canonical_bytes([file.name, file.public_key])
        )
    except InvalidTag:
        raise DeniedError(f"this is not the passphrase of {file.name}'s key") from None
    return opened


class KeyFolder:
    """The private keys of one home.

    Args:
        folder: made with mode 0700 by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Whose keys are here, sorted."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self.folder.glob(f"*{_SUFFIX}"))

    def read(self, name: str) -> KeyFile:
        """One key; raises NotFoundError when there is none, ConfigError when it cannot be read."""
        return self._read(self.path(name), name)

    def _read(self, path: Path, name: str) -> KeyFile:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            file = KeyFile(found["name"], found["public_key"], bool(found["locked"]), found["sealed"])
        except FileNotFoundError:
            near = nearest(name, self.names())
            raise NotFoundError(f"no key of {name} in this home{near}", "sb operator whoami") from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigError(f"the key file {path} cannot be read: {error}") from None
        if file.name != name:
            raise ConfigError(f"the key file {path} is {plain(file.name, one_line=True)}'s")
        return file

    def path(self, name: str) -> Path:
        return self.folder / (checked_name(name) + _SUFFIX)

    def enrolled(self, name: str, public_key: str) -> KeyFile:
        """This person's key, if it is the enrolled one.

        A key that was made to take the place of another, and is enrolled by now, takes it.

        Raises:
            NotFoundError: there is none.
            DeniedError: it is another one.
        """
        pending = self._pending(name)
        if pending.exists():
            if self._read(pending, name).public_key == public_key:
                pending.replace(self.path(name))
            else:
                pending.unlink()
        file = self.read(name)
        if file.public_key != public_key:
            raise DeniedError(
                f"the key of {name} in this home is not the one that is enrolled", "sb operator list"
            )
        return file

    def _pending(self, name: str) -> Path:
        return self.path(name).with_suffix(".next")

    def write(self, file: KeyFile, *, pending: bool = False) -> None:
        """Keep one key, whole or not at all.

        Args:
            pending: beside the one that it is to replace.
        """
        path = self._pending(file.name) if pending else self.path(file.name)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(path, f"{json.dumps(file._asdict(), indent=2)}\n".encode())
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}") from None
