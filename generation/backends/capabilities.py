"""Which decoders a backend cannot use, as far as that is known without opening a model. Nothing is imported to find
out."""

from __future__ import annotations

from generation.backends.openai_servers import SERVERS
from generation.decoding.decoders import Decoder

NO_BEAM = "llama.cpp has no beam search; use the backend transformers for it, or greedy."
VLLM = "greedy, ancestral, temperature, top_k, top_p, min_p and repetition_penalty"


def decoder_refusal(backend: str, decoder: Decoder, *, server: str = "") -> str:
    """Why models of this backend cannot use the decoder; empty if they can, or if only an open model knows. ``server``:
    the kind of server that a model of the backend openai was last found on."""
    if backend == "llama_cpp":
        return NO_BEAM if decoder.beams > 1 else ""
    if backend == "vllm":
        lacking = [name for name in ("typical",) if getattr(decoder, name) is not None]
        lacking += ["beam"] if decoder.beams > 1 else []
        if not lacking:
            return ""
        return f"The backend vllm has no {' or '.join(lacking)}. It has {VLLM}; use the backend transformers."
    if backend == "openai" and server in SERVERS:
        return SERVERS[server].refusal(decoder)
    return ""
