"""An agent that is a recording: what it once answered is graded, and nothing runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sb.config import Config
from sb.evals.answer import Answer, Task
from sb.evals.exchange.recording import Recording
from sb.evals.recorded import answer_to, recorded_answer, recorded_file
from sb.evals.summary import OF_THE_LOG


class RecordedAgent:
    """Gives each case the answer that was recorded for it."""

    has_kernel = False
    own_clock = False

    def __init__(self, name: str, recordings: Sequence[Recording]) -> None:
        self.name = name
        self._recordings = {
            recording.case_id: recording for recording in reversed(recordings) if recording.case_id
        }
        self._all = recordings

    @classmethod
    def of_file(cls, name: str, path: Path, config: Config) -> RecordedAgent:
        """The recordings of a file; raises UsageError if it holds none."""
        return cls(name, recorded_file(path, config=config))

    @classmethod
    def of_run(cls, run_id: str, config: Config) -> RecordedAgent:
        """A run of the log, as the answer to every case; raises NotFoundError, StoreError."""
        return cls(f"{OF_THE_LOG}{run_id}", [Recording(recorded_answer(run_id, config))])

    def run(self, task: Task) -> Answer:
        recording = self._recordings.get(task.case_id)
        return answer_to(task.case_id, self._all) if recording is None else recording.answer

    def stop(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""
