"""Opening models: how they describe themselves, and plain messages for everything that can be wrong with them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from generation.backends import open_backend
from generation.backends.base import BackendError, Generated, ModelSpec, NoMemory, NotGenerated
from tests.generation.support.tiny_models import PROMPTS, embedded, opened, request, smollm2, spec, texts_of, tiny


def has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


needs_torch = pytest.mark.skipif(not has_torch(), reason="torch is not installed (script/setup --models)")


def why_not(model_spec: ModelSpec) -> str:
    with pytest.raises(BackendError) as caught:
        open_backend(model_spec)
    return str(caught.value)


def test_naming_backends_imports_no_model_library() -> None:
    """A web process may import this much."""
    code = (
        "import generation.backends, generation.decoding.sentences, generation.backends.base, sys;"
        "print([name for name in ('torch', 'transformers', 'llama_cpp', 'openai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_backend_and_an_empty_source() -> None:
    assert "known: transformers, llama_cpp, vllm, openai" in why_not(ModelSpec("tgi", "x"))
    assert "no source" in why_not(ModelSpec("transformers", " "))


@needs_torch
class TestTransformers:
    def test_facts(self) -> None:
        facts = opened().facts()
        model = opened().model
        assert facts.parameters == sum(parameter.numel() for parameter in model.parameters())
        assert (facts.context_length, facts.dtype, facts.device) == (128, "float32", "cpu")
        assert facts.gives_log_p and facts.gives_log_q
        assert facts.memory_bytes >= 4 * facts.parameters

    def test_no_such_file_or_folder(self) -> None:
        assert "no file or folder" in why_not(spec("/nowhere/model"))
        assert "no file or folder" in why_not(spec("models/of/mine"))
        assert "no file or folder" in why_not(spec("model.gguf"))

    def test_a_hub_name_without_a_hub_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import huggingface_hub.constants

        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        why = why_not(spec("somebody/no-such-model"))
        assert "the hub cannot be reached" in why and "check the spelling" in why

    def test_a_folder_without_a_model(self, tmp_path: Path) -> None:
        assert "no config.json" in why_not(spec(tmp_path))

    def test_a_file_without_a_model_is_refused(self, tmp_path: Path) -> None:
        text = tmp_path / "notes.txt"
        text.write_text("hello")
        assert "not a .gguf file" in why_not(spec(text))
        wrong = tmp_path / "wrong.gguf"
        wrong.write_text("hello")
        assert "does not begin as one" in why_not(spec(wrong))

    def test_weights_that_are_cut_short(self, tmp_path: Path) -> None:
        folder = shutil.copytree(tiny(), tmp_path / "cut")
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
        assert "cut short or damaged" in why_not(spec(folder))

    def test_weights_that_are_missing(self, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        folder = shutil.copytree(tiny(), tmp_path / "missing")
        tensors = load_file(folder / "model.safetensors")
        del tensors["model.layers.1.mlp.up_proj.weight"]
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        assert "lacks 1 of the model's weights, model.layers.1.mlp.up_proj.weight" in why_not(spec(folder))

    def test_a_gguf_file_that_is_cut_short(self, tmp_path: Path) -> None:
        cut = tmp_path / "cut.gguf"
        with Path(embedded()).open("rb") as file:
            cut.write_bytes(file.read(100_000))
        assert "cut short or damaged" in why_not(spec(cut))

    def test_a_missing_tokenizer(self, tmp_path: Path) -> None:
        folder = shutil.copytree(tiny(), tmp_path / "mute")
        for file in folder.glob("token*"):
            file.unlink()
        assert "tokenizer" in why_not(spec(folder))

    @pytest.mark.parametrize("kind", ["bert", "whisper", "vit"])
    def test_a_model_that_does_not_continue_text(self, kind: str, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind, "architectures": ["Some"]}))
        assert f"is a {kind} model, which neither continues a prompt token by token" in why_not(spec(tmp_path))

    def test_a_broken_config(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{")
        assert "cannot be read" in why_not(spec(tmp_path))

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"device": "tpu9"}, "device is 'tpu9'"),
            ({"dtype": "int4"}, "dtype is 'int4'; use auto, int8"),
            ({"dtype": "float16"}, "float16 is for CUDA"),
            ({"options": {"bacth": 3}}, "no option 'bacth'; use batch"),
            ({"options": {"batch": 0}}, "batch is 0; use a whole number above 0"),
            ({"chat": True}, "no chat template"),
        ],
    )
    def test_wrong_settings(self, changes: dict[str, Any], why: str) -> None:
        assert why in why_not(spec(tiny(), **changes))

    def test_cuda_on_a_machine_without_it_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch

        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert "no CUDA device that torch can use" in why_not(spec(tiny(), device="cuda:1"))

    def test_a_model_larger_than_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from generation.backends import loading

        monkeypatch.setattr(loading, "available_bytes", lambda device: 1000)
        with pytest.raises(NoMemory, match="are free"):
            open_backend(spec(tiny()))

    def test_a_closed_backend_says_so(self) -> None:
        backend = open_backend(spec(tiny()))
        backend.close()
        with pytest.raises(BackendError, match="was closed"):
            backend.generate([request()])

    def test_auto_uses_bfloat16_only_where_the_processor_has_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from generation.backends import loading

        for has, name in ((True, "bfloat16"), (False, "float32")):
            monkeypatch.setattr(loading, "_cpu_has_bfloat16", lambda has=has: has)
            assert open_backend(spec(tiny(), dtype="auto")).facts().dtype == name

    def test_a_chat_model_is_given_the_prompt_as_a_turn(self, tmp_path: Path) -> None:
        folder = shutil.copytree(tiny(), tmp_path / "chat")
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        template = (
            "{% for m in messages %}U: {{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}A:{% endif %}"
        )
        (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": template}))
        chat, plain = open_backend(spec(folder, chat=True)), opened()
        for prompt in PROMPTS:
            (chat_text,) = texts_of(chat.generate([request(prompt, exact=6)]))
            by_hand = [
                *plain.vocabulary.encode("U: "),
                *plain.vocabulary.encode(prompt),
                *plain.vocabulary.encode("\nA:"),
            ]
            assert chat_text.prompt_tokens == len(by_hand)
            assert plain.vocabulary.decode(by_hand) == f"U: {prompt}\nA:"


@needs_torch
class TestInt8:
    def test_it_is_close_to_float32(self) -> None:
        """Mean log p of a text under both; eight bits a weight cost little."""
        exact, small = opened(), open_backend(spec(tiny(), dtype="int8"))
        own_texts = texts_of(small.generate([request(prompt, "greedy", exact=10) for prompt in PROMPTS]))
        reference_texts = texts_of(exact.generate([request(prompt, "greedy", exact=10) for prompt in PROMPTS]))
        for one, other in zip(own_texts, reference_texts, strict=True):
            assert one.log_p is not None and other.log_p is not None
            assert one.log_p / 10 == pytest.approx(other.log_p / 10, abs=0.3)
        assert small.facts().dtype == "int8"
        assert small.facts().parameters == exact.facts().parameters

    def test_a_row_does_not_see_the_others(self) -> None:
        """torch's own dynamic quantisation scales a whole batch together: one large row would coarsen all."""
        import torch

        from generation.backends.int8 import Int8Linear

        torch.manual_seed(1)
        layer, rows = Int8Linear(torch.randn(16, 32), None), torch.randn(5, 32)
        rows[3] *= 1000
        together = layer(rows)
        assert all(torch.equal(layer(rows[number][None])[0], together[number]) for number in range(5))

    def test_one_layer_by_hand(self) -> None:
        import torch

        from generation.backends.int8 import Int8Linear

        weight, inputs = torch.tensor([[127.0, -63.5], [0.0, 254.0]]), torch.tensor([[1.0, 0.5], [0.0, -2.0]])
        # Scales of outputs 1 and 2, of inputs 1/127 and 2/127: -63.5 and 0.5 become -64 and 64 of 127 (to even).
        out = Int8Linear(weight, torch.tensor([0.0, 1.0]))(inputs)
        first = (127 * 127 - 64 * 64) * 1 * (1 / 127)
        second = (64 * 127) * 2 * (1 / 127) + 1
        assert out.tolist() == [pytest.approx([first, second]), pytest.approx([-64 * -127 * (2 / 127), -507])]


