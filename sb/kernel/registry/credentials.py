"""Credentials by reference: the value is fetched when a tool is called, and everything else holds the name alone.

A tool names its credentials in its contract, `metadata={"credentials": {"token": "billing"}}`: parameter to name. The
configuration says where each name's value is; an agent can neither choose a credential nor pass a value for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sb.base.secrets.sources import COMMAND_S, fetch
from sb.config.credentials import CredentialSource
from sb.errors import ContractError
from sb.kernel.contracts import ToolErrorCode, ToolSpec
from sb.kernel.results import ToolError

CREDENTIALS = "credentials"  # in a contract's metadata
_NONE: Mapping[str, CredentialSource] = {}


def reference(name: str) -> str:
    """The reference that stands for a credential in arguments, records and messages; masking leaves it."""
    return f"[reference:{name}]"


def credentials_of(spec: ToolSpec) -> dict[str, str]:
    """Parameter to name of the credentials that a tool gets.

    Raises:
        ContractError: they are not declared as a mapping of texts.
    """
    declared = spec.metadata.get(CREDENTIALS)
    if declared is None:
        return {}
    if not isinstance(declared, Mapping) or not all(
        isinstance(item, str) and item for pair in declared.items() for item in pair
    ):
        raise ContractError(f"tool {spec.tool_id}: credentials must be a mapping of parameters to names")
    return dict(declared)


def with_references(declared: Mapping[str, str], args: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The arguments with the references of their credentials, and what is wrong with them, or "".

    Nobody passes a value: a parameter that is filled in may be left out, empty, or hold its reference.
    """
    for parameter, name in declared.items():
        if args.get(parameter) not in (None, "", reference(name)):
            return args, f"argument {parameter!r} is a credential, which the kernel fills in: leave it out"
    return args | {parameter: reference(name) for parameter, name in declared.items()}, ""


class Credentials:
    """Fetches values where the configuration says they are.

    Args:
        sources: name to place. folder: what a relative path of a file starts from.
    """

    def __init__(
        self,
        sources: Mapping[str, CredentialSource] = _NONE,
        folder: Path = Path(),
        timeout_s: float = COMMAND_S,
    ) -> None:
        self.sources = sources
        self._folder = folder
        self._timeout_s = timeout_s

    def missing(self, names: Mapping[str, str]) -> str:
        """The first of a tool's credentials that the configuration does not name, or ""."""
        return next((name for name in names.values() if name not in self.sources), "")

    def value(self, name: str) -> str:
        """The value of a credential, fetched now.

        Raises:
            ToolError: it cannot be fetched; the message names the reference and never a value.
        """
        source = self.sources.get(name)
        if source is None:
            raise _failed(name, "is not in `credentials` of the configuration")
        value, problem = fetch(source.kind, source.place, self._folder, self._timeout_s)
        value = value.removesuffix("\n").removesuffix("\r")
        if not problem and not value.strip():
            problem = f"{source.kind} gives an empty value"
        if not problem and ("\n" in value or "\r" in value) and source.kind != "file":
            problem = f"{source.kind} gives more than one line, and a credential is one"
        if not problem and "\0" in value:
            problem = f"{source.kind} gives a value that is no text"
        if problem:
            raise _failed(name, problem)
        return value


def _failed(name: str, problem: str) -> ToolError:
    return ToolError(ToolErrorCode.VALIDATION_ERROR, f"{reference(name)} {problem}")
