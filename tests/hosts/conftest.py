"""Folders on disk: a hook's verdicts differ in /dev, where folders in memory are."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def scratch(on_disk: Path) -> Path:
    return on_disk
