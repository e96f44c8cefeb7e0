"""LoRA adapters: a folder that changes another model's weights, as peft saves it (Hu et al. 2021)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from generation.backends.base import BackendError, ModelSpec

CONFIG = "adapter_config.json"


def base_of(spec: ModelSpec) -> ModelSpec | None:
    """The model whose weights the adapter in this folder changes; None if the source is no adapter.

    A relative folder is looked for beside the adapter, too. Raises BackendError: the adapter does not name its model.
    """
    folder = Path(spec.source).expanduser()
    if not (folder / CONFIG).is_file() or (folder / "config.json").is_file():
        return None
    try:
        named = json.loads((folder / CONFIG).read_text("utf-8")).get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError) as error:
        raise BackendError(f"{folder / CONFIG} cannot be read as JSON; save the adapter again.") from error
    if not isinstance(named, str) or not named.strip():
        raise BackendError(
            f"{folder / CONFIG} does not say which model the adapter changes: write its hub name or folder as "
            "base_model_name_or_path."
        )
    beside = folder.parent / named
    return replace(spec, source=str(beside) if beside.is_dir() else named, revision="")


def merged(model: Any, spec: ModelSpec) -> Any:
    """The model with the adapter's changes in its weights, so that it runs as fast as without. Raises BackendError."""
    try:
        from peft import PeftModel
    except ImportError as error:
        raise BackendError(f"{spec.source} is a LoRA adapter, which needs peft: script/setup --models.") from error
    folder = str(Path(spec.source).expanduser())
    try:
        return PeftModel.from_pretrained(model, folder, trust_remote_code=False).merge_and_unload()
    except (ValueError, RuntimeError, KeyError, OSError) as error:
        raise BackendError(
            f"The adapter {spec.source} does not fit its model ({str(error).splitlines()[0][:200]}). "
            "Was it trained for another one?"
        ) from error
