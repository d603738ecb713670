"""The runs of evals that a home has saved."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sb.base.files import write_atomic
from sb.base.secrets.redaction import one_line, redact_text
from sb.base.values.references import full_one
from sb.errors import NotFoundError, StoreError, UsageError
from sb.evals.summary import RunSummary, baseline_text, read_report, read_summary

KEPT = 200  # runs; the oldest go first
_NAME = re.compile(r"\d{8}T\d{12}-[A-Za-z0-9_-]{1,64}\.jsonl")


class EvalShelf:
    """Saved runs, a file each: its summary on the first line, its report on the second.

    Args:
        folder: `Home.evals`; made when the first run is saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, run: RunSummary, report: Mapping[str, Any]) -> Path:
        """Keep a run, and remove the oldest ones beyond `KEPT`.

        Raises:
            StoreError: the file cannot be written.
        """
        at = datetime.fromtimestamp(run.at, UTC).strftime("%Y%m%dT%H%M%S%f")
        path = self.folder / f"{at}-{run.id}.jsonl"
        head = json.dumps(json.loads(baseline_text(run)))
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            write_atomic(path, f"{head}\n{json.dumps(report)}\n".encode())
            for old in self._files()[KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{path}: the run is not saved: {error.strerror or error}") from error
        return path

    def summaries(self) -> list[RunSummary]:
        """The saved runs, newest first. A file that is cut or damaged is left out."""
        runs = []
        for path in self._files():
            try:
                with path.open("rb") as file:
                    runs.append(read_summary(file.readline(), path.name))
            except (OSError, UsageError):  # a run that cannot be read says nothing of the others
                continue
        return runs

    def last(self, suites: Collection[str], agent: str) -> RunSummary:
        """The newest whole run of these suites by an agent.

        Args:
            agent: as it was named; what runs hold of it is masked.

        Raises:
            NotFoundError: there is none.
        """
        masked = redact_text(agent)
        for run in self.summaries():
            if not run.interrupted and run.agent == masked and run.suites.keys() == set(suites):
                return run
        raise NotFoundError(
            "no earlier run of these suites by this agent is saved", "run them once without --baseline"
        )

    def report(self, run_id: str) -> dict[str, Any]:
        """A saved run in full, by the beginning of its id.

        Raises:
            NotFoundError: there is none. UsageError: several begin so, or the file is damaged.
        """
        paths = {path.stem.partition("-")[2]: path for path in self._files()}
        if (path := paths.get(full_one(run_id, paths))) is None:
            raise NotFoundError(
                f"no saved run of evals {one_line(run_id, 80)}", "the console lists them under Evals"
            )
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from error
        return read_report(lines[1] if len(lines) > 1 else b"", path.name)

    def _files(self) -> list[Path]:
        """The newest first."""
        try:
            names = [entry for entry in self.folder.iterdir() if _NAME.fullmatch(entry.name)]
        except FileNotFoundError:
            return []
        return sorted(names, reverse=True)
