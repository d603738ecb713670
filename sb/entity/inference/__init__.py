"""Inference for stacks and components, over any bound model."""

from sb.entity.inference.llm_model import LLMModel
from sb.entity.inference.service import ModelInference

__all__ = ["LLMModel", "ModelInference"]
