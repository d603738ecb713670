"""A model of any provider, through the `llm` package and its plugins."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sb.base.secrets.redaction import one_line
from sb.errors import ModelError
from sb.protocols import ModelCapabilities, ModelChunk, ModelMessage, ModelResponse, ToolDefinition

if TYPE_CHECKING:
    import llm
    from llm.parts import Message, Part

PROVIDER = "llm"  # by which a checkpoint finds this adapter again
_DATA_URL = re.compile(r"data:(image/[a-z.+-]+);base64,([A-Za-z0-9+/=]*)")
_LENGTH_OPTIONS = ("max_tokens", "max_output_tokens", "num_predict")  # as plugins call the same thing


class LLMModel:
    """A `ModelProtocol` over a model that `llm` knows: `llm models` lists them, `llm install` adds providers.

    Args:
        model: its id or alias there, or such a model. key: for its provider; by default the one that `llm` has stored.
        context_window: how many tokens fit in; 0 where nobody has said, since `llm` does not know.

    Raises:
        ModelError: `llm` is not installed, or it knows no such model.
    """

    def __init__(
        self, model: str | llm.models.Model, *, key: str | None = None, context_window: int = 0
    ) -> None:
        self._model: Any = _known(model) if isinstance(model, str) else model
        self._key = key
        self._context_window = context_window

    @property
    def model_id(self) -> str:
        return str(self._model.model_id)

    @property
    def capabilities(self) -> ModelCapabilities:
        return ModelCapabilities(
            self.model_id,
            PROVIDER,
            self._context_window,
            supports_tools=bool(self._model.supports_tools),
            supports_vision=any(kind.startswith("image/") for kind in self._model.attachment_types),
            supports_streaming=bool(self._model.can_stream),
        )

    def generate(
        self,
        messages: list[ModelMessage],
        *,
        tools: list[ToolDefinition] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        system: str | None = None,
    ) -> ModelResponse:
        """The answer to a conversation. What it asks tools for is returned, never run.

        Args:
            messages: a content that is a list has parts as chat completions have them: text, and image_url whose
                address is the image itself.

        Raises:
            ValueError: a message cannot be said to a model, or the model has no such option.
            ModelError: the model cannot be used now.
        """
        response = self._ask(messages, tools, temperature, max_tokens, system, stream=False)
        with self._failures():
            text = response.text()
            calls = [_call(call) for call in response.tool_calls()]
            reason = _stop_reason(response.json())
        return ModelResponse(text, calls, _usage(response), reason, self.model_id)

    def stream(
        self,
        messages: list[ModelMessage],
        *,
        tools: list[ToolDefinition] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        system: str | None = None,
    ) -> Iterator[ModelChunk]:
        """The answer as it comes: text, then what it asks tools for, then a last chunk with the usage; raises like
        `generate`, an unusable model with the first chunk that does not come."""
        response = self._ask(messages, tools, temperature, max_tokens, system, stream=True)
        return self._chunks(response)

    def _chunks(self, response: llm.Response) -> Iterator[ModelChunk]:
        with self._failures():
            for text in response:
                yield ModelChunk(text)
            for call in response.tool_calls():
                yield ModelChunk(tool_call=_call(call))
        yield ModelChunk(is_final=True, usage=_usage(response))

    def _ask(
        self,
        messages: list[ModelMessage],
        tools: list[ToolDefinition] | None,
        temperature: float | None,
        max_tokens: int | None,
        system: str | None,
        *,
        stream: bool,
    ) -> Any:
        import llm

        conversation = [ModelMessage("system", system), *messages] if system is not None else messages
        options = self._options(temperature, max_tokens)
        offered = [llm.Tool(tool.name, tool.description, tool.input_schema) for tool in tools or ()]
        return self._model.prompt(
            messages=[_message(message) for message in conversation],
            tools=offered,
            options=options,
            stream=stream and self._model.can_stream,
            key=self._key,
        )

    def _options(self, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
        has = self._model.Options.model_fields
        options: dict[str, Any] = {}
        for names, value in ((("temperature",), temperature), (_LENGTH_OPTIONS, max_tokens)):
            if value is None:
                continue
            name = next((name for name in names if name in has), None)
            if name is None:
                raise ValueError(f"{self.model_id} has no option {names[0]}")
            options[name] = value
        return options

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # each provider's client has its own
            reason = one_line(f"{type(error).__name__}: {error}", 300)
            raise ModelError(f"{self.model_id} cannot be used: {reason}") from error


def _known(model_id: str) -> Any:
    try:
        import llm
    except ImportError as error:
        raise ModelError("the package llm is not installed", 'pip install "secondbrain-sb[llm]"') from error
    try:
        return llm.get_model(model_id)
    except llm.UnknownModelError as error:
        raise ModelError(f"llm knows no model {model_id}", "llm models lists those it knows") from error


def _message(message: ModelMessage) -> Message:
    from llm.parts import Message, ToolCallPart, ToolResultPart

    text = message.content if isinstance(message.content, str) else None
    if message.role == "tool":
        if text is None:
            raise ValueError("a tool's answer must be a string")
        return Message("tool", [ToolResultPart(message.name or "", text, message.tool_call_id)])
    parts = _parts(message.content)
    parts += [
        ToolCallPart(call["name"], call.get("arguments") or {}, call.get("id"))
        for call in message.tool_calls or ()
    ]
    return Message(message.role, parts)


def _parts(content: str | list[dict[str, Any]]) -> list[Part]:
    from llm import Attachment
    from llm.parts import AttachmentPart, TextPart

    if isinstance(content, str):
        return [TextPart(content)] if content else []
    parts: list[Part] = []
    for part in content:
        match part:
            case {"type": "text", "text": str(text)}:
                parts.append(TextPart(text))
            case {"type": "image_url", "image_url": {"url": str(url)}} if found := _DATA_URL.fullmatch(url):
                # Of an address `llm` would ask the server itself, past the rules for what may leave the machine.
                kind, data = found.groups()
                parts.append(AttachmentPart(Attachment(type=kind, content=base64.b64decode(data))))
            case _:
                raise ValueError("a part of a message must be text, or an image_url of data:image/…;base64,…")
    return parts


def _call(call: llm.ToolCall) -> dict[str, Any]:
    return {"id": call.tool_call_id, "name": call.name, "arguments": call.arguments}


def _usage(response: Any) -> dict[str, int]:
    counted = {"input_tokens": response.input_tokens, "output_tokens": response.output_tokens}
    return {name: count for name, count in counted.items() if count is not None}


def _stop_reason(answer: Mapping[str, Any] | None) -> str | None:
    """The provider's word, where the plugin kept its answer."""
    choices = (answer or {}).get("choices") or [{}]
    for holder in (answer or {}, choices[0]):
        reason = holder.get("finish_reason") or holder.get("stop_reason")
        if reason:
            return str(reason)
    return None
