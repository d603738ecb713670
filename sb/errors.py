"""Errors that people see, each with its exit code.

SBError                      1   anything a person can act on
├── UsageError               2   a command was called with something it cannot use
├── ConfigError              2   a configuration file has a wrong key, type or value
├── ContractError            2   a tool's contract is invalid (also a ValueError)
├── NotFoundError            1   no record of that id
├── CheckFailed              1   a check or gate ran and said no
├── DeniedError              4   policy refused, or a person has to decide first
├── EmbedderError            1   the model that makes vectors of texts cannot be used
├── ModelError               1   a language model cannot be used
├── NoActiveStackError       1   an entity was asked to remember something and has nowhere to keep it
├── PluginError              1   a plugin of an entity cannot be used (also a RuntimeError)
├── ProvenanceError          1   a memory does not say where it comes from
├── MaintenanceModeError     1   a stack takes no memories while it is in maintenance
├── VersionConflictError     1   somebody else changed a record since it was read
└── StoreError               3   the database cannot be used
    ├── StoreLocked          3   other writers held it for too long
    ├── StoreReadOnly        3   it cannot be written
    ├── StoreFull            3   the disk is full
    ├── StoreCorrupt         3   it is damaged, or not a database
    └── SchemaMismatch       3   its schema is older, newer or altered
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every `sb` command (docs/reference/cli.md lists them for scripts)."""

    OK = 0
    FAILED = 1
    USAGE = 2
    STORE = 3
    DENIED = 4
    AGENT = 5  # of `sb agent eval`: the agent could not be run
    IN_PART = 6  # of `sb undo`: some paths were restored, and others could not be
    GATE_USAGE = 64  # of `sb harness audit`, where 2 is a P0 blocker
    INTERNAL = 70
    INTERRUPTED = 130


class SBError(Exception):
    """A failure that a person can understand and act on.

    Args:
        message: one line that says what was wrong.
        hint: what to do about it, or "" when the message says it already.
    """

    kind = "error"
    exit_code = ExitCode.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SBError):
    kind = "usage"
    exit_code = ExitCode.USAGE


class ConfigError(SBError):
    kind = "config"
    exit_code = ExitCode.USAGE


class ContractError(SBError, ValueError):
    kind = "contract"
    exit_code = ExitCode.USAGE


class NotFoundError(SBError):
    kind = "not_found"


class CheckFailed(SBError):
    kind = "check_failed"


class DeniedError(SBError):
    kind = "denied"
    exit_code = ExitCode.DENIED


class EmbedderError(SBError):
    kind = "embedder"


class ModelError(SBError):
    kind = "model"


class NoActiveStackError(SBError):
    kind = "no_active_stack"


class PluginError(SBError, RuntimeError):
    kind = "plugin"


class ProvenanceError(SBError):
    kind = "provenance"


class MaintenanceModeError(SBError):
    kind = "maintenance_mode"


class VersionConflictError(SBError):
    """A record was changed by somebody else since it was read.

    Args:
        table: which kind of record. record_id: its public id.
        expected_version, actual_version: the version that the caller read, and the one that is there.
    """

    kind = "version_conflict"

    def __init__(self, table: str, record_id: str, expected_version: int, actual_version: int) -> None:
        super().__init__(
            f"{table} {record_id} is at version {actual_version}, not {expected_version}", "read it again"
        )
        self.table, self.record_id = table, record_id
        self.expected_version, self.actual_version = expected_version, actual_version


class StoreError(SBError):
    kind = "store"
    exit_code = ExitCode.STORE


class StoreLocked(StoreError):
    kind = "store_locked"


class StoreReadOnly(StoreError):
    kind = "store_read_only"


class StoreFull(StoreError):
    kind = "store_full"


class StoreCorrupt(StoreError):
    kind = "store_corrupt"


class SchemaMismatch(StoreError):
    kind = "schema"
