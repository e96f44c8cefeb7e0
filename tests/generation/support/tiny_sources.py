"""Tiny encoder–decoder models with random weights, saved as folders."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.generation.support.tiny_models import _tokenizer, spec

#: Sources: one is much longer than the others.
SOURCES = (
    "Once upon a time",
    "He ran",
    "What had happened to the small dog who lived by the sea? Once again",
    "Nobody",
)
KINDS = ("t5", "bart", "blenderbot", "pegasus")
END = 0


@cache
def tiny_source_model(kind: str = "t5", *, seed: int = 1) -> Path:
    """A folder with a model of that kind and its tokenizer, whose texts end with the token 0."""
    torch = pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
    import transformers

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    size: dict[str, Any] = {"vocab_size": len(tokenizer), "eos_token_id": END, "pad_token_id": 1, "d_model": 32}
    model: Any
    if kind == "t5":
        t5: Any = transformers.T5Config
        config = t5(
            d_kv=16, d_ff=64, num_layers=3, num_decoder_layers=3, num_heads=4, n_positions=64,
            decoder_start_token_id=1, initializer_factor=1.5, **size,
        )  # fmt: skip
        model = transformers.T5ForConditionalGeneration(config)
    else:
        names = {"bart": "Bart", "blenderbot": "Blenderbot", "pegasus": "Pegasus"}
        layers = {"encoder_layers": 1, "decoder_layers": 3, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        config = getattr(transformers, f"{names[kind]}Config")(
            encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64, bos_token_id=2, init_std=0.3,
            decoder_start_token_id=2, forced_eos_token_id=None, **layers, **size,
        )  # fmt: skip
        model = getattr(transformers, f"{names[kind]}ForConditionalGeneration")(config)
    with torch.no_grad():
        if kind != "t5":
            model.get_output_embeddings().weight.mul_(3.0)
    folder = Path(mkdtemp(prefix="tiny-"))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@cache
def opened_source_model(kind: str = "t5") -> Any:
    from generation.backends import open_backend

    return open_backend(spec(tiny_source_model(kind)))


@cache
def reference_source_model(kind: str = "t5") -> Any:
    """The tiny model as transformers loads it, in float32."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    loaded: Any = AutoModelForSeq2SeqLM.from_pretrained(tiny_source_model(kind), dtype=torch.float32)
    return loaded.eval()