@needs_torch
class TestAttention:
    """Two heads of queries to each head of keys and values."""

    def attended(self, *, rows: int, count: int, mask: Any) -> tuple[Any, Any]:
        """Ours, and the sums by hand in float64."""
        import torch

        from generation.backends.attention import attend

        torch.manual_seed(1)
        query, key, value = torch.randn(rows, 4, count, 8), torch.randn(rows, 2, 7, 8), torch.randn(rows, 2, 7, 8)
        module: Any = torch.nn.Module()
        module.num_key_value_groups = 2
        attended, _ = attend(module, query, key, value, mask, scaling=0.3, is_causal=False)
        by_hand = []
        for row in range(rows):
            heads = []
            for head in range(4):
                scores = 0.3 * query[row, head].double() @ key[row, head // 2].double().T
                if mask is not None:
                    hidden = mask[row, 0].isinf() if mask.is_floating_point() else ~mask[row, 0]
                    scores = scores.masked_fill(hidden, -torch.inf)
                heads.append(scores.softmax(-1) @ value[row, head // 2].double())
            by_hand.append(torch.stack(heads, 1))
        return attended.double(), torch.stack(by_hand)

    @pytest.mark.parametrize("rows", [3, 9])
    @pytest.mark.parametrize("count", [1, 3])
    @pytest.mark.parametrize("masked", ["", "bool", "added"])
    def test_it_is_attention(self, rows: int, count: int, masked: str) -> None:
        import torch

        seen = (torch.arange(7) >= (torch.arange(rows) % 3)[:, None])[:, None, None].expand(rows, 1, count, 7)
        added = torch.zeros(rows, 1, count, 7).masked_fill_(~seen, -torch.inf)
        mask = {"": None, "bool": seen, "added": added}[masked]
        attended, by_hand = self.attended(rows=rows, count=count, mask=mask)
        assert attended.shape == by_hand.shape
        assert torch.allclose(attended, by_hand, atol=1e-6)

    def test_models_on_a_cpu_use_it(self) -> None:
        assert opened().model.config._attn_implementation == "packed_sdpa"


@pytest.fixture(scope="module")
def backend() -> Any:
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed (requirements-llama.txt)")
    return open_backend(ModelSpec("llama_cpp", embedded(), options=(("batch", 8), ("context", 256), ("threads", 1))))


class TestLlamaCpp:
    def test_a_missing_library_is_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "llama_cpp", None)
        assert "pip install -r requirements-llama.txt" in why_not(ModelSpec("llama_cpp", "/x.gguf"))

    def test_files_that_cannot_be_read(self, backend: Any, tmp_path: Path) -> None:
        assert "no file" in why_not(ModelSpec("llama_cpp", "/nowhere.gguf"))
        wrong, cut = tmp_path / "wrong.gguf", tmp_path / "cut.gguf"
        wrong.write_text("hello")
        with Path(embedded()).open("rb") as file:
            cut.write_bytes(file.read(100_000))
        assert "does not begin as one" in why_not(ModelSpec("llama_cpp", str(wrong)))
        assert "cut short" in why_not(ModelSpec("llama_cpp", str(cut)))

    def test_facts(self, backend: Any) -> None:
        facts = backend.facts()
        assert facts.parameters == pytest.approx(134.5e6, rel=0.001)
        assert (facts.context_length, facts.vocabulary) == (256, 49152)

    def test_texts_together_are_those_alone(self, backend: Any) -> None:
        """Rounding differs between batch sizes in a quantised model: the first tokens agree, and log p nearly."""
        requests = [
            request(prompt, decoder, exact=4, seed=seed)
            for seed, prompt in enumerate(PROMPTS[:2])
            for decoder in ("greedy", "top_p=0.5")
        ]
        together = backend.generate(requests)
        for sent_request, outcome in zip(requests, together, strict=True):
            alone = backend.generate([sent_request])[0]
            assert alone.token_ids[:2] == outcome.token_ids[:2]
            if alone.token_ids == outcome.token_ids:
                assert alone.log_p == pytest.approx(outcome.log_p, abs=0.3)

    @pytest.mark.slow
    def test_log_p_is_that_of_transformers_on_the_same_weights(self, backend: Any) -> None:
        pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
        import torch

        outcome = backend.generate([request("Once upon a time", "greedy", exact=6)])[0]
        other = smollm2()
        tokens = [*other.vocabulary.encode("Once upon a time"), *outcome.token_ids]
        with torch.no_grad():
            logs = other.model(torch.tensor([tokens])).logits[0, -7:-1].log_softmax(-1)
        log_p = sum(float(logs[number, token]) for number, token in enumerate(outcome.token_ids))
        # llama.cpp also rounds activations to eight bits.
        assert outcome.log_p == pytest.approx(log_p, abs=0.1 * 6)

    def test_an_engine_reads_on_from_what_it_knows(self, backend: Any) -> None:
        engine = backend.open_engine(most_active=2)
        fed: list[int] = []
        feed = engine._feed

        def watch(feeds: Any) -> Any:
            fed.append(sum(map(len, feeds.values())))
            return feed(feeds)

        engine._feed = watch
        story = "Once upon a time there was a small dog who lived by the sea."
        done = {}
        for key, prompt in (("first", story), ("second", story + " He liked to run.")):
            engine.add([request(prompt, key=key, exact=2)])
            while engine.n_active or engine.n_waiting:
                done.update(engine.step())
        assert set(done) == {"first", "second"}
        assert fed[0] > 12 and max(fed[2:]) < 8

    def test_unsupported_requests_are_refused(self, backend: Any) -> None:
        beam, empty, long = backend.generate(
            [request(decoder="beam=2"), request(" "), request("word " * 400, cut_left=False)]
        )
        assert all(isinstance(outcome, NotGenerated) for outcome in (beam, empty, long))
        assert backend.refusal(request(decoder="beam=2").decoder) and not backend.refusal(request().decoder)

    def test_a_long_prompt_is_cut(self, backend: Any) -> None:
        (outcome,) = backend.generate([request("word " * 400, exact=6)])
        assert isinstance(outcome, Generated) and outcome.prompt_tokens == 250 and outcome.cut_tokens > 100
