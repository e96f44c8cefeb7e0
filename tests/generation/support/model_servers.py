"""Real model servers that speak the OpenAI API, as processes on a loopback port."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.generation.support.tiny_models import tiny
from tests.services import free_port, wait_for

# Line breaks around what is said: words next to it would make other tokens of its first and last word.
CHAT = "{% for message in messages %}{{ message['role'] }}:\n{{ message['content'] }}\n{% endfor %}assistant:"
LLAMA = """
import sys, time, xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path, asked.model_alias, asked.n_ctx, asked.n_parallel = sys.argv[1], {"smollm2"}, 1024, 4
asked.hostnames, asked.port, asked.cpuparams.n_threads = ["127.0.0.1"], int(sys.argv[2]), 1
server = xllamacpp.Server(asked)
while True:
    time.sleep(60)
"""
SERVE = "import sys; from transformers.cli.transformers import main; sys.exit(main())"


class ModelServer:
    """One server's process; ``command`` is of its port. It can be stopped, started again on that port, and paused."""

    def __init__(self, command: Callable[[int], Sequence[str]], *, model: str, folder: Path, ready: str) -> None:
        self.model, self._ready = model, ready
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._command, self._log = command, folder / "server.log"
        self._home = folder / "home"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # An empty hub: nothing is fetched, and nothing that lies on this machine is listed.
        environment = os.environ | {"HF_HOME": str(self._home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command(self.port), stdout=log, stderr=log, env=environment)
        wait_for(self._is_ready, "the model server")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=20)
            self._process = None

    def hold_up(self) -> None:
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        self._send(signal.SIGCONT)

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def _send(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def _is_ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"The model server ended by itself:\n{self.said()[-3000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self._ready}", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def with_chat(folder: Path, to: Path) -> Path:
    """A copy of a model's folder with a chat template."""
    shutil.copytree(folder, to)
    (to / "chat_template.jinja").write_text(CHAT)
    return to


def transformers_serve(folder: Path, *, kind: str = "llama") -> ModelServer:
    """``transformers serve`` with a tiny model in float32."""
    lacking = [name for name in ("torch", "transformers", "openai", "fastapi", "uvicorn") if find_spec(name) is None]
    if lacking:
        pytest.skip(f"transformers serve needs {', '.join(lacking)} (script/setup --dev)")
    model = str(with_chat(tiny(kind), folder / "model"))
    command = [sys.executable, "-c", SERVE, "serve", model, "--host", "127.0.0.1", "--device", "cpu"]
    return ModelServer(
        lambda port: [*command, "--dtype", "float32", "--port", str(port)], model=model, folder=folder, ready="/health"
    )


def llama_cpp(folder: Path, source: str) -> ModelServer:
    """llama.cpp's server in C++ with a GGUF file, as xllamacpp packs it; four texts at once, 256 tokens each."""
    if find_spec("xllamacpp") is None:
        pytest.skip("llama.cpp's server needs xllamacpp (script/setup --dev)")
    return ModelServer(
        lambda port: [sys.executable, "-c", LLAMA, source, str(port)], model="smollm2", folder=folder, ready="/health"
    )


def llama_cpp_python(folder: Path, source: str) -> ModelServer:
    """llama-cpp-python's own server with a GGUF file."""
    for name in ("llama_cpp", "sse_starlette", "starlette_context", "uvicorn"):
        if find_spec(name) is None:
            pytest.skip(f"llama-cpp-python's server needs {name} (pip install 'llama-cpp-python[server]')")
    command = [sys.executable, "-m", "llama_cpp.server", "--model", source, "--model_alias", "smollm2"]
    return ModelServer(
        lambda port: [*command, "--n_ctx", "256", "--n_threads", "1", "--host", "127.0.0.1", "--port", str(port)],
        model="smollm2",
        folder=folder,
        ready="/v1/models",
    )
