"""How do stacks and components ask a model, whichever is bound?"""

from sb.inference.llm_model import LLMModel
from sb.inference.service import ModelInference

__all__ = ["LLMModel", "ModelInference"]
