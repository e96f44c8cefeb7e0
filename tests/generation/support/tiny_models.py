"""Tiny models with random weights, saved as folders: what a backend loads in a test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from generation.backends.base import BackendError, Generated, ModelSpec, Outcome, Request
from generation.decoding.decoders import Limits, parse_decoder

SENTENCES = (
    "Once upon a time there was a small dog who lived by the sea. He liked to run. Every day he ran to the water and "
    'back again, and the people said: "There he goes!" One morning the sea was gone. What had happened? Nobody knew.'
)
PROMPTS = (
    "Once upon a time",
    "The people said that every day one morning there was nobody who liked the water, and so",
    "He ran",
    "What had happened to the small dog who lived by the sea? Once again",
)


@cache
def tiny(kind: str = "llama", *, seed: int = 1, context: int = 128, **changes: Any) -> Path:
    """A folder with a model of that kind and its tokenizer. Weights are large enough that the distributions are far
    from uniform, so that a mistake in a decoder shows."""
    torch = pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        MistralConfig,
        MistralForCausalLM,
    )

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    size: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "bos_token_id": None,
        "eos_token_id": 0,
        "initializer_range": 0.15,
    }
    model: Any
    if kind == "gpt2":
        model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=context, **size, **changes))
    else:
        shape: dict[str, Any] = {
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": context,
        }
        kinds = {"llama": (LlamaConfig, LlamaForCausalLM), "mistral": (MistralConfig, MistralForCausalLM)}
        configured, built = kinds[kind]
        model = built(configured(**shape, **size, **changes))
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(3.0)
    folder = Path(mkdtemp(prefix="tiny-"))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@cache
def tiny_encoder(*, labels: tuple[str, ...] = (), parts: tuple[str, ...] = (), pooling: str = "") -> Path:
    """A folder with a BERT with random weights: a sequence classifier if there are labels, else an encoder, with the
    files of sentence-transformers if there is a pooling."""
    torch = pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
    from transformers import BertConfig, BertForSequenceClassification, BertModel

    tokenizer = _tokenizer()
    tokenizer.pad_token = "<|endoftext|>"
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        initializer_range=0.5,
        id2label=dict(enumerate(labels or ("a", "b"))),
        label2id={label: number for number, label in enumerate(labels or ("a", "b"))},
    )
    built: Any = BertForSequenceClassification if labels else BertModel
    folder = Path(mkdtemp(prefix="tiny-"))
    built(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if pooling:
        kinds = [{"type": f"sentence_transformers.models.{part}"} for part in ("Transformer", "Pooling", *parts)]
        (folder / "modules.json").write_text(json.dumps(kinds))
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{pooling}": True}))
    return folder


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    fast: Any = PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
    bpe.train_from_iterator([SENTENCES] * 3, trainer)
    return fast(tokenizer_object=bpe, eos_token="<|endoftext|>")


def spec(folder: Path | str, **changes: Any) -> ModelSpec:
    options = {"threads": 1} | changes.pop("options", {})
    settings = {"dtype": "float32", "device": "cpu"} | changes
    return ModelSpec("transformers", str(folder), options=tuple(sorted(options.items())), **settings)


@cache
def opened(kind: str = "llama", **changes: Any) -> Any:
    """The tiny model's backend in float32, opened once for all tests of a process."""
    from generation.backends import open_backend

    return open_backend(spec(tiny(kind, **changes)))


def embedded() -> str:
    from generation.backends import embedded_source

    try:
        return embedded_source()
    except BackendError as why:
        pytest.skip(str(why))


@cache
def smollm2() -> Any:
    """The embedded model through transformers; it takes seconds to load, so few tests use it.

    One thread: with more, each layer would wait for the slowest of them while other tests run.
    """
    from generation.backends import open_backend

    return open_backend(spec(embedded(), dtype="auto"))


def reference_model(kind: str = "llama") -> Any:
    """The tiny model as transformers loads it, in float32."""
    import torch
    from transformers import AutoModelForCausalLM

    loaded: Any = AutoModelForCausalLM.from_pretrained(tiny(kind), dtype=torch.float32)
    return loaded.eval()


def texts_of(outcomes: Sequence[Outcome]) -> list[Generated]:
    """The outcomes, all of which are texts."""
    texts = [outcome for outcome in outcomes if isinstance(outcome, Generated)]
    assert len(texts) == len(outcomes), outcomes
    return texts


def request(
    prompt: str = PROMPTS[0],
    decoder: str = "ancestral",
    *,
    key: Any = None,
    seed: int = 1,
    cut_left: bool = True,
    keep: int = 0,
    **limits: Any,
) -> Request:
    return Request(
        key=key,
        prompt=prompt,
        decoder=parse_decoder(decoder),
        limits=Limits(**({"max_new_tokens": 12} | limits)),
        seed=seed,
        cut_left=cut_left,
        keep=keep,
    )


def mixed(prompts: Sequence[str] = PROMPTS, *, samples: int = 2, **limits: Any) -> list[Request]:
    """Every prompt with every kind of decoder."""
    decoders = (
        "greedy",
        "ancestral",
        "temperature=0.7",
        "top_k=5",
        "top_p=0.8",
        "typical=0.7",
        "temperature=1.3,top_k=20",
    )
    return [
        request(prompt, decoder, key=(number, decoder, sample), seed=1000 * number + sample, **limits)
        for number, prompt in enumerate(prompts)
        for decoder in decoders
        for sample in range(samples)
    ]
