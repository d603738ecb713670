"""The group of settings on releases of agents."""

from __future__ import annotations

from pathlib import Path

from sb.config import kinds
from sb.config.narrowing import stricter
from sb.config.setting import setting
from sb.frozen import frozen


@frozen
class Release:
    """The parts that make agents' runs what they are (`sb release`)."""

    check: str = setting(
        "off",
        kinds.choice("off", "observe", "enforce"),
        "observe records the release of each run, and what differs from the one that is pinned; enforce also refuses "
        "runs and calls that differ.",
        narrow=stricter("off", "observe", "enforce"),
    )
    prompt: tuple[Path, ...] = setting(
        (),
        kinds.listing(kinds.path()),
        "Files and folders of prompts, which are the prompt of the release. Relative to the configuration file.",
        example="[prompts/refund.md]",
    )
    eval: tuple[Path, ...] = setting(
        (),
        kinds.listing(kinds.path()),
        "Files and folders of evaluations, which are the evaluation of the release; no agent may change them. Relative to "
        "the configuration file.",
        example="[evals]",
    )
    model: str = setting(
        "unstated",
        kinds.text("the name of a model"),
        "The model of the release, where a run does not say it in `metadata`.",
        example="model-name-2026-11",
    )
