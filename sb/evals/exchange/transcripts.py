"""Tool calls in the transcripts of coding agents, under the contracts that `sb hook` judges them by."""

from __future__ import annotations

import os
from pathlib import Path

from sb.config import Config
from sb.errors import UsageError
from sb.evals.answer import Answer
from sb.evals.exchange.recording import Recording
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.preview import Preview
from sb.hosts.registry import WITH_TRANSCRIPTS, transcript_reader
from sb.hosts.transcripts import RecordedCall as HostCall
from sb.hosts.transcripts import Transcript
from sb.kernel.trajectory_eval.model import RecordedCall


def host_of(path: Path) -> str:
    """The host that wrote a transcript, told from its calls; "" if no reader finds any."""
    counts = {host: _count(path, host) for host in WITH_TRANSCRIPTS}
    best = max(counts, key=lambda host: counts[host])
    return best if counts[best][0] else ""


def read_transcript(path: Path, host: str, config: Config) -> Recording:
    """The calls of a session; its transcript's reader takes no texts, so question and answer are empty.

    Calls are classed as of now, whatever became of their files.

    Raises:
        UsageError: the file cannot be read.
        NotFoundError: transcripts of this host are not read.
    """
    transcript = Transcript(transcript_reader(host), Path(os.path.realpath(path)))
    preview = Preview(config)
    try:
        calls = [_governed(call, preview, host, transcript.session.id) for call in transcript.calls()]
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    return Recording(Answer(calls=tuple(calls)))


def _governed(call: HostCall, preview: Preview, host: str, session: str) -> RecordedCall:
    folder = call.cwd if os.path.isabs(call.cwd) else ""
    governed = JudgedCall.of(call.call, preview.context(host, folder, session)).governed
    return RecordedCall(
        governed.tool_id,
        governed.args,
        call.ok,
        governed.safety_class,
        call.call.ms or None,
        call.call.use_id,
    )


def _count(path: Path, host: str) -> tuple[int, bool]:
    """The calls that a host's reader finds, and whether it knows the session: some hosts write others' blocks."""
    transcript = Transcript(transcript_reader(host), Path(os.path.realpath(path)))
    try:
        return sum(1 for _ in transcript.calls()), bool(transcript.session.id)
    except OSError:
        return 0, False
