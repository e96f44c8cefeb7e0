"""A LoRA adapter as a model, against peft's own model, which keeps the adapter apart from the weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
pytest.importorskip("peft", reason="peft is not installed (script/setup --models)")

import torch

from generation.backends import open_backend
from generation.backends.base import BackendError
from generation.backends.model_origin import checksum, differing
from tests.generation.support.tiny_models import PROMPTS, opened, reference_model, request, spec, texts_of, tiny


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(2)
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    folder = tmp_path / "adapter"
    get_peft_model(reference_model(), config).save_pretrained(str(folder))
    return folder


def test_texts_are_drawn_from_the_changed_model(adapter: Path) -> None:
    from peft import PeftModel

    backend = open_backend(spec(adapter))
    (text,) = texts_of(backend.generate([request(seed=3, exact=12)]))
    changed: Any = PeftModel.from_pretrained(reference_model(), str(adapter)).eval()
    tokens = opened().vocabulary.encode(PROMPTS[0])
    log_p = 0.0
    for token in text.token_ids:
        with torch.inference_mode():
            log_p += float(changed(torch.tensor([tokens])).logits[0, -1].double().log_softmax(-1)[token])
        tokens.append(token)
    assert text.log_p == pytest.approx(log_p, abs=1e-3)
    (unchanged,) = texts_of(opened().generate([request(seed=3, exact=12)]))
    assert unchanged.log_p != pytest.approx(text.log_p, abs=1e-3)


def test_the_origin_names_adapter_and_model(adapter: Path) -> None:
    origin = dict(open_backend(spec(adapter)).facts().origin)
    assert origin["sha256"] == checksum(adapter)
    assert (origin["base"]["source"], origin["base"]["sha256"]) == (str(tiny("llama")), checksum(tiny("llama")))
    other = origin | {"base": origin["base"] | {"sha256": "0" * 64}}
    assert differing(origin, origin) is None
    assert differing(origin, other) == ("sha256 " + checksum(tiny("llama")), "sha256 " + "0" * 64)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"base_model_name_or_path": None}, "does not say which model the adapter changes"),
        ({"base_model_name_or_path": "/no/such/model"}, "There is no file or folder /no/such/model"),
        ({"r": 7}, "does not fit its model"),
    ],
)
def test_an_adapter_that_cannot_be_used_says_why(adapter: Path, changes: dict[str, Any], says: str) -> None:
    file = adapter / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    with pytest.raises(BackendError, match=says):
        open_backend(spec(adapter))
