"""The default components of a stack, in the order in which they run."""

from __future__ import annotations

from sb.stack.components.anxiety import AnxietyComponent
from sb.stack.components.component import Component
from sb.stack.components.consolidation import ConsolidationComponent
from sb.stack.components.embedding import EmbeddingComponent
from sb.stack.components.emotions import EmotionalTaggingComponent
from sb.stack.components.forgetting import ForgettingComponent
from sb.stack.components.knowledge import KnowledgeComponent
from sb.stack.components.metamemory import MetaMemoryComponent
from sb.stack.components.suggestions import SuggestionComponent

DEFAULT_COMPONENTS: tuple[type[Component], ...] = (
    EmbeddingComponent,
    ForgettingComponent,
    ConsolidationComponent,
    EmotionalTaggingComponent,
    AnxietyComponent,
    SuggestionComponent,
    MetaMemoryComponent,
    KnowledgeComponent,
)
