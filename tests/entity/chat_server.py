"""A server on this machine that speaks the chat-completions protocol, as providers do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


class ChatServer:
    """Answers what `answer` says; what it was asked is in `asked`.

    Args:
        answer: a text, or the calls of tools as name and arguments. arguments: of these calls, as
            text that need not be JSON. status: another than 200 refuses.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answer: str | list[tuple[str, dict[str, Any]]] = "Blue-green."
        self.arguments: str | None = None
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(request)
                outer.keys.append(self.headers["Authorization"])
                streamed = request.get("stream", False) and outer.status == 200
                body = outer.events() if streamed else outer.document()
                self.send_response(outer.status)
                self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def message(self) -> dict[str, Any]:
        if isinstance(self.answer, str):
            return {"role": "assistant", "content": self.answer}
        calls = [
            {
                "id": f"call-{number}",
                "type": "function",
                "function": {"name": name, "arguments": self.arguments or json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(self.answer)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def document(self) -> bytes:
        if self.status != 200:
            return json.dumps({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}).encode()
        reason = "stop" if isinstance(self.answer, str) else "tool_calls"
        choice = {"index": 0, "message": self.message(), "finish_reason": reason}
        head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "local"}
        return json.dumps({**head, "choices": [choice], "usage": USAGE}).encode()

    def events(self) -> bytes:
        message = self.message()
        if isinstance(self.answer, str):
            deltas: list[Any] = [{"content": word} for word in self.answer.split(" ")]
        else:
            deltas = [{"tool_calls": [{**call, "index": n}]} for n, call in enumerate(message["tool_calls"])]
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "local"}
        events: list[Any] = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events.append({**head, "choices": [], "usage": USAGE})
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        return "".join([*lines, "data: [DONE]\n\n"]).encode()


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    served = ChatServer()
    thread = threading.Thread(target=served.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.server.shutdown()
        served.server.server_close()
        thread.join()
