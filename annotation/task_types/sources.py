"""Shared code for types that make items from samples and outputs."""

from __future__ import annotations

import re

from annotation.task_types.items import SourceOutput
from annotation.task_types.reading import LONGEST_ID

# No page can show these, but a model that samples single bytes can generate them.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def sample_text(text: str) -> str:
    """A generated text as workers judge it: U+FFFD replaces what cannot be shown, and the ends are trimmed."""
    return _CONTROL.sub("\ufffd", text).strip()


def output_name(*outputs: SourceOutput) -> str:
    """An id for an item made from these outputs: the item that they are about, and their own ids.

    Their ids keep it unique, no matter how many outputs follow.
    """
    ending = "".join(f"-{each.id}" for each in outputs)
    return f"{outputs[0].item[: LONGEST_ID - len(ending)]}{ending}"
