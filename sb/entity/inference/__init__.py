"""Inference for stacks and components, over any bound model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.entity.inference.llm_model import LLMModel as LLMModel
    from sb.entity.inference.service import ModelInference as ModelInference
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {"sb.entity.inference.llm_model": "LLMModel", "sb.entity.inference.service": "ModelInference"},
    )
