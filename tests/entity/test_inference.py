"""Models: asked through `llm` over HTTP, and what stacks and components see of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from sb.config.memory import Memory
from sb.entity.inference import LLMModel, ModelInference
from sb.errors import EmbedderError, ModelError
from sb.protocols import InferenceService, ModelMessage, ModelProtocol, ToolDefinition
from tests.entity.chat_server import ChatServer

ASK = [ModelMessage("user", "How do we deploy?")]
WEATHER = ToolDefinition("weather", "what it is like", {"type": "object", "properties": {"town": {}}})


def test_a_model_of_llm_answers_and_says_what_it_cost(chat: ChatServer) -> None:
    model = LLMModel("local")
    answer = model.generate(ASK, temperature=0.5, max_tokens=50, system="Be brief.")
    assert (answer.content, answer.model_id, answer.stop_reason) == ("Blue-green.", "local", "stop")
    assert answer.usage == {"input_tokens": 11, "output_tokens": 7}
    assert answer.tool_calls == []
    (request,) = chat.asked
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How do we deploy?"},
    ]
    assert (request["temperature"], request["max_tokens"]) == (0.5, 50)


def test_an_answer_comes_in_parts_and_the_last_one_says_so(chat: ChatServer) -> None:
    chat.answer = "one two three"
    *parts, last = LLMModel("local").stream(ASK)
    assert [part.content for part in parts] == ["one", "two", "three"]
    assert not any(part.is_final for part in parts)
    assert (last.is_final, last.content, last.usage) == (True, "", {"input_tokens": 11, "output_tokens": 7})


def test_what_a_model_asks_tools_for_is_handed_back_and_never_run(chat: ChatServer) -> None:
    chat.answer = [("weather", {"town": "Ulm"})]
    wanted = {"id": "call-0", "name": "weather", "arguments": {"town": "Ulm"}}
    model = LLMModel("able", key="k1")
    tool = ToolDefinition("weather", "what it is like", WEATHER.input_schema, lambda **_: 1 / 0)
    answer = model.generate(ASK, tools=[tool])
    assert (answer.content, answer.tool_calls, answer.stop_reason) == ("", [wanted], "tool_calls")
    assert [part.tool_call for part in model.stream(ASK, tools=[WEATHER]) if part.tool_call] == [wanted]
    offered = chat.asked[0]["tools"][0]["function"]
    assert offered == {
        "name": "weather",
        "description": "what it is like",
        "parameters": WEATHER.input_schema,
    }
    assert chat.keys == ["Bearer k1", "Bearer k1"]


def test_a_conversation_with_tools_and_pictures_reaches_the_model_as_it_was_held(chat: ChatServer) -> None:
    call = {"id": "call-0", "name": "weather", "arguments": {"town": "Ulm"}}
    picture: dict[str, Any] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    question: dict[str, Any] = {"type": "text", "text": "Is it wet in Ulm?"}
    messages = [
        ModelMessage("user", [question, picture]),
        ModelMessage("assistant", "", tool_calls=[call]),
        ModelMessage("tool", "drizzle", name="weather", tool_call_id="call-0"),
    ]
    LLMModel("able", key="k1").generate(messages)
    user, assistant, tool = chat.asked[0]["messages"]
    assert user["content"] == [question, picture]
    assert assistant["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"town": "Ulm"}'}
    assert (tool["tool_call_id"], tool["content"]) == ("call-0", "drizzle")


def test_what_cannot_be_said_to_a_model_is_refused_before_it_is_asked(chat: ChatServer) -> None:
    question: dict[str, Any] = {"type": "text", "text": "Is it wet in Ulm?"}
    elsewhere = {"type": "image_url", "image_url": {"url": f"{chat.url}/picture.png"}}  # who asks for it?
    for part in ({"type": "sound"}, {"type": "text"}, question | {"text": 5}, elsewhere):
        with pytest.raises(ValueError, match="a part of a message must be text, or an image_url of data:"):
            LLMModel("able", key="k1").generate([ModelMessage("user", [question, part])])
    with pytest.raises(ValueError, match="answer must be a string"):
        LLMModel("able", key="k1").generate([ModelMessage("tool", [question])])
    assert chat.asked == []


def test_what_a_model_can_do_is_what_llm_knows_of_it(chat: ChatServer) -> None:
    local, able = LLMModel("local").capabilities, LLMModel("able", context_window=8000).capabilities
    assert (local.model_id, local.provider, local.context_window) == ("local", "llm", 0)
    assert (local.supports_tools, local.supports_vision, local.supports_streaming) == (False, False, True)
    assert (able.context_window, able.supports_tools, able.supports_vision) == (8000, True, True)
    assert isinstance(LLMModel("local"), ModelProtocol)


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_a_provider_that_refuses_is_one_line_for_a_person(chat: ChatServer, how: str) -> None:
    chat.status = 429
    model: Any = LLMModel("local")
    model._model.get_client = lambda key: _impatient(chat.url)
    with pytest.raises(ModelError, match=r"local cannot be used: RateLimitError: .*slow down") as caught:
        list(getattr(model, how)(ASK))
    assert "\n" not in str(caught.value)


def test_a_provider_that_answers_nonsense_is_one_line_too(chat: ChatServer) -> None:
    chat.answer = [("weather", {})]
    chat.arguments = '{"town": "U'
    with pytest.raises(ModelError, match="able cannot be used: JSONDecodeError"):
        LLMModel("able", key="k1").generate(ASK, tools=[WEATHER])
    with pytest.raises(ValueError, match="less than or equal to 2"):
        LLMModel("able", key="k1").generate(ASK, temperature=9)


def _impatient(url: str) -> Any:
    """The client as it is, but for the seconds that it waits before it tries again."""
    import openai

    return openai.OpenAI(base_url=url, api_key="k", max_retries=0)


def test_a_model_without_an_option_says_so_instead_of_ignoring_it(chat: ChatServer) -> None:
    import llm

    class Parrot(llm.Model):
        model_id = "parrot"

        def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
            yield f"{prompt.messages[-1].parts[0].text}!"

    model = LLMModel(Parrot())
    answer = model.generate([ModelMessage("user", "hello")])
    assert (answer.content, answer.usage, answer.stop_reason) == ("hello!", {}, None)
    with pytest.raises(ValueError, match="parrot has no option temperature"):
        model.generate(ASK, temperature=0.1)
    with pytest.raises(ValueError, match="parrot has no option max_tokens"):
        model.stream(ASK, max_tokens=5)


def test_a_model_that_is_not_there_is_named(chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="llm knows no model no-such"):
        LLMModel("no-such")
    monkeypatch.setitem(sys.modules, "llm", None)
    with pytest.raises(ModelError, match="the package llm is not installed") as caught:
        LLMModel("local")
    assert caught.value.hint == 'pip install "secondbrain-sb[llm]"'


def test_a_stack_asks_the_model_for_words_and_this_installation_for_vectors(chat: ChatServer) -> None:
    inference = ModelInference(LLMModel("local"))
    assert isinstance(inference, InferenceService)
    assert inference.infer("How do we deploy?", system="Be brief.") == "Blue-green."
    assert [message["content"] for message in chat.asked[0]["messages"]] == ["Be brief.", "How do we deploy?"]
    assert (inference.embedding_dimension, inference.embedding_provider_id[:13]) == (256, "wordllama-256")
    rain, wet, tax = inference.embed_batch(["It is raining.", "Rain falls.", "The tax office."])
    assert np.dot(rain, wet) > np.dot(rain, tax) + 0.2
    assert inference.embed("It is raining.") == rain
    assert np.linalg.norm(rain) == pytest.approx(1)
    assert inference.embed_batch([]) == []
    assert len(chat.asked) == 1


def test_without_an_embedder_there_are_words_and_no_vectors(chat: ChatServer) -> None:
    inference = ModelInference(LLMModel("local"), Memory(embedder="none"))
    assert inference.infer("How do we deploy?") == "Blue-green."
    with pytest.raises(EmbedderError, match=r"no vectors: memory\.embedder is none"):
        inference.embed("It is raining.")
