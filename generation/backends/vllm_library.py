"""All that is used of the library vLLM, of its interface as version 0.32 publishes it: one engine in this process.

The engine itself runs in processes of its own, one for each GPU; here is the loop that talks to it, in a thread.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any

from generation.backends.base import LOADING, BackendError, EngineDied, ModelSpec, NoMemory
from generation.backends.requirements import HOW_VLLM

NO_ROOM = ("out of memory", "no available memory", "kv cache is needed", "less than desired gpu memory")
#: The tokens of a text as they are drawn, each with its log-probability under the decoder.
Drawn = Sequence[tuple[int, float]]


class Library:
    """An open engine. Methods that begin a coroutine may be called from any thread."""

    def __init__(self, spec: ModelSpec, arguments: dict[str, Any], *, batch_invariant: bool) -> None:
        self.source = spec.source
        if batch_invariant:  # the library reads it when it is imported
            os.environ["VLLM_BATCH_INVARIANT"] = "1"
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()
        self._engine: Any = None
        try:
            with LOADING:
                self._engine = self.begin(self._open(spec, arguments)).result()
        except BaseException as error:
            self.close()
            if isinstance(error, Exception) and not isinstance(error, BackendError):
                raise start_error(error, spec.source) from error
            raise
        self.config = self._engine.model_config
        self.tokenizer = self._engine.get_tokenizer()

    async def _open(self, spec: ModelSpec, arguments: dict[str, Any]) -> Any:
        try:
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM
        except ImportError as error:
            raise BackendError(f"The library vllm cannot be imported here: {error}. {HOW_VLLM}") from error
        if multiprocessing.current_process().daemon:
            raise BackendError(
                "vLLM needs processes of its own, and this worker may not start any. Start it as: manage.py generate "
                "work, or give Celery's worker --pool solo."
            )
        return AsyncLLM.from_engine_args(
            AsyncEngineArgs(
                model=spec.source,
                revision=spec.revision or None,
                dtype=spec.dtype,
                # Of what is drawn, the log-probabilities under the decoder; of a prompt, they are always the model's.
                logprobs_mode="processed_logprobs",
                # The model's own settings would change decoders.
                generation_config="vllm",
                disable_log_stats=True,
                **arguments,
            )
        )

    def begin(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.shutdown()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=10)

    @property
    def dead(self) -> bool:
        return self._engine is None or bool(self._engine.errored)

    @property
    def device(self) -> str:
        """The kind of device, and how many of them hold the model."""
        from vllm.platforms import current_platform

        parallel = self._engine.vllm_config.parallel_config
        count = parallel.tensor_parallel_size * parallel.pipeline_parallel_size
        return f"{current_platform.device_type} x {count}" if count > 1 else str(current_platform.device_type)

    async def draw(self, prompt: Sequence[int], name: str, **parameters: Any) -> AsyncGenerator[Drawn]:
        """What is drawn after the prompt, as it comes. Whoever stops reading ends the request."""
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        parameters |= {"logprobs": 0, "detokenize": False, "output_kind": RequestOutputKind.DELTA}
        async with aclosing(self._answers(prompt, SamplingParams(**parameters), name)) as answers:
            async for output in answers:
                (completion,) = output.outputs
                yield [
                    (token, at_token[token].logprob)
                    for token, at_token in zip(completion.token_ids, completion.logprobs or (), strict=True)
                ]
                if completion.finish_reason not in (None, "stop", "length"):
                    raise BackendError(f"vLLM gave up a text of {self.source}: {completion.finish_reason}.")

    async def score(self, prompt: Sequence[int], text: Sequence[int], name: str) -> list[float]:
        """The log-probability of each of the text's tokens under the model itself."""
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        parameters = SamplingParams(
            max_tokens=1, prompt_logprobs=0, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY
        )
        log_ps: list[float] = []
        async with aclosing(self._answers([*prompt, *text], parameters, name)) as answers:
            async for output in answers:
                read = output.prompt_logprobs[len(prompt) :]
                log_ps = [at_token[token].logprob for token, at_token in zip(text, read, strict=True)]
        return log_ps

    async def _answers(self, tokens: Sequence[int], parameters: Any, name: str) -> AsyncGenerator[Any]:
        """Raises EngineDied if the engine has ended, and ValueError if it does not take the request."""
        from vllm.exceptions import VLLMClientError
        from vllm.inputs import tokens_input
        from vllm.v1.engine.exceptions import EngineDeadError

        answers = self._engine.generate(tokens_input(list(tokens)), parameters, name)
        try:
            async for output in answers:
                yield output
        except EngineDeadError as error:
            raise EngineDied(
                f"vLLM's engine of {self.source} ended in the middle of its work: out of memory, a lost GPU, or an "
                "error that stands above in this worker's log."
            ) from error
        except VLLMClientError as error:
            raise ValueError(str(error)) from error
        finally:
            await answers.aclose()


def start_error(error: Exception, source: str) -> BackendError:
    """What to do about an engine that did not start."""
    message = str(error).strip()
    first = message.partition("\n")[0][:400]
    if "infer device" in message or "no cuda gpus" in message.lower():
        return BackendError(
            f"vLLM finds no GPU on this machine: {first} Start the worker where there is one (nvidia-smi lists it), or "
            "use the backend llama_cpp or transformers here."
        )
    smaller = "Spread it over more GPUs (option tensor_parallel), choose quantised weights, or set max_model_len lower."
    if any(words in message.lower() for words in NO_ROOM):
        return NoMemory(f"{source} does not fit on this machine's GPUs: {first} {smaller}")
    return BackendError(
        f"vLLM could not open {source}: {type(error).__name__}: {first} The cause stands above in this worker's "
        f"log. If it is memory: {smaller[0].lower()}{smaller[1:]}"
    )
