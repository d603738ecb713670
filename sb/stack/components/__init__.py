"""The eight default components of a stack, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.stack.components.anxiety import AnxietyComponent as AnxietyComponent
    from sb.stack.components.component import Component as Component
    from sb.stack.components.consolidation import ConsolidationComponent as ConsolidationComponent
    from sb.stack.components.default import DEFAULT_COMPONENTS as DEFAULT_COMPONENTS
    from sb.stack.components.embedding import EmbeddingComponent as EmbeddingComponent
    from sb.stack.components.emotions import EmotionalTaggingComponent as EmotionalTaggingComponent
    from sb.stack.components.forgetting import ForgettingComponent as ForgettingComponent
    from sb.stack.components.knowledge import KnowledgeComponent as KnowledgeComponent
    from sb.stack.components.metamemory import MetaMemoryComponent as MetaMemoryComponent
    from sb.stack.components.suggestions import SuggestionComponent as SuggestionComponent
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.stack.components.default": "DEFAULT_COMPONENTS",
            "sb.stack.components.anxiety": "AnxietyComponent",
            "sb.stack.components.component": "Component",
            "sb.stack.components.consolidation": "ConsolidationComponent",
            "sb.stack.components.embedding": "EmbeddingComponent",
            "sb.stack.components.emotions": "EmotionalTaggingComponent",
            "sb.stack.components.forgetting": "ForgettingComponent",
            "sb.stack.components.knowledge": "KnowledgeComponent",
            "sb.stack.components.metamemory": "MetaMemoryComponent",
            "sb.stack.components.suggestions": "SuggestionComponent",
        },
    )
