"""Inference for stacks and components, over any bound model."""

from sb.inference.llm_model import LLMModel
from sb.inference.service import ModelInference

__all__ = ["LLMModel", "ModelInference"]
