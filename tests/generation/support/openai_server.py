"""A small HTTP server with the OpenAI API that answers well, slowly or wrongly, as the test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from generation.backends import open_backend
from generation.backends.base import ModelSpec

Answering = Callable[["Server", dict[str, Any]], tuple[int, str]]
PIECES = (" It", " rained.", " Then", " it", " stopped.")


def completion(server: Server, body: dict[str, Any]) -> tuple[int, str]:
    return answer(body, PIECES[: body["max_tokens"]])


def answer(
    body: dict[str, Any], chosen: Sequence[str], *, finish: str = "length", text: str | None = None, n_tokens: int = 0
) -> tuple[int, str]:
    """What a server sends; ``chosen`` are the tokens it gives log-probabilities of: -0.5, -1, …"""
    logprobs = {"tokens": chosen, "token_logprobs": [-0.5 * (number + 1) for number in range(len(chosen))]}
    complete = "".join(chosen) if text is None else text
    choice = {"index": 0, "text": complete, "finish_reason": finish, "logprobs": logprobs}
    count = n_tokens or len(chosen)
    usage = {"prompt_tokens": len(body["prompt"].split()), "completion_tokens": count, "total_tokens": 0}
    return 200, json.dumps(
        {"id": "1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


class Server:
    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answering: Answering = completion
        self.owner, self.active, self.most_active = "somebody", 0, 0
        self.api: dict[str, Any] = {}
        self.location = ""
        self.headers: dict[str, str] = {}
        self.facts: dict[str, Any] = {}
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                if self.path == "/openapi.json":
                    self.answer(200 if outer.api else 404, json.dumps(outer.api))
                    return
                model = {"id": "m", "object": "model", "created": 1, "owned_by": outer.owner} | outer.facts
                self.answer(200, json.dumps({"object": "list", "data": [model]}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.keys.append(self.headers.get("Authorization", ""))
                with outer.lock:
                    outer.asked.append(body)
                    outer.active += 1
                    outer.most_active = max(outer.most_active, outer.active)
                try:
                    answer = outer.answering(outer, body)
                finally:  # before the client can know, and ask again
                    with outer.lock:
                        outer.active -= 1
                self.answer(*answer)

            def answer(self, status: int, text: str) -> None:
                encoded = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if text.startswith("<") else "application/json")
                self.send_header("Content-Length", str(len(encoded)))
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                if outer.location:
                    self.send_header("Location", outer.location)
                self.end_headers()
                with suppress(BrokenPipeError):  # whoever asked has given up
                    self.wfile.write(encoded)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def opened(server: Server, *, model: str = "m", key_variable: str = "", **options: Any) -> Any:
    settings = {"retries": 1, "timeout": 5} | options
    return open_backend(
        ModelSpec("openai", model, base_url=server.url, key_variable=key_variable, options=tuple(settings.items()))
    )
