"""A model that answers over HTTP, from this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.entity.chat_server import ChatServer, chat_server


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A server that `llm` knows as the models `local` and, with tools and pictures, `able`."""
    with chat_server() as served:
        local = {"model_id": "local", "model_name": "local", "api_base": served.url}
        able = {**local, "model_id": "able", "supports_tools": True, "vision": True, "api_key_name": "house"}
        (tmp_path / "extra-openai-models.yaml").write_text(yaml.safe_dump([local, able]), "utf-8")
        monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
        yield served
